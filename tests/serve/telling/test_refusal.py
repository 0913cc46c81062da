"""Why no node takes a pod of the live cluster, and which change is suggested: what is said has been seen to work."""

from collections.abc import Sequence
from typing import Any

import pytest

from gpusched.core.pod import Pod
from gpusched.core.read_pod import read_pod
from gpusched.serve.telling.excerpt import excerpt_of
from gpusched.serve.telling.refusal import SAMPLE, _joined, judged, refused, sample, told
from gpusched.simulate.admit import admit
from gpusched.simulate.apply_patch import apply_patch
from gpusched.simulate.expand import bare_pod
from gpusched.simulate.manifest import Manifest
from gpusched.simulate.world import World
from gpusched.state.cluster import Cluster
from tests.build import Tree, a100_node, bound, h100_node, namespace, pod, t4_node
from tests.placement.scene import cluster_of, own, running, see


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
    see(cluster, tree)
    found = read_pod(tree, [])
    waiting = refused(found, tree, cluster)
    verdicts = dict(judged(waiting.candidate, cluster))
    names = sample(verdicts, cluster)
    bystanders: list[Pod] = [read_pod(other, []) for other in others]
    return told(waiting, verdicts, excerpt_of(cluster, found, names), bystanders)


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


def test_a_claim_that_is_too_large() -> None:
    cluster = cluster_of(t4_node(replicas=4), running("r", "t4", annotations=own(gpu_memory="10Gi")))
    assert text(cluster, pending(annotations=own(gpu_memory="8Gi"))) == (
        "0 of 1 nodes take it: 1 memory-claim (4352Mi left for a claim per slot). Set gpusched.io/gpu-memory: 4352Mi"
    )


def test_nothing_is_said_of_a_pod_that_a_node_takes() -> None:
    assert text(cluster_of(t4_node()), pending()) is None


def test_an_empty_cluster_has_nothing_to_tell() -> None:
    assert text(cluster_of(), pending()) is None


def test_slots_that_are_taken_are_waited_for() -> None:
    cluster = cluster_of(t4_node("a"), t4_node("b"), running("r1", "a"), running("r2", "b"))
    assert text(cluster, pending()) == (
        "0 of 2 nodes take it: 2 native-resources (not enough nvidia.com/gpu). Wait: pod team-a/r1 on a holds it"
    )


def test_pods_without_a_gpu_count_where_they_are_known() -> None:
    cluster = cluster_of(t4_node(allocatable={"cpu": "4"}))
    busy = bound(pod("cpu", gpus=None), "t4")
    busy["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "3"}}
    tree = pending()
    tree["spec"]["containers"][0]["resources"]["requests"] = {"cpu": "2"}
    assert text(cluster, tree) is None
    assert text(cluster, tree, [busy]) == (
        "0 of 1 nodes take it: 1 native-resources (not enough cpu). Ask for cpu: 1000m in container main"
    )


def mixed(*trees: Tree) -> Cluster:
    return cluster_of(labelled(t4_node(), "turing"), labelled(h100_node(), "hopper"), *trees)


def test_lowered_policy_is_told_by_its_rule() -> None:
    cluster = mixed(namespace(families="ampere"), pod("other", "team-b"))
    stored = created(cluster, pending())
    assert text(cluster, stored) == (
        "0 of 2 nodes take it: 2 family (team-a allows ampere). "
        "An admin may widen gpusched.io/families of namespace team-a (now ampere)"
    )


def test_the_users_own_affinity_is_told_from_what_was_lowered() -> None:
    cluster = mixed(namespace(families="turing, hopper"))
    term = {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    stored = created(cluster, pending(affinity={"nodeAffinity": required}))
    assert text(cluster, stored) == (
        "0 of 2 nodes take it: 2 native-affinity (required node affinity on disk does not match). "
        "Remove the required node affinity"
    )


def test_no_change_is_tried_on_what_an_older_policy_left() -> None:
    cluster = mixed(namespace(families="ampere"))
    stored = created(cluster, pending())
    see(cluster, namespace(families="turing"))
    message = text(cluster, stored)
    assert message is not None
    assert message.startswith("0 of 2 nodes take it: 1 family (team-a allows turing), 1 native-affinity (")
    assert message.endswith(")")


def many(good: int, **extra: Any) -> Cluster:
    """A cluster far larger than the sample, `good` nodes of which have A100s."""
    wide = [t4_node(f"t{index:03}") for index in range(100)]
    return cluster_of(*wide, *(a100_node(f"z{index}", gpus=1, **extra) for index in range(good)))


def test_of_many_nodes_the_nearest_are_looked_at() -> None:
    cluster = many(2)
    for name in ("z0", "z1"):
        see(cluster, running(name, name))
    assert text(cluster, pending(annotations=own(families="ampere"))) == (
        "0 of 102 nodes take it: 100 family (pod asks for ampere), 2 native-resources (not enough nvidia.com/gpu). "
        "Remove gpusched.io/families"
    )


def test_one_node_does_not_speak_for_many() -> None:
    cluster = many(30, unschedulable=True)
    message = text(cluster, pending(annotations=own(families="ampere")))
    assert message is not None
    assert "30 native-unschedulable (nodes are cordoned)" in message


@pytest.mark.parametrize(
    ("nodes", "suggestion"),
    [
        (3, ". No small change fits; add a node that offers nvidia.com/gpu: 1 and meets the pod's rules"),
        (100, ""),
    ],
)
def test_where_only_a_part_was_tried_no_change_is_ruled_out(nodes: int, suggestion: str) -> None:
    taints = [{"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}]
    cluster = cluster_of(*(t4_node(f"n{index}", taints=taints) for index in range(nodes)))
    assert text(cluster, pending()) == (
        f"0 of {nodes} nodes take it: {nodes} native-taint "
        f"(taint node.kubernetes.io/unreachable:NoExecute is not tolerated){suggestion}"
    )


@pytest.mark.parametrize("nodes", [3, 100])
def test_pods_elsewhere_are_not_guessed_at(nodes: int) -> None:
    """A pod that looks at other pods can be judged only where all of them are known."""
    cluster = cluster_of(*(t4_node(f"n{index}", replicas=4) for index in range(nodes)))
    for index in range(nodes):
        see(cluster, running(f"r{index}", f"n{index}", annotations=own(gpu_memory="10Gi")))
    term = {"labelSelector": {"matchLabels": {"app": "x"}}, "topologyKey": "kubernetes.io/hostname"}
    rule = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    message = text(cluster, pending(annotations=own(gpu_memory="8Gi"), affinity=rule))
    assert message is not None
    assert ("Set gpusched.io/gpu-memory: 4352Mi" in message) == (nodes <= SAMPLE)


def test_a_quota_that_is_used_up() -> None:
    cluster = cluster_of(t4_node(gpus=4), namespace(quota="turing=1"), running("r", "t4"))
    message = text(cluster, pending())
    assert message is not None
    assert message.startswith("0 of 1 nodes take it: 1 quota (GPU quota of the namespace is used up)")


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
    assert message.startswith("0 of 13 nodes take it: 12 native-taint (taint kkkk")
    assert f" ...), 1 native-unschedulable (last is cordoned). Tolerate {'k' * 200}-0=x:NoSchedule" in message
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
