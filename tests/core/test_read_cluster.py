import pytest

from gpusched.core.cluster_facts import OperatorFacts, RuntimeClass
from gpusched.core.fault import Fault
from gpusched.core.node import NodeObject, Taint
from gpusched.core.read_cluster import read_cluster_policy, read_node, read_runtime_class
from tests.build import node


def test_a_node() -> None:
    faults: list[Fault] = []
    tree = node(
        "n1",
        gpus=4,
        labels={"zone": "a"},
        annotations={"gpusched.io/facts": "replicas=4", "volumes.kubernetes.io/x": "y"},
        allocatable={"cpu": "1930m"},
        capacity={"cpu": "2", "nvidia.com/gpu": "8"},
        taints=[{"key": "nvidia.com/gpu", "effect": "NoExecute", "value": "present"}, {"key": "a"}],
        unschedulable=True,
    )

    common = {"memory": 512 * 2**30, "pods": 110, "ephemeral-storage": 2**40}
    assert read_node(tree, faults) == NodeObject(
        name="n1",
        uid="uid-n1",
        labels={"kubernetes.io/hostname": "n1", "zone": "a"},
        annotations={"gpusched.io/facts": "replicas=4"},
        taints=(Taint("nvidia.com/gpu", "present", "NoExecute"), Taint("a", "", "NoSchedule")),
        unschedulable=True,
        allocatable=common | {"cpu": 1930, "nvidia.com/gpu": 4},
        capacity=common | {"cpu": 2000, "nvidia.com/gpu": 8},
    )
    assert faults == []


def test_a_node_without_status_offers_nothing() -> None:
    faults: list[Fault] = []

    assert read_node({"metadata": {"name": "n"}}, faults) == NodeObject(name="n")
    assert faults == []


def test_amounts_that_cannot_be_are_faults() -> None:
    faults: list[Fault] = []
    tree = {"status": {"allocatable": {"nvidia.com/gpu": "-1", "cpu": "many", "memory": None}}}

    assert read_node(tree, faults).allocatable == {"nvidia.com/gpu": 0, "memory": 0}
    assert faults == [
        Fault("status.allocatable[nvidia.com/gpu]", "-1 is negative: read as 0"),
        Fault("status.allocatable.cpu", '"many" is not a quantity: write a number such as 1'),
    ]


def test_a_runtime_class() -> None:
    tree = {
        "metadata": {"name": "nvidia"},
        "handler": "nvidia",
        "overhead": {"podFixed": {"memory": "64Mi", "cpu": 0.25}},
        "scheduling": {"nodeSelector": {"gpu": "true"}},
    }

    assert read_runtime_class(tree, []) == RuntimeClass(
        "nvidia", "nvidia", overhead={"memory": "64Mi", "cpu": "0.25"}, node_selector={"gpu": "true"}
    )
    assert read_runtime_class({"metadata": {"name": "x"}}, []) == RuntimeClass("x")


@pytest.mark.parametrize(
    ("labels", "version"),
    [
        ({"app.kubernetes.io/version": "v25.10.0"}, (25, 10)),
        ({"app.kubernetes.io/version": "24.9.2-rc1"}, (24, 9)),
        ({"helm.sh/chart": "gpu-operator-v25.3.1"}, (25, 3)),
        ({"app.kubernetes.io/version": "latest", "helm.sh/chart": "gpu-operator-25.10.1"}, (25, 10)),
        ({"helm.sh/chart": "other-v1.2.3"}, None),
        ({}, None),
    ],
)
def test_the_version_of_the_operator(labels: dict[str, str], version: tuple[int, int] | None) -> None:
    assert read_cluster_policy({"metadata": {"labels": labels}}, []) == OperatorFacts(version=version)


def test_a_cluster_policy() -> None:
    spec = {"operator": {"runtimeClass": "nvidia-x"}, "cdi": {"enabled": False, "nriPluginEnabled": True}}

    assert read_cluster_policy({"spec": spec}, []) == OperatorFacts("nvidia-x", cdi_enabled=False, nri_enabled=True)
