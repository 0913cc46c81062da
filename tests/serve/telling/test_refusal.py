"""Why no node takes a pod of the live cluster, and which change is suggested: what is said has been seen to work.

The words of reasons and suggestions are those of `why`.
"""

import re
from collections.abc import Sequence
from typing import Any

import pytest

from gpusched.admission.admission import Admission
from gpusched.serve.explaining.nearest import SAMPLE
from gpusched.serve.telling.refusal import _joined, refusal
from gpusched.simulate.admit import admit
from gpusched.simulate.apply_patch import apply_patch
from gpusched.simulate.expand import bare_pod
from gpusched.simulate.manifest import Manifest
from gpusched.simulate.reasons.explain import Explanation
from gpusched.simulate.reasons.why import Why
from gpusched.simulate.result import PodView, ReasonView, UnschedulableView, admission_view
from gpusched.simulate.world import World
from gpusched.state.cluster import Cluster
from tests.build import Tree, a100_node, h100_node, namespace, pod, t4_node
from tests.placement.scene import cluster_of, own, running, see
from tests.serve.explaining.scene import asking, busy, explained


def labelled(tree: Tree, family: str) -> Tree:
    """The node with the label that lowering relies on here."""
    tree["metadata"]["labels"]["gpusched.io/family"] = family
    return tree


def pending(name: str = "p", **extra: Any) -> Tree:
    tree = pod(name, **extra)
    tree["metadata"]["uid"] = name
    return tree


def text(cluster: Cluster, tree: Tree, others: Sequence[Tree] = ()) -> str | None:
    """What is told about a pod that the API server has as in `tree`."""
    return refusal(explained(cluster, tree, others).discreet)


def told(cluster: Cluster, tree: Tree, others: Sequence[Tree] = ()) -> tuple[dict[str, int], str]:
    """The numbers of nodes by reason, and the suggestion."""
    message = text(cluster, tree, others)
    assert message is not None
    counts = {code: int(number) for number, code in re.findall(r"(?:: |, )(\d+) ([a-z-]+) \(", message)}
    assert message.startswith(f"0 of {sum(counts.values())} nodes take it: ")
    return counts, message.rpartition("). ")[2] if "). " in message else ""


def why(*reasons: ReasonView, suggestion: str = "", caveats: tuple[str, ...] = (), unknown: int = 0) -> Why:
    view = PodView("team-a", "p", None, "", admission_view(Admission()))
    waits = UnschedulableView(reasons, suggestion)
    return Why(view, explanation=Explanation(waits, {}, caveats=caveats, open=unknown))


FAMILY, TAINT = ReasonView("family", "pod asks for ampere", 2), ReasonView("native-taint", "taint x", 1)


def test_the_sentence() -> None:
    head = "0 of 3 nodes take it: 2 family (pod asks for ampere), 1 native-taint (taint x)"
    assert refusal(why(FAMILY, TAINT)) == head
    assert refusal(why(FAMILY, TAINT, suggestion="Tolerate x")) == f"{head}. Tolerate x"
    assert refusal(why(FAMILY, TAINT, suggestion="Tolerate x", caveats=("a", "b"))) == f"{head}. Tolerate x (a; b)"


def test_nothing_is_said_where_some_node_may_take_it() -> None:
    assert refusal(why(FAMILY, unknown=1)) is None
    assert refusal(why()) is None
    assert refusal(Why(why().view)) is None


def created(cluster: Cluster, tree: Tree) -> Tree:
    """The pod as it is stored: admission has patched it."""
    world = World(cluster.config)
    world.cluster = cluster
    metadata = tree["metadata"]
    planned = bare_pod(Manifest("", tree, "Pod", name=metadata["name"], namespace=metadata["namespace"]))
    admission = admit(planned, world).admission
    assert admission.allowed
    stored = apply_patch(tree, admission.patch)
    assert isinstance(stored, dict)
    assert "status.gpusched.io/lowered" in stored["metadata"]["annotations"]
    return stored


def claimed() -> Cluster:
    """A T4 for four pods with 4352 MiB left."""
    return cluster_of(t4_node(replicas=4), running("r", "t4", annotations=own(gpu_memory="10Gi")))


def test_a_claim_that_is_too_large() -> None:
    counts, suggestion = told(claimed(), pending(annotations=own(gpu_memory="8Gi")))
    assert counts == {"memory-claim": 1}
    assert "et gpusched.io/gpu-memory: 4352Mi" in suggestion


