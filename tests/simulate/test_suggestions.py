"""Which change is suggested when several would do."""

import pytest

from tests.build import Tree, a100_node, container, h100_node, namespace, node, pod, t4_node
from tests.cases.trial import simulated, world_of

TRAINING = [{"key": "reserved-for", "value": "training", "effect": "NoSchedule"}]
GUARDED = [{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}]
CONTROL = [{"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"}]
L4 = {"cloud.google.com/gke-accelerator": "nvidia-l4"}
AFFINITY = {
    "requiredDuringSchedulingIgnoredDuringExecution": {
        "nodeSelectorTerms": [
            {"matchExpressions": [{"key": "nvidia.com/gpu.product", "operator": "In", "values": ["Tesla-T4"]}]}
        ]
    }
}


def l4_node() -> Tree:
    labels = {"karpenter.k8s.aws/instance-gpu-name": "l4", "karpenter.k8s.aws/instance-gpu-manufacturer": "nvidia"}
    return node("l4", labels=labels)


def suggestion(nodes: list[Tree], *pods: Tree) -> str:
    """What is suggested for the last of the pods."""
    view = simulated(*pods, on=world_of(*nodes))[-1]
    assert view.unschedulable is not None
    return view.unschedulable.suggestion


def cpu_pod(cpu: str) -> Tree:
    return pod("web", "team-a", container(resources={"requests": {"cpu": cpu}}))


