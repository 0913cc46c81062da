"""What a preflight says is there."""

from pathlib import Path
from typing import Any

import pytest

from gpusched.doctor.installation import OLDEST, TESTED
from gpusched.doctor.preflight import Overlay, Placed
from gpusched.doctor.preflight_facts import version_of
from gpusched.local.versions import VERSIONS
from tests.build import Tree, bound, h100_node, namespace, node, pod, t4_node
from tests.doctor.site import told, webhook

OPERATOR: Tree = {
    "apiVersion": "nvidia.com/v1",
    "kind": "ClusterPolicy",
    "metadata": {"name": "cluster-policy", "labels": {"app.kubernetes.io/version": "v25.10.1"}},
    "spec": {"operator": {}, "cdi": {"enabled": True, "nriPluginEnabled": True}},
}
PLUGIN: Tree = {
    "apiVersion": "apps/v1",
    "kind": "DaemonSet",
    "metadata": {"name": "nvidia-device-plugin-daemonset", "namespace": "gpu-operator"},
    "spec": {"template": {"spec": {"containers": [{"name": "c", "image": "i"}]}}},
}
NVIDIA: Tree = {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "nvidia"}, "handler": "n"}


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("v1.37.2", (1, 37)),
        ("v1.35.1+k3s1", (1, 35)),
        ("1.29", (1, 29)),
        ("v1.34.1-gke.1279000", (1, 34)),
        ("", None),
        ("v1", None),
        ("v1.x", None),
    ],
)
def test_versions(text: str, version: tuple[int, int] | None) -> None:
    assert version_of(text) == version


@pytest.mark.parametrize(
    ("around", "text"),
    [
        ({}, "version not known"),
        (
            {"version": "v1.37.2", "guards": True},
            "v1.37.2; matchConditions of webhooks served; ValidatingAdmissionPolicy served",
        ),
        ({"version": "v1.30.4"}, "v1.30.4 (tested are 1.34, 1.35, 1.37); matchConditions of webhooks served"),
        (
            {"version": "v1.29.0", "guards": False},
            "v1.29.0; matchConditions of webhooks MISSING; ValidatingAdmissionPolicy MISSING",
        ),
    ],
)
def test_kubernetes(around: dict[str, Any], text: str) -> None:
    assert told(**around)["Kubernetes"] == [text]


def test_what_is_tested_is_what_the_page_on_installing_says() -> None:
    page = (Path(__file__).parents[2] / "docs" / "install.md").read_text()

    assert sorted(version.name for version in VERSIONS) == list(TESTED)
    assert f"Kubernetes {OLDEST[0]}.{OLDEST[1]} or newer (tested on {', '.join(TESTED)})" in page


def test_kubelets_tell_their_versions() -> None:
    tree = node("n")
    tree["status"]["nodeInfo"] = {"kubeletVersion": "v1.36.0"}

    assert told(tree)["Kubernetes"] == ["version not known; kubelets v1.36.0"]


def test_the_gpu_stack_and_the_gpus() -> None:
    facts = told(
        t4_node("a", gpus=2, replicas=4),
        t4_node("b", gpus=2, replicas=4),
        h100_node("h"),
        node("x", gpus=2),
        node("cpu", gpus=None),
        OPERATOR,
        PLUGIN,
        NVIDIA,
        bound(pod("p", gpus=3), "h"),
    )

    assert facts["GPU Operator"] == ["25.10; CDI on; NRI on; class nvidia"]
    assert facts["device plugins"] == ["nvidia-device-plugin-daemonset (gpu-operator); nvidia.com/gpu on 4 nodes"]
    assert facts["GPU labels"] == ["GPU Feature Discovery on 3 nodes; none of these on 1 node with GPUs"]
    assert facts["RuntimeClasses"] == ["nvidia"]
    assert facts["nodes"] == ["5 nodes, 4 with GPUs"]
    assert facts["GPUs"] == [
        "hopper, not shared: 1 node, 3 of 8 slots used",
        "nvidia, family unknown, sharing unknown: 1 node, 0 of 2 slots used",
        "turing, time-slicing×4: 2 nodes, 0 of 16 slots used",
    ]
    assert facts["facts unknown"] == ["x"]


def test_a_cluster_without_gpus() -> None:
    facts = told(node("cpu", gpus=None))

    assert {title: facts[title] for title in ("GPU Operator", "device plugins", "GPU labels", "RuntimeClasses")} == {
        "GPU Operator": ["none: no ClusterPolicy"],
        "device plugins": ["none: no node offers a GPU"],
        "GPU labels": ["none"],
        "RuntimeClasses": ["none"],
    }
    assert facts["nodes"] == ["1 node, 0 with GPUs"]
    assert "GPUs" not in facts
    assert facts["facts unknown"] == ["none"]


def test_other_software() -> None:
    other = pod("v", schedulerName="volcano")
    around = {"groups": ("apps", "kueue.x-k8s.io"), "configurations": (webhook("istio"), webhook("hami"))}

    assert told(other, **around)["other schedulers"] == ["Kueue; hami; 1 GPU pod of volcano"]
    assert told(other, **around)["other webhooks"] == ["hami, istio change pods at their creation"]
    assert told(groups=(), configurations=())["other webhooks"] == ["none changes pods at their creation"]
    assert told(groups=())["other schedulers"] == ["none"]
    assert told()["other schedulers"] == ["none that the dump tells of"]
    assert told(defined=("kueue.x-k8s.io",))["other schedulers"] == ["Kueue"]
    assert told()["other webhooks"] == ["not known"]


def test_exempt_namespaces_and_what_stands() -> None:
    spaces = [namespace("kube-system"), namespace("team-a"), namespace("stack", {"gpusched.io/exempt": "true"})]
    there = {"kubeadm": Overlay((Placed("Namespace", "gpusched-system", standing=True),))}
    absent = {"kubeadm": Overlay((Placed("Namespace", "gpusched-system", standing=False),))}

    assert told(*spaces)["exempt namespaces"] == ["kube-system, stack (by label)"]
    assert told()["exempt namespaces"] == ["none that is there"]
    assert told()["gpusched"] == ["not known"]
    assert told(overlays=there)["gpusched"] == ["Namespace gpusched-system there already"]
    assert told(overlays=absent)["gpusched"] == ["not installed"]
