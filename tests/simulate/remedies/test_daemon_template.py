"""Pods that a DaemonSet's controller made for nodes without GPUs."""

import pytest

from gpusched.simulate.reasons.why import why_standing
from tests.build import Tree, bound, h100_node, node, pod, t4_node
from tests.simulate.scene import cpu_node, manifest, owned, views, workload, world_of

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
ZONED = {"accelerator": "yes", "rack": "7", "topology.kubernetes.io/zone": "a"}
ADD = 'Add nodeSelector {}: "{}" to the pod template: this node offers no nvidia.com/gpu'


def _made_for(name: str) -> Tree:
    field = {"key": "metadata.name", "operator": "In", "values": [name]}
    affinity = {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{"matchFields": [field]}]}}}
    return owned(pod("ds-x", affinity=affinity), "DaemonSet", "ds")


def _suggestion(tree: Tree, *cluster: Tree) -> str:
    waiting = why_standing(manifest(tree), world_of(*cluster, tree)).view.unschedulable
    assert waiting is not None
    return waiting.suggestion


@pytest.mark.parametrize(
    ("cluster", "label"),
    [
        ([cpu_node(), h100_node(), t4_node()], ("nvidia.com/gpu.present", "true")),
        (
            [cpu_node(), node("g", labels=ZONED), t4_node(labels=ZONED)],
            ("accelerator", "yes"),
        ),
    ],
)
def test_a_label_of_all_gpu_nodes_and_no_others(cluster: list[Tree], label: tuple[str, str]) -> None:
    assert _suggestion(_made_for("cpu"), *cluster) == ADD.format(*label)


def test_what_is_suggested_makes_pods_on_gpu_nodes_alone() -> None:
    cluster = [cpu_node(), h100_node(), t4_node()]
    before = {view.name: view.unschedulable for view in views(cluster, workload("DaemonSet", "ds"))}
    template = pod(nodeSelector={"nvidia.com/gpu.present": "true"})
    after = {view.name: view.unschedulable for view in views(cluster, workload("DaemonSet", "ds", template=template))}

    assert before["ds-cpu"] is not None
    assert before["ds-cpu"].suggestion == ADD.format("nvidia.com/gpu.present", "true")
    assert after == {"ds-h100": None, "ds-t4": None}


@pytest.mark.parametrize(
    ("cluster", "start"),
    [
        ([cpu_node()], "No small change fits"),
        ([cpu_node(labels={"nvidia.com/gpu.present": "true"}), node("bare")], "No small change fits"),
    ],
)
def test_where_no_label_tells_none_is_suggested(cluster: list[Tree], start: str) -> None:
    assert _suggestion(_made_for("cpu"), *cluster).startswith(start)


def test_a_full_node_of_its_own_is_waited_for() -> None:
    assert _suggestion(_made_for("t4"), t4_node(), bound(pod("old"), "t4"), h100_node()) == (
        "Wait: pod team-a/old on t4 holds it"
    )


def test_a_node_that_is_not_at_hand() -> None:
    assert _suggestion(_made_for("gone"), h100_node()).startswith("No small change fits")