@pytest.mark.parametrize(
    ("nodes", "pods", "said"),
    [
        # One cloud's word for a model becomes gpusched's, first as exact as it was.
        pytest.param(
            [l4_node(), h100_node()],
            [pod(nodeSelector=L4)],
            "Replace cloud.google.com/gke-accelerator: nvidia-l4 in spec.nodeSelector by the annotation"
            " gpusched.io/products: l4",
            id="model",
        ),
        pytest.param(
            [h100_node()],
            [pod(nodeSelector={"cloud.google.com/gke-accelerator": "nvidia-h200-141gb"})],
            "Replace cloud.google.com/gke-accelerator: nvidia-h200-141gb in spec.nodeSelector by the annotation"
            " gpusched.io/families: hopper",
            id="family",
        ),
        pytest.param(
            [h100_node()],
            [pod(nodeSelector=L4)],
            "Remove cloud.google.com/gke-accelerator: nvidia-l4 from spec.nodeSelector",
            id="no such family",
        ),
        pytest.param(
            [h100_node()],
            [pod(nodeSelector={"zone": "b"})],
            "Remove zone: b from spec.nodeSelector",
            id="another label",
        ),
        # Waiting for the hardware asked for comes before taking other hardware.
        pytest.param(
            [h100_node("h", gpus=1), t4_node()],
            [
                pod("a", nodeSelector={"kubernetes.io/hostname": "h"}),
                pod("b", nodeSelector={"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"}),
            ],
            "Wait: pod team-a/a on h holds it",
            id="busy",
        ),
        pytest.param(
            [*(t4_node(f"t{number}") for number in range(4)), h100_node(gpus=4)],
            [pod("a", gpus=4), pod("b", gpus=4)],
            "Wait: pod team-a/a on h100 holds it",
            id="busy behind small nodes",
        ),
        # The quota counts a pod once, also while it is tried elsewhere.
        pytest.param(
            [t4_node(unschedulable=True), namespace("team-a", quota="*=1")], [pod()], "Uncordon t4", id="cordoned"
        ),
        pytest.param(
            [h100_node()],
            [pod(affinity={"nodeAffinity": AFFINITY})],
            "Remove the required node affinity",
            id="affinity",
        ),
        # All GPUs behind a taint, before a quarter of them.
        pytest.param(
            [h100_node(taints=TRAINING), a100_node(gpus=2)],
            [pod(gpus=8)],
            "Tolerate reserved-for=training:NoSchedule",
            id="reserved",
        ),
        pytest.param(
            [a100_node(gpus=4)], [pod(gpus=8)], "Ask for nvidia.com/gpu: 4 in container main", id="half as many"
        ),
        pytest.param([a100_node(gpus=2)], [pod(gpus=8)], "Ask for nvidia.com/gpu: 2 in container main", id="a quarter"),
        # Whoever means memory asks for billions of GPUs; as many changes would never be tried.
        pytest.param(
            [a100_node(gpus=2)], [pod(gpus="8Gi")], "Ask for nvidia.com/gpu: 2 in container main", id="memory for GPUs"
        ),
        pytest.param(
            [node("n", gpus=None, allocatable={"cpu": "4", "nvidia.com/gpu": "7E"})],
            [pod(gpus="8E")],
            "Ask for nvidia.com/gpu: 1024 in container main",
            id="a mad device plugin",
        ),
        # Taints that are meant for such pods are no hint.
        pytest.param(
            [
                node("n", gpus=None, allocatable={"cpu": "4"}),
                h100_node(taints=GUARDED),
                node("c", gpus=None, taints=CONTROL),
            ],
            [cpu_pod("8")],
            "Ask for cpu: 4 in container main",
            id="off GPU nodes",
        ),
        pytest.param(
            [h100_node(taints=GUARDED)],
            [cpu_pod("1500m")],
            "No small change fits; add a node with 1500m cpu free that meets the pod's rules",
            id="only GPU nodes",
        ),
        # A slice of a whole GPU is no share of a small one.
        pytest.param(
            [t4_node(replicas=4)],
            [pod(resource="nvidia.com/mig-7g.80gb")],
            "No small change fits; add a node that offers nvidia.com/mig-7g.80gb: 1 and meets the pod's rules",
            id="no worse",
        ),
        pytest.param(
            [t4_node(replicas=4)],
            [pod("a", gpus=4), pod("b", resource="nvidia.com/mig-7g.80gb")],
            "No small change fits; add a node that offers nvidia.com/mig-7g.80gb: 1 and meets the pod's rules",
            id="no worse after waiting either",
        ),
        pytest.param(
            [node("n", resource="nvidia.com/gpu", allocatable={"cpu": "192"}, unschedulable=True), h100_node(gpus=0)],
            [pod("p", "team-a", container(resources={"limits": {"nvidia.com/gpu": 1, "cpu": "200"}}))],
            "No small change fits; "
            "add a node that offers nvidia.com/gpu: 1 with 200 cpu free and meets the pod's rules",
            id="what is short",
        ),
        # The image was built for one vendor's GPUs.
        pytest.param(
            [h100_node()],
            [pod(resource="amd.com/gpu")],
            "No small change fits; add a node that offers amd.com/gpu: 1 and meets the pod's rules",
            id="vendor",
        ),
        pytest.param(
            [h100_node()],
            [pod(resource="nvidia.com/mig-1g.10gb")],
            "Ask for nvidia.com/gpu: 1 instead of nvidia.com/mig-1g.10gb in container main (79.6Gi)",
            id="same vendor",
        ),
    ],
)
def test_suggestion(nodes: list[Tree], pods: list[Tree], said: str) -> None:
    assert suggestion(nodes, *pods) == said


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({"nodeSelector": {"zone": "b"}}, "nodeSelector zone=b does not match: zone is not set"),
        (
            {"nodeSelector": {"zone": "b", "disk": "ssd"}},
            "nodeSelector disk=ssd, zone=b do not match: disk is not set; zone is not set",
        ),
        (
            {"affinity": {"nodeAffinity": AFFINITY}},
            (
                "required node affinity nvidia.com/gpu.product=Tesla-T4 does not match: "
                "nvidia.com/gpu.product is NVIDIA-H100-80GB-HBM3"
            ),
        ),
    ],
)
def test_what_does_not_match_is_named(spec: Tree, said: str) -> None:
    view = simulated(pod(**spec), on=world_of(h100_node()))[0]
    assert view.unschedulable is not None
    assert [reason.message for reason in view.unschedulable.reasons] == [said]
