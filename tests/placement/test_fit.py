"""Reasons of single nodes."""

from typing import Any

import pytest

from gpusched.core.codes import Reason
from gpusched.placement.fit import reason, static_reason
from gpusched.policy.model import Config
from tests.build import Tree, a100_node, bound, container, gfd_labels, h100_node, namespace, node, pod, t4_node
from tests.placement.scene import ask, claiming, cluster_of, own, promise, running


def verdict(node_tree: Tree, pod_tree: Tree, *others: Tree, config: Config | None = None) -> Reason | None:
    cluster = cluster_of(node_tree, *others, config=config)
    return reason(ask(cluster, pod_tree), cluster.nodes[node_tree["metadata"]["name"]], cluster)


def mps_node(gpus: int, replicas: int) -> Tree:
    labels = gfd_labels("Tesla-T4-SHARED", count=gpus, replicas=replicas, sharing="mps")
    return node("mps", gpus=gpus * replicas, labels=labels)


def two(gpus: int, resource: str = "nvidia.com/gpu") -> Tree:
    return pod("p", "team-a", container(gpus=gpus, resource=resource))


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ({}, None),
        ({"families": "hopper"}, None),
        ({"families": "turing, ampere"}, Reason.FAMILY),
        ({"products": "h100"}, None),
        ({"products": "h100-80gb"}, None),
        ({"products": "a100"}, Reason.PRODUCT),
        ({"products": "h10"}, Reason.PRODUCT),
        ({"min_gpu_memory": "80Gi"}, None),
        ({"min_gpu_memory": "81Gi"}, Reason.MEMORY),
        ({"max_gpu_memory": "24Gi"}, Reason.MEMORY),
        ({"sharing": "none, mig"}, None),
        ({"sharing": "mig"}, Reason.SHARING),
        ({"min_cuda_version": "12.4"}, None),
        ({"min_cuda_version": "12.5"}, Reason.VERSION),
        ({"min_driver_version": "560.1"}, Reason.VERSION),
        ({"node_selector": "kubernetes.io/hostname=h100"}, None),
        ({"node_selector": "kubernetes.io/hostname!=h100"}, Reason.NODE_SELECTOR),
        ({"families": "turing", "node_selector": "zone=b"}, Reason.FAMILY),
        ({"min_cuda_version": "12.5", "sharing": "mig"}, Reason.SHARING),
    ],
)
def test_static_rules_of_a_namespace(policy: dict[str, str], expected: Reason | None) -> None:
    assert verdict(h100_node(), pod(), namespace("team-a", **policy)) == expected


@pytest.mark.parametrize("mode", ["warn", "audit", "off"])
def test_policy_that_does_not_enforce_does_not_filter(mode: str) -> None:
    assert verdict(h100_node(), pod(), namespace("team-a", families="turing", mode=mode)) is None


def test_the_pods_own_annotations_hold_in_every_mode() -> None:
    wants = pod(annotations=own(families="turing"))
    assert verdict(h100_node(), wants, namespace("team-a", mode="audit")) is Reason.FAMILY


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ({}, None),
        ({"families": "hopper"}, Reason.FACTS_UNKNOWN),
        ({"min_gpu_memory": "1Gi"}, Reason.FACTS_UNKNOWN),
        ({"families": "hopper", "node_selector": "zone=b"}, Reason.NODE_SELECTOR),
    ],
)
def test_unknown_facts_never_satisfy_a_rule(policy: dict[str, str], expected: Reason | None) -> None:
    assert verdict(node("bare", gpus=2), pod(), namespace("team-a", **policy)) == expected


def test_a_broken_rule_says_more_than_an_unknown_fact() -> None:
    labels = {
        "nvidia.com/gpu.replicas": "2",
        "nvidia.com/gpu.sharing-strategy": "time-slicing",
        "nvidia.com/gpu.count": "1",
    }
    policy = namespace("team-a", families="hopper", sharing="none")
    assert verdict(node("n", gpus=2, labels=labels), pod(), policy) is Reason.SHARING


@pytest.mark.parametrize(
    ("wanted", "product", "expected"),
    [
        ("h20", "NVIDIA-H20", None),
        ("h20", "NVIDIA-H200", Reason.PRODUCT),
        ("a10", "NVIDIA-A10", None),
        ("a10", "NVIDIA-A100-SXM4-40GB", Reason.PRODUCT),
        ("a10", "NVIDIA-A10G", Reason.PRODUCT),
        ("a100", "NVIDIA-A100-SXM4-40GB", None),
        ("a100", "NVIDIA-A100-PCIE-80GB", None),
    ],
)
def test_products_match_by_token(wanted: str, product: str, expected: Reason | None) -> None:
    offered = node("n", gpus=1, labels=gfd_labels(product))
    assert verdict(offered, pod(), namespace("team-a", products=wanted)) == expected


