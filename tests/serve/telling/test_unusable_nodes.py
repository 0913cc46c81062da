"""Nodes whose GPUs nobody can use are told of once it lasts."""

import pytest

from gpusched.kube.events import Reference
from gpusched.serve.telling.unusable_nodes import UnusableNodes
from gpusched.state.cluster import Cluster
from gpusched.state.events import Gone, Kind
from tests.build import Tree, h100_node, namespace, node, t4_node
from tests.placement.scene import cluster_of, see

INVALID = {"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB-MIG-INVALID", "nvidia.com/mig.strategy": "single"}
CHANGING = {"nvidia.com/mig.config.state": "pending"}


def told(nodes: UnusableNodes, cluster: Cluster, now: float) -> dict[str, str]:
    found = [saying for saying in nodes.look(cluster, now) if saying is not None]
    assert all(saying.reason == "GPUNodeUnusable" for saying in found)
    return {saying.about.name: saying.message for saying in found}


@pytest.mark.parametrize(
    ("tree", "patience", "text"),
    [
        (
            h100_node("n", gpus=0, capacity={"nvidia.com/gpu": "8"}),
            15.0,
            "nvidia.com/gpu: none of 8 is healthy: look at the device plugin",
        ),
        (
            h100_node("n", labels=INVALID),
            15.0,
            "nvidia.com/gpu: MIG configuration is invalid: empty, unequal or partly enabled under strategy single",
        ),
        (
            h100_node("n", labels=CHANGING),
            600.0,
            "nvidia.com/gpu: MIG is being reconfigured: state pending",
        ),
        (
            node("n", gpus=None, labels={"nvidia.com/gpu.present": "true"}),
            900.0,
            "GPU labels present but no GPU resource is allocatable: look at the driver and the device plugin",
        ),
        (
            node("n"),
            15.0,
            (
                "nvidia.com/gpu: family unknown, which the policy of namespace team-a is about; "
                "write it into the annotation gpusched.io/facts"
            ),
        ),
    ],
    ids=["sick", "mig-invalid", "reconfiguring", "not installed", "unknown"],
)
def test_a_fault_is_told_once_it_lasts(tree: Tree, patience: float, text: str) -> None:
    cluster, nodes = cluster_of(tree, namespace(families="hopper")), UnusableNodes()
    assert told(nodes, cluster, 0.0) == {}
    assert told(nodes, cluster, patience - 1.0) == {}
    assert told(nodes, cluster, patience) == {"n": text}
    (about,) = [saying.about for saying in nodes.look(cluster, patience) if saying is not None]
    assert about == Reference("Node", "n", uid="uid-n")


def test_facts_that_no_annotation_settles() -> None:
    cluster, nodes = cluster_of(node("n"), namespace(min_cuda_version="12.0", families="turing")), UnusableNodes()
    told(nodes, cluster, 0.0)
    assert told(nodes, cluster, 60.0) == {
        "n": "nvidia.com/gpu: family and cuda unknown, which the policy of namespace team-a is about"
    }


@pytest.mark.parametrize("tree", [t4_node("n"), node("n", gpus=None), node("n", gpus=0)], ids=["good", "cpu", "empty"])
def test_nodes_of_which_there_is_nothing_to_say(tree: Tree) -> None:
    cluster, nodes = cluster_of(tree, namespace(families="turing", min_cuda_version="12.0")), UnusableNodes()
    told(nodes, cluster, 0.0)
    assert told(nodes, cluster, 10_000.0) == {}


@pytest.mark.parametrize("labels", [{"amd.com/gpu.family": "AI"}, {}], ids=["known", "unknown"])
def test_rules_about_cuda_are_about_no_gpus_of_other_vendors(labels: dict[str, str]) -> None:
    amd = node("n", gpus=8, resource="amd.com/gpu", labels=labels)
    rules = namespace(min_cuda_version="12.0", min_driver_version="550", min_gpu_memory="8Gi")
    cluster, nodes = cluster_of(amd, rules), UnusableNodes()
    told(nodes, cluster, 0.0)
    assert told(nodes, cluster, 10_000.0) == {}


def test_unknown_facts_that_nobody_asks_for_are_no_fault() -> None:
    cluster, nodes = cluster_of(node("n"), namespace()), UnusableNodes()
    told(nodes, cluster, 0.0)
    assert told(nodes, cluster, 10_000.0) == {}


def test_a_transition_is_not_told() -> None:
    cluster, nodes = cluster_of(h100_node("n", gpus=0, capacity={"nvidia.com/gpu": "8"})), UnusableNodes()
    told(nodes, cluster, 0.0)
    see(cluster, h100_node("n"))
    assert told(nodes, cluster, 10.0) == {}
    see(cluster, h100_node("n", gpus=0, capacity={"nvidia.com/gpu": "8"}))
    assert told(nodes, cluster, 20.0) == {}
    assert list(told(nodes, cluster, 35.0)) == ["n"]


def test_a_node_that_is_gone_is_forgotten() -> None:
    cluster, nodes = cluster_of(h100_node("n", labels=INVALID)), UnusableNodes()
    told(nodes, cluster, 0.0)
    cluster.apply(Gone(Kind.NODE, "n"))
    told(nodes, cluster, 10.0)
    see(cluster, h100_node("n", labels=INVALID))
    assert told(nodes, cluster, 20.0) == {}
