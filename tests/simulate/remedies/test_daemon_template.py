"""Pods that a DaemonSet's controller made for nodes without GPUs."""

import pytest

from gpusched.simulate.reasons.why import why_standing
from tests.build import Tree, bound, h100_node, node, pod, t4_node
from tests.simulate.scene import cpu_node, manifest, owned, views, workload, world_of

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
ZONED = {"accelerator": "yes", "rack": "7", "topology.kubernetes.io/zone": "a"}
ADD = 'Add nodeSelector {}: "{}" to the pod template: this node offers no nvidia.com/gpu'

LABEL = (
    'Label the nodes that have GPUs, as GPU Feature Discovery does with nvidia.com/gpu.present: "true", and add that'
    " nodeSelector to the pod template"
)


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


def test_where_no_node_has_such_gpus_nothing_is_selected() -> None:
    assert _suggestion(_made_for("cpu"), cpu_node()).startswith("No small change fits")


@pytest.mark.parametrize(
    ("cluster", "selection"),
    [
        # It would leave out GPUs of other products.
        (
            [node("g", labels={"cloud.google.com/gke-accelerator": "nvidia-l4"})],
            "Add required node affinity cloud.google.com/gke-accelerator Exists to the pod template",
        ),
        # It stands there by chance.
        (
            [node("g", labels={"rack": "7"})],
            LABEL,
        ),
    ],
)
def test_a_label_that_tells_of_this_cluster_alone_is_none(cluster: list[Tree], selection: str) -> None:
    found = _suggestion(_made_for("cpu"), cpu_node(labels={"rack": "8"}), *cluster)

    assert found == f"{selection}: this node offers no nvidia.com/gpu"


def test_gpu_nodes_whose_taints_are_not_tolerated_are_told() -> None:
    shut = t4_node("t", taints=[{"key": "team", "value": "b", "effect": "NoSchedule"}])
    said = "no pod is made for t (taint team=b:NoSchedule is not tolerated)"

    found = _suggestion(_made_for("cpu"), cpu_node(), h100_node(), shut)
    assert found == f"{ADD.format('nvidia.com/gpu.present', 'true')}; {said}"
    running = bound(_made_for("h100"), "h100")
    assert f"DaemonSet/ds: {said}" in why_standing(manifest(running), world_of(h100_node(), shut, running)).view.notes


def test_a_full_node_of_its_own_is_waited_for() -> None:
    assert _suggestion(_made_for("t4"), t4_node(), bound(pod("old"), "t4"), h100_node()) == (
        "Wait: pod team-a/old on t4 holds it"
    )


def test_a_node_that_is_not_at_hand() -> None:
    assert _suggestion(_made_for("gone"), h100_node()).startswith("No small change fits")