def test_nothing_is_said_of_a_pod_that_a_node_takes() -> None:
    assert text(cluster_of(t4_node()), pending()) is None


def test_an_empty_cluster_has_nothing_to_tell() -> None:
    assert text(cluster_of(), pending()) is None


def test_slots_that_are_taken_are_waited_for() -> None:
    cluster = cluster_of(t4_node("a"), t4_node("b"), running("r1", "a"), running("r2", "b"))
    assert told(cluster, pending()) == ({"native-resources": 2}, "Wait: pod team-a/r1 on a holds it")


def test_pods_without_a_gpu_count_where_they_are_known() -> None:
    cluster = cluster_of(t4_node(allocatable={"cpu": "4"}))
    tree = asking(pending(), "2")
    assert text(cluster, tree) is None
    counts, suggestion = told(cluster, tree, [busy("t4", "3")])
    assert counts == {"native-resources": 1}
    assert "sk for cpu: 1" in suggestion


def mixed(*trees: Tree) -> Cluster:
    return cluster_of(labelled(t4_node(), "turing"), labelled(h100_node(), "hopper"), *trees)


def test_lowered_policy_is_told_by_its_rule() -> None:
    cluster = mixed(namespace(families="ampere"), pod("other", "team-b"))
    counts, suggestion = told(cluster, created(cluster, pending()))
    assert counts == {"family": 2}
    assert suggestion == "An admin may widen gpusched.io/families of namespace team-a (now ampere)"