@pytest.mark.parametrize(
    ("node_tree", "gpus", "single", "expected"),
    [
        (mps_node(2, 10), 10, None, Reason.SHARED_SINGLE),
        (mps_node(2, 10), 2, False, Reason.SHARED_SINGLE),
        (mps_node(2, 10), 1, None, None),
        (t4_node(gpus=2, replicas=4), 2, None, None),
        (t4_node(gpus=2, replicas=4), 2, False, None),
        (t4_node(gpus=2, replicas=4), 2, True, Reason.SHARED_SINGLE),
        (t4_node(gpus=2, replicas=4), 1, True, None),
        (t4_node(gpus=2), 2, True, None),
        (node("bare", gpus=4), 2, True, None),
    ],
)
def test_slots_of_a_shared_gpu_per_container(
    node_tree: Tree, gpus: int, single: bool | None, expected: Reason | None
) -> None:
    assert verdict(node_tree, two(gpus), config=Config(time_slicing_single=single)) == expected


def test_gke_gives_one_time_shared_slot_per_container() -> None:
    labels = {
        "cloud.google.com/gke-accelerator": "nvidia-tesla-t4",
        "cloud.google.com/gke-gpu-sharing-strategy": "time-sharing",
        "cloud.google.com/gke-max-shared-clients-per-gpu": "4",
    }
    gke = t4_node(gpus=1, replicas=4, labels=labels)
    assert verdict(gke, two(2)) is Reason.SHARED_SINGLE
    assert verdict(gke, two(2), config=Config(time_slicing_single=False)) is None


def test_two_containers_may_take_one_shared_slot_each() -> None:
    both = pod("p", "team-a", container("a", gpus=1), container("b", gpus=1))
    assert verdict(mps_node(1, 4), both) is None


def test_free_slots_are_never_negative() -> None:
    shrunk = node("n", gpus=3, capacity={"nvidia.com/gpu": "4"})
    holders = [running(f"r{turn}", "n") for turn in range(4)]
    assert verdict(shrunk, pod(), *holders[:2]) is None
    assert verdict(shrunk, pod(), *holders[:3]) is Reason.FREE_REPLICAS
    assert verdict(shrunk, pod(), *holders) is Reason.FREE_REPLICAS


@pytest.mark.parametrize(
    ("node_tree", "pod_tree", "expected"),
    [
        (node("n", gpus=0), pod(), Reason.FREE_REPLICAS),
        (node("n", gpus=None, labels=gfd_labels()), pod(), Reason.NO_RESOURCE),
        (node("n", gpus=None), pod(gpus=0), None),
        (node("n", gpus=None), pod(gpus=None), None),
        (
            node("n", gpus=0, allocatable={"nvidia.com/mig-1g.5gb": "7"}),
            pod(resource="nvidia.com/mig-1g.5gb"),
            None,
        ),
    ],
)
def test_what_is_not_offered(node_tree: Tree, pod_tree: Tree, expected: Reason | None) -> None:
    assert verdict(node_tree, pod_tree) == expected


def test_every_resource_of_a_pod_is_judged() -> None:
    both = pod("p", "team-a", container("a", gpus=1), container("b", gpus=1, resource="nvidia.com/mig-1g.5gb"))
    assert verdict(node("n", gpus=1), both) is Reason.NO_RESOURCE
    assert verdict(node("n", gpus=1, allocatable={"nvidia.com/mig-1g.5gb": "1"}), both) is None
    assert verdict(node("n", gpus=1, allocatable={"nvidia.com/mig-1g.5gb": "0"}), both) is Reason.FREE_REPLICAS


def test_slots_served_through_dra_are_not_judged() -> None:
    served = (
        {
            "kind": "DeviceClass",
            "metadata": {"name": "gpu"},
            "spec": {"extendedResourceName": "nvidia.com/gpu"},
        },
        {
            "kind": "ResourceSlice",
            "metadata": {"name": "s"},
            "spec": {"driver": "gpu.nvidia.com", "nodeName": "n", "devices": [{"name": "gpu-0"}]},
        },
    )
    assert verdict(node("n", gpus=None), pod(gpus=4), *served) is None


