"""Filter over many nodes."""

from gpusched.core.codes import Reason
from gpusched.placement.filter import FilterAnswer, filter_nodes
from gpusched.placement.fit import reason
from gpusched.state.cluster import Cluster
from tests.build import Tree, a100_node, h100_node, namespace, node, pod, t4_node
from tests.placement.scene import ask, cluster_of, own, promise, running


def fleet(*others: Tree) -> Cluster:
    zones = [h100_node(f"h{turn}", gpus=2, labels={"zone": "ab"[turn % 2]}) for turn in range(4)]
    return cluster_of(*zones, a100_node("a0"), t4_node("t0", gpus=1, replicas=4), node("cpu", gpus=None), *others)


NAMES = ["cpu", "h3", "t0", "gone", "h1", "a0", "h0", "h2"]


def test_answer_keeps_the_order_asked_in_and_names_what_is_unknown() -> None:
    cluster = fleet(running("r", "h1", gpus=2), namespace("team-a", families="hopper"))
    assert filter_nodes(ask(cluster, pod()), NAMES, cluster) == FilterAnswer(
        fits=["h3", "h0", "h2"],
        by_reason={
            Reason.NO_RESOURCE: ["cpu"],
            Reason.FAMILY: ["t0", "a0"],
            Reason.FREE_REPLICAS: ["h1"],
        },
        unknown=["gone"],
    )


def test_labels_are_judged_node_by_node() -> None:
    cluster = fleet(running("r", "h0"), namespace("team-a", families="hopper", node_selector="zone=b"))
    answer = filter_nodes(ask(cluster, pod()), NAMES, cluster)
    assert answer == FilterAnswer(
        fits=["h3", "h1"],
        by_reason={
            Reason.NO_RESOURCE: ["cpu"],
            Reason.FAMILY: ["t0", "a0"],
            Reason.NODE_SELECTOR: ["h0", "h2"],
        },
        unknown=["gone"],
    )


def test_a_pod_without_gpus_gets_every_name_back() -> None:
    cluster = fleet(namespace("team-a", families="hopper", node_selector="zone=b"))
    for gpus in (None, 0):
        answer = filter_nodes(ask(cluster, pod(gpus=gpus)), NAMES, cluster)
        assert answer == FilterAnswer(fits=NAMES, by_reason={}, unknown=[])


def test_nothing_asked_nothing_answered() -> None:
    cluster = fleet()
    assert filter_nodes(ask(cluster, pod()), [], cluster) == FilterAnswer(fits=[], by_reason={}, unknown=[])


def test_used_up_quota_refuses_every_node_of_the_family() -> None:
    policy = namespace("team-a", quota="hopper=2", families="hopper, ampere")
    cluster = fleet(policy, running("r", "h1", gpus=2))
    answer = filter_nodes(ask(cluster, pod()), NAMES, cluster)
    assert answer.fits == ["a0"]
    assert {answer.refused[name] for name in ("h0", "h2", "h3")} == {Reason.QUOTA}


def test_a_promise_counts_at_once() -> None:
    cluster = fleet(namespace("team-a", families="hopper"))
    for turn in range(8):
        request = ask(cluster, pod(f"p{turn}"))
        promise(cluster, filter_nodes(request, NAMES, cluster).fits[0], request)
    late = filter_nodes(ask(cluster, pod("late")), NAMES, cluster)
    assert late.fits == []
    assert {late.refused[name] for name in ("h0", "h1", "h2", "h3")} == {Reason.FREE_REPLICAS}


def test_a_pod_does_not_compete_with_what_it_was_promised() -> None:
    cluster = fleet(namespace("team-a", families="hopper"))
    request = ask(cluster, pod("p", gpus=cluster.nodes["h0"].node.pools[0].slots))
    promise(cluster, "h0", request)
    answer = filter_nodes(request, NAMES, cluster)
    assert "h0" in answer.fits
    assert answer.fits == [name for name in NAMES if name in answer.fits]
    assert filter_nodes(ask(cluster, pod("other")), ["h0"], cluster).refused == {"h0": Reason.FREE_REPLICAS}


def test_the_answer_is_that_of_single_nodes() -> None:
    policy = namespace("team-a", families="hopper, turing", quota="hopper=5")
    cluster = fleet(policy, running("r", "h1"), running("s", "t0", annotations=own(gpu_memory="9Gi")))
    for tree in (pod(), pod(gpus=2), pod(annotations=own(gpu_memory="4Gi"))):
        request = ask(cluster, tree)
        answer = filter_nodes(request, sorted(cluster.nodes), cluster)
        expected = {name: reason(request, state, cluster) for name, state in cluster.nodes.items()}
        assert dict.fromkeys(answer.fits) | answer.refused == expected


def test_more_slots_than_64_bits_hold_are_too_many() -> None:
    cluster = cluster_of(h100_node("a"))
    tree = pod()
    (container,) = tree["spec"]["containers"]
    container["resources"] = {"limits": {"nvidia.com/gpu": "9E"}}
    tree["spec"]["containers"] = [{**container, "name": name} for name in ("a", "b", "c")]

    assert filter_nodes(ask(cluster, tree), ["a"], cluster).refused == {"a": Reason.FREE_REPLICAS}