def requiring(key: str, value: str) -> Tree:
    term = {"matchExpressions": [{"key": key, "operator": "In", "values": [value]}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}


def test_the_users_own_affinity_is_told_from_what_was_lowered() -> None:
    cluster = mixed(namespace(families="turing, hopper"))
    stored = created(cluster, pending(affinity=requiring("disk", "ssd")))
    assert told(cluster, stored) == ({"native-affinity": 2}, "Remove the required node affinity")


def test_what_an_older_policy_left_is_told_from_what_the_user_wrote() -> None:
    cluster = mixed(namespace(families="ampere"))
    stored = created(cluster, pending())
    see(cluster, namespace(families="turing"))
    counts, suggestion = told(cluster, stored)
    assert counts == {"family": 1, "native-affinity": 1}
    assert suggestion == "Create it anew as it is: the policy of today lets it run"


def test_no_change_is_promised_to_a_user_who_asks_for_gpuscheds_labels_himself() -> None:
    """What he wrote is taken out with what was lowered, and then the H100 would take it."""
    cluster = mixed(namespace(families="turing, hopper"))
    affinity = requiring("gpusched.io/family", "turing")
    stored = created(cluster, pending(annotations=own(gpu_memory="20Gi"), affinity=affinity))
    counts, suggestion = told(cluster, stored)
    assert (sum(counts.values()), suggestion) == (2, "")


def many(good: int, **extra: Any) -> Cluster:
    """A cluster far larger than the sample, `good` nodes of which have A100s."""
    wide = [t4_node(f"t{index:03}") for index in range(100)]
    return cluster_of(*wide, *(a100_node(f"z{index}", gpus=1, **extra) for index in range(good)))


def test_of_many_nodes_the_nearest_are_looked_at() -> None:
    cluster = many(2)
    for name in ("z0", "z1"):
        see(cluster, running(name, name))
    counts, suggestion = told(cluster, pending(annotations=own(families="ampere")))
    assert counts == {"family": 100, "native-resources": 2}
    assert "emove gpusched.io/families" in suggestion


def test_one_node_does_not_speak_for_many() -> None:
    cluster = many(30, unschedulable=True)
    message = text(cluster, pending(annotations=own(families="ampere")))
    assert message is not None
    assert "30 native-unschedulable (nodes are cordoned)" in message


@pytest.mark.parametrize(
    ("nodes", "where"),
    [(3, ""), (100, " on the 24 nearest nodes")],
)
def test_where_only_a_part_was_tried_no_change_is_ruled_out(nodes: int, where: str) -> None:
    taints = [{"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}]
    cluster = cluster_of(*(t4_node(f"n{index}", taints=taints) for index in range(nodes)))
    counts, suggestion = told(cluster, pending())
    assert counts == {"native-taint": nodes}
    assert suggestion.startswith(f"No small change fits{where}; add a node that offers nvidia.com/gpu: 1")


def apart(nodes: int, topology: str, **elsewhere: Any) -> tuple[dict[str, int], str]:
    """What is told of a pod that wants no pod of its app near, on nodes of one zone with too little memory left;
    `elsewhere` are labels of the pod on the last node.
    """
    names = [f"n{index:03}" for index in range(nodes)]
    cluster = cluster_of(*(t4_node(name, replicas=4, labels={"zone": "z"}) for name in names))
    for name in names:
        labels = elsewhere if name == names[-1] else {}
        see(cluster, running(f"on-{name}", name, annotations=own(gpu_memory="10Gi"), labels=labels))
    term = {"labelSelector": {"matchLabels": {"app": "x"}}, "topologyKey": topology}
    rule = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    return told(cluster, pending(annotations=own(gpu_memory="8Gi"), affinity=rule))


@pytest.mark.parametrize(
    ("nodes", "topology", "caveat"),
    [
        (SAMPLE, "zone", ""),
        (100, "kubernetes.io/hostname", ""),
        (100, "zone", " (pods without a GPU on other nodes were not looked at)"),
    ],
)
def test_a_pod_that_looks_at_others_is_told_whom_nobody_looked_at(nodes: int, topology: str, caveat: str) -> None:
    counts, suggestion = apart(nodes, topology)
    assert counts == {"memory-claim": nodes}
    assert suggestion.endswith(f"et gpusched.io/gpu-memory: 4352Mi{caveat}")


@pytest.mark.parametrize(("topology", "counts"), [("kubernetes.io/hostname", 0), ("zone", SAMPLE)])
def test_gpu_pods_of_all_nodes_are_looked_at(topology: str, counts: int) -> None:
    assert apart(100, topology, app="x")[0].get("native-pod-affinity", 0) == counts


def test_what_is_not_modelled_is_told() -> None:
    claim = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}
    _, suggestion = told(claimed(), pending(annotations=own(gpu_memory="8Gi"), volumes=[claim]))
    assert suggestion.endswith("et gpusched.io/gpu-memory: 4352Mi (volumes are not modelled)")


def test_pods_of_other_namespaces_have_no_names_in_events() -> None:
    cluster = cluster_of(t4_node(), running("secret", "t4", namespace="team-b"))
    assert told(cluster, pending())[1] == "Wait: a pod of another namespace on t4 holds it"


def test_a_quota_that_is_used_up() -> None:
    cluster = cluster_of(t4_node(gpus=4), namespace(quota="turing=1"), running("r", "t4"))
    counts, suggestion = told(cluster, pending())
    assert counts == {"quota": 1}
    assert suggestion.startswith("Wait: pod team-a/r on t4 holds it")


def test_the_live_cluster_is_left_alone() -> None:
    cluster = cluster_of(t4_node(replicas=4), namespace(families="turing"), running("r", "t4"))
    see(cluster, pending())
    before = cluster.generation, dict(cluster.nodes["t4"].holders), cluster.resolution("team-a", {})
    text(cluster, pending(annotations=own(gpu_memory="15Gi")))
    assert cluster.generation - before[0] <= 1
    assert (dict(cluster.nodes["t4"].holders), cluster.resolution("team-a", {})) == before[1:]


def test_long_texts_leave_room_for_the_suggestion() -> None:
    taints = [
        t4_node(f"n{index}", taints=[{"key": f"{'k' * 200}-{index}", "value": "x", "effect": "NoSchedule"}])
        for index in range(12)
    ]
    message = text(cluster_of(*taints, t4_node("last", unschedulable=True)), pending())
    assert message is not None
    assert message.startswith("0 of 13 nodes take it: ")
    assert "12 native-taint (taint kkkk" in message
    assert f"olerate {'k' * 200}-0=x:NoSchedule" in message
    assert len(message) < 600


@pytest.mark.parametrize(
    ("lines", "told_of"),
    [
        (["a", "b"], "a, b"),
        (["a" * 300, "b" * 250, "c" * 250], f"{'a' * 300}, {'b' * 250} and one more reason"),
        (["a" * 300, "b" * 300, "c"], f"{'a' * 300} and 2 more reasons"),
    ],
    ids=["few", "one more", "two more"],
)
def test_many_reasons_are_not_all_told(lines: list[str], told_of: str) -> None:
    assert _joined(lines) == told_of