@pytest.mark.parametrize(
    ("running_pods", "reserve", "expected"),
    [(22, 0, None), (23, 0, Reason.MEMORY_CLAIM), (20, 500, None), (21, 500, Reason.MEMORY_CLAIM)],
)
def test_claims_on_one_shared_gpu_add_up(running_pods: int, reserve: int, expected: Reason | None) -> None:
    offered = node("n", gpus=32, labels=gfd_labels("NVIDIA-L40S", memory=46068, replicas=32, family="ada-lovelace"))
    holders = [running(f"r{turn}", "n", annotations=claiming("2000Mi")) for turn in range(running_pods)]
    wants = pod(annotations=claiming("2000Mi"))
    assert verdict(offered, wants, *holders, config=Config(claim_reserve=reserve)) == expected


@pytest.mark.parametrize(("claim", "expected"), [("3Gi", None), ("6Gi", Reason.MEMORY_CLAIM)])
def test_a_claim_holds_whichever_gpu_the_kubelet_picks(claim: str, expected: Reason | None) -> None:
    labels = gfd_labels("NVIDIA-P4", count=2, memory=8192, replicas=4, family="pascal", compute=(6, 1))
    offered = node("n", gpus=8, labels=labels)
    holders = [running(f"r{turn}", "n", annotations=claiming("5Gi")) for turn in range(1)]
    config = Config(claim_reserve=0, claim_above_slot="allow")
    assert verdict(offered, pod(annotations=claiming(claim)), *holders, config=config) == expected


@pytest.mark.parametrize(("claim", "expected"), [("70Gi", None), ("79Gi", None), ("80Gi", Reason.MEMORY_CLAIM)])
def test_a_claim_on_a_whole_gpu(claim: str, expected: Reason | None) -> None:
    assert verdict(h100_node(), pod(annotations=claiming(claim))) == expected


def test_what_the_pod_was_promised_here_does_not_stand_in_its_way() -> None:
    cluster = cluster_of(h100_node(gpus=1), namespace("team-a", quota="hopper=1"))
    request, other = ask(cluster, pod("p")), ask(cluster, pod("q"))
    promise(cluster, "h100", request)
    assert reason(request, cluster.nodes["h100"], cluster) is None
    assert reason(other, cluster.nodes["h100"], cluster) is Reason.FREE_REPLICAS


@pytest.mark.parametrize(
    ("quota", "expected"),
    [
        ({"quota": "hopper=3"}, None),
        ({"quota": "hopper=2"}, Reason.QUOTA),
        ({"quota": "ampere=0"}, None),
        ({"quota": "hopper=8, *=3"}, None),
        ({"quota": "hopper=8, *=2"}, Reason.QUOTA),
        ({"quota": "hopper=2", "mode": "enforce,quota=warn"}, None),
        ({"quota": "hopper=2", "mode": "warn"}, None),
        ({"quota_gpu_memory": "250Gi"}, None),
        ({"quota_gpu_memory": "200Gi"}, Reason.QUOTA),
    ],
)
def test_quota_of_the_namespace(quota: dict[str, str], expected: Reason | None) -> None:
    others = [running("r1", "h100"), running("r2", "h100"), running("r3", "h100", namespace="team-b")]
    assert verdict(h100_node(), pod(), namespace("team-a", **quota), *others) == expected


def test_finished_pods_use_no_quota_and_terminating_ones_do() -> None:
    policy = namespace("team-a", quota="*=1")
    finished = bound(pod("r"), "h100", phase="Succeeded")
    ending = running("r", "h100")
    ending["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert verdict(h100_node(), pod(), policy, finished) is None
    assert verdict(h100_node(), pod(), policy, ending) is Reason.QUOTA


@pytest.mark.parametrize("quota", [{"quota": "hopper=2"}, {"quota_gpu_memory": "1Ti"}])
def test_a_quota_needs_the_facts_it_counts_by(quota: dict[str, str]) -> None:
    assert verdict(node("bare"), pod(), namespace("team-a", **quota)) is Reason.FACTS_UNKNOWN
    assert verdict(node("bare"), pod(), namespace("team-a", quota="*=2")) is None


def test_static_rules_come_before_live_ones() -> None:
    full = a100_node(gpus=1)
    cluster = cluster_of(full, running("r", "a100"), namespace("team-a", families="hopper", quota="*=0"))
    request = ask(cluster, pod())
    assert static_reason(request, cluster.nodes["a100"].node) is Reason.FAMILY
    assert reason(request, cluster.nodes["a100"], cluster) is Reason.FAMILY


@pytest.mark.parametrize("order", [1, -1])
def test_order_of_containers_and_labels_does_not_matter(order: int) -> None:
    containers: list[dict[str, Any]] = [
        container("a", gpus=1),
        container("b", gpus=1, resource="nvidia.com/mig-1g.5gb"),
    ]
    labels = dict(list(gfd_labels().items())[::order])
    both = pod("p", "team-a", *containers[::order])
    assert verdict(node("n", gpus=0, labels=labels), both) is Reason.NO_RESOURCE
