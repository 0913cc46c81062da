"""Node labels and amounts that misled schedulers, as met in public trackers."""

import pytest

from gpusched.core.codes import REASON_TEXT, Reason
from gpusched.core.node import Node
from gpusched.core.pool import Sharing
from tests.build import Tree, gfd_labels, node, pod, t4_node
from tests.cases.trial import cluster_of, fitting, reasons, refused, review, simulated, surveyed, world_of


def _nvidia(**labels: str) -> dict[str, str]:
    return {f"nvidia.com/{key.replace('_', '.')}": value for key, value in labels.items()}


def _slots(found: Node) -> dict[str, int]:
    return {pool.resource: pool.slots for pool in found.pools}


def _wanting(**annotations: str) -> Tree:
    return pod(annotations={f"gpusched.io/{key.replace('_', '-')}": text for key, text in annotations.items()})


def test_in_02_a_time_sliced_card_with_its_memory_in_bytes() -> None:
    """NVIDIA GPU Operator's time-slicing page for OpenShift prints these labels: sharing adds slots, not memory."""
    labels = _nvidia(
        gpu_product="Tesla-T4-SHARED", gpu_replicas="8", gpu_count="1", gpu_family="turing", gpu_memory="16106127360"
    )
    (pool,) = surveyed(node(gpus=8, labels=labels)).pools
    assert (pool.product, pool.family, pool.sharing) == ("t4", "turing", Sharing.TIME_SLICING)
    assert (pool.slots, pool.replicas, pool.devices) == (8, 8, 1)
    assert (pool.gpu_memory_mib, pool.visible_memory_mib, pool.slot_memory_mib) == (15360, 15360, 1920)


def test_in_04_labels_that_flip_between_two_models_leave_the_slots_alone() -> None:
    """NVIDIA/gpu-feature-discovery#27, NVIDIA/k8s-device-plugin#731: a display card beside the compute cards.

    While counts contradict the amounts on offer, nothing that the labels say of the device is believed.
    """
    display = _nvidia(gpu_product="NVIDIA-DGX-Display", gpu_replicas="1", gpu_count="1", gpu_memory="4096")
    compute = _nvidia(gpu_product="NVIDIA-A100-SXM4-80GB", gpu_replicas="1", gpu_count="4", gpu_memory="81920")
    (flipped,) = surveyed(node(gpus=4, labels=display)).pools
    assert (flipped.slots, flipped.product, flipped.gpu_memory_mib, flipped.replicas) == (4, None, None, None)
    (settled,) = surveyed(node(gpus=4, labels=compute)).pools
    assert (settled.slots, settled.product, settled.gpu_memory_mib) == (4, "a100-sxm4-80gb", 81920)
    assert refused(_wanting(products="a100"), cluster_of(node("n", gpus=4, labels=display))) == {
        "n": REASON_TEXT[Reason.FACTS_UNKNOWN]
    }
    assert fitting(_wanting(products="a100"), cluster_of(node("n", gpus=4, labels=compute))) == ["n"]


def test_in_04_without_a_count_the_last_labels_hold() -> None:
    """The same threads: the product follows the labels, the slots never do."""
    for product, replicas, normalised in (
        ("NVIDIA-DGX-Display", "1", "dgx-display"),
        ("NVIDIA-A100-SXM4-80GB", "4", "a100-sxm4-80gb"),
    ):
        labels = _nvidia(gpu_product=product, gpu_replicas=replicas)
        (pool,) = surveyed(node(gpus=4, labels=labels)).pools
        assert (pool.slots, pool.product) == (4, normalised)


def test_in_06_memory_units_of_other_products_are_no_gpus() -> None:
    """AliyunContainerService/gpushare-scheduler-extender#40: unlike cards were shown as two of the average size.

    The average is never computed: these resources belong to another scheduler, and pods with them are not touched.
    """
    amounts = {"aliyun.com/gpu-mem": "24", "aliyun.com/gpu-count": "2"}
    tree = node("n", gpus=None, allocatable=amounts)
    assert surveyed(tree).pools == ()
    asking = pod(gpus=14, resource="aliyun.com/gpu-mem")
    answer = review(asking, cluster_of(tree))
    assert (answer.allowed, answer.warnings, answer.patch) == (True, (), ())
    (view,) = simulated(asking, on=world_of(tree))
    assert view.placement is not None
    assert view.placement.resources == {}


def test_in_06_cards_of_unlike_size_have_no_average() -> None:
    """The same thread for cards that gpusched serves: their labels tell of one kind, the amounts of two."""
    labels = gfd_labels("Tesla-M60", count=1, memory=8192, family="maxwell", compute=(5, 2))
    (pool,) = surveyed(node(gpus=2, labels=labels)).pools
    assert (pool.slots, pool.gpu_memory_mib) == (2, None)
    assert refused(_wanting(min_gpu_memory="7Gi"), cluster_of(node("n", gpus=2, labels=labels))) == {
        "n": REASON_TEXT[Reason.FACTS_UNKNOWN]
    }


def test_in_08_a_card_wholly_in_mig_mode() -> None:
    """run-ai/fake-gpu-operator, sample of a 7g.40gb node: replicas "0" is neither a divisor nor a lack of slots."""
    labels = _nvidia(
        **{"mig_strategy": "mixed", "mig-7g_40gb_count": "1", "mig-7g_40gb_memory": "40192"},
        gpu_count="1",
        gpu_replicas="0",
        gpu_memory="40960",
    )
    tree = node(gpus=0, allocatable={"nvidia.com/mig-1g.5gb": "0", "nvidia.com/mig-7g.40gb": "1"}, labels=labels)
    found = surveyed(tree)
    assert _slots(found) == {"nvidia.com/gpu": 0, "nvidia.com/mig-1g.5gb": 0, "nvidia.com/mig-7g.40gb": 1}
    instance = found.pool("nvidia.com/mig-7g.40gb")
    assert instance is not None
    assert (instance.sharing, instance.replicas, instance.visible_memory_mib) == (Sharing.MIG, 1, 40192)


def test_in_10_whole_gpus_and_instances_side_by_side() -> None:
    """NVIDIA/gpu-operator#637: one node advertises both; an empty profile is not the node's other GPUs."""
    amounts = {"nvidia.com/mig-1g.10gb": "6", "nvidia.com/mig-2g.20gb": "4", "nvidia.com/mig-3g.40gb": "0"}
    cluster = cluster_of(node("n", gpus=2, allocatable=amounts))
    assert _slots(cluster.nodes["n"].node) == {"nvidia.com/gpu": 2} | {key: int(text) for key, text in amounts.items()}
    assert refused(pod(resource="nvidia.com/mig-3g.40gb"), cluster) == {"n": REASON_TEXT[Reason.FREE_REPLICAS]}
    assert fitting(pod(gpus=2), cluster) == ["n"]
    assert fitting(pod(gpus=6, resource="nvidia.com/mig-1g.10gb"), cluster) == ["n"]


def test_in_12_an_invalid_mig_layout_takes_no_pod() -> None:
    """NVIDIA/gpu-operator#479: unequal partitions under strategy single, told by the product label alone."""
    labels = _nvidia(
        gpu_product="NVIDIA-A100-SXM4-80GB-MIG-INVALID", gpu_count="0", gpu_replicas="0", **{"gpu_sharing-strategy": ""}
    )
    tree = node("n", gpus=1, labels=labels)
    (pool,) = surveyed(tree).pools
    assert (pool.product, pool.blocked) == (None, Reason.FACTS_UNKNOWN)
    assert any("MIG configuration is invalid" in note for note in pool.notes)
    for asking in (pod(), _wanting(families="ampere"), _wanting(products="a100")):
        assert refused(asking, cluster_of(tree)) == {"n": REASON_TEXT[Reason.FACTS_UNKNOWN]}


def test_in_14_shared_instances_under_the_shared_name_only() -> None:
    """bottlerocket-os/bottlerocket#4418: eight cards, four instances each, four replicas each."""
    cluster = cluster_of(node("n", gpus=0, allocatable={"nvidia.com/gpu.shared": "128"}))
    assert _slots(cluster.nodes["n"].node) == {"nvidia.com/gpu": 0, "nvidia.com/gpu.shared": 128}
    assert fitting(pod(gpus=1), cluster) == []
    assert fitting(pod(gpus=1, resource="nvidia.com/gpu.shared"), cluster) == ["n"]


@pytest.mark.parametrize(
    ("product", "normalised"),
    [
        ("Tesla-T4", "t4"),
        ("Tesla-T4-SHARED", "t4"),
        ("NVIDIA-A100-SXM4-40GB-MIG-1g.5gb", "a100-sxm4-40gb"),
        ("NVIDIA-A100-SXM4-40GB-MIG-1g.5gb-SHARED", "a100-sxm4-40gb"),
    ],
)
def test_in_16_sharing_does_not_rename_the_product(product: str, normalised: str) -> None:
    """redhat-na-ssa/hobbyist-guide-to-rhoai#31: selectors for Tesla-T4 lost the node once it was time-sliced."""
    (pool,) = surveyed(node(labels=_nvidia(gpu_product=product))).pools
    assert pool.product == normalised


def test_in_16_a_product_is_found_shared_or_not() -> None:
    """The same thread: whether shared cards will do is a rule of its own, `sharing`."""
    cluster = cluster_of(t4_node("whole"), t4_node("shared", replicas=4))
    assert fitting(_wanting(products="Tesla-T4"), cluster) == ["shared", "whole"]
    assert fitting(_wanting(products="t4", sharing="none"), cluster) == ["whole"]


def test_in_18_one_shared_card_of_eight() -> None:
    """A public how-to on MPS: its labels claim two replicas of all eight, and one label is named like the resource."""
    labels = {"nvidia.com/gpu": "nvidia-ada-4090"} | _nvidia(
        gpu_count="8", gpu_replicas="2", **{"gpu_sharing-strategy": "mps"}
    )
    found = surveyed(node(gpus=7, allocatable={"nvidia.com/gpu.shared": "2"}, labels=labels))
    assert _slots(found) == {"nvidia.com/gpu": 7, "nvidia.com/gpu.shared": 2}
    assert [(pool.sharing, pool.replicas, pool.devices) for pool in found.pools] == [
        (Sharing.NONE, 1, 7),
        (Sharing.MPS, 2, 1),
    ]


def test_in_20_amd_cards_without_a_product_name() -> None:
    """ROCm/gpu-operator#266, ROCm/k8s-device-plugin#112: virtual functions, and a family of two letters.

    The device id names the product where the catalogue knows it; where it does not, product rules refuse.
    """
    labels = {"amd.com/gpu.family": "AI", "amd.com/gpu.cu-count": "304"}
    known = node("known", gpus=8, resource="amd.com/gpu", labels=labels | {"amd.com/gpu.device-id": "74b5"})
    strange = node("strange", gpus=8, resource="amd.com/gpu", labels=labels | {"amd.com/gpu.device-id": "ffff"})
    (pool,) = surveyed(known).pools
    assert (pool.vendor, pool.slots, pool.product, pool.family) == ("amd", 8, "mi300x-vf", "cdna3")
    (unknown,) = surveyed(strange).pools
    assert (unknown.vendor, unknown.slots, unknown.product, unknown.family) == ("amd", 8, None, None)
    cluster = cluster_of(known, strange)
    asking = pod(gpus=1, resource="amd.com/gpu", annotations={"gpusched.io/products": "mi300x"})
    assert refused(asking, cluster) == {"strange": REASON_TEXT[Reason.FACTS_UNKNOWN]}
    assert fitting(pod(gpus=8, resource="amd.com/gpu"), cluster) == ["known", "strange"]


def test_in_22_labels_without_gpus_promise_nothing() -> None:
    """NVIDIA/gpu-operator#1391, #584: the labels outlived the cards."""
    tree = node("n", gpus=None, labels=_nvidia(gpu_present="true", gpu_count="4"))
    assert surveyed(tree).pools == ()
    assert surveyed(tree).notes == ("GPU labels present but no GPU resource is allocatable",)
    assert fitting(pod(), cluster_of(tree)) == []


def test_in_22_gpus_without_labels_serve_pods_without_rules() -> None:
    """NVIDIA/k8s-device-plugin#796: all labels vanish while GFD restarts.

    A refused pod comes back with any event of the cluster, so the refusal is of the same kind as every other.
    """
    cluster = cluster_of(node("n", gpus=4))
    assert fitting(pod(gpus=4), cluster) == ["n"]
    assert refused(_wanting(families="hopper"), cluster) == {"n": REASON_TEXT[Reason.FACTS_UNKNOWN]}


GKE = {
    "cloud.google.com/gke-accelerator": "nvidia-tesla-t4",
    "cloud.google.com/gke-max-shared-clients-per-gpu": "3",
    "cloud.google.com/gke-gpu-sharing-strategy": "time-sharing",
}
KARPENTER = {
    "karpenter.k8s.aws/instance-gpu-name": "a10g",
    "karpenter.k8s.aws/instance-gpu-memory": "24576",
    "karpenter.k8s.aws/instance-gpu-count": "1",
}


def test_in_24_labels_of_clouds_stand_in_for_gfd() -> None:
    """bottlerocket-os/bottlerocket#4250, NVIDIA/k8s-device-plugin#826, GKE's page on time-sharing: no GFD at all."""
    (gke,) = surveyed(node(gpus=3, labels=GKE)).pools
    assert (gke.product, gke.sharing, gke.replicas, gke.devices) == ("t4", Sharing.TIME_SLICING, 3, 1)
    (karpenter,) = surveyed(node(gpus=1, labels=KARPENTER)).pools
    assert (karpenter.product, karpenter.gpu_memory_mib, karpenter.devices) == ("a10g", 24576, 1)


def test_in_24_gfd_is_believed_before_the_cloud() -> None:
    """The same threads: the cloud states nominal memory, GFD what the driver reports."""
    gfd = gfd_labels("NVIDIA-A10G", memory=23028, compute=(8, 6), family="ampere")
    (pool,) = surveyed(node(gpus=1, labels=KARPENTER | gfd)).pools
    assert (pool.product, pool.gpu_memory_mib) == ("a10g", 23028)


def test_in_24_what_only_the_administrator_knows_is_an_annotation() -> None:
    """The same threads: a label of the cluster's own making is not read; its content goes into `gpusched.io/facts`."""
    labels = {"gpu-memory-MiB": "15360", "nvidia.com/gpu.present": "true"}
    (unread,) = surveyed(node(labels=labels)).pools
    assert unread.gpu_memory_mib is None
    (pool,) = surveyed(node(labels=labels, annotations={"gpusched.io/facts": "gpu-memory=15360Mi"})).pools
    assert pool.gpu_memory_mib == 15360


def test_in_26_profiles_with_media_extensions_are_pools_of_their_own() -> None:
    """NVIDIA/mig-parted examples/config.yaml: `+me` in a profile is `.me` in the resource's name."""
    amounts = {"nvidia.com/mig-1g.5gb.me": "1", "nvidia.com/mig-1g.5gb": "5"}
    cluster = cluster_of(node("n", gpus=0, allocatable=amounts))
    pools = {pool.resource: pool for pool in cluster.nodes["n"].node.pools}
    assert {name: (pools[name].slots, pools[name].visible_memory_mib) for name in amounts} == {
        "nvidia.com/mig-1g.5gb.me": (1, 5120),
        "nvidia.com/mig-1g.5gb": (5, 5120),
    }
    assert fitting(pod(gpus=2, resource="nvidia.com/mig-1g.5gb.me"), cluster) == []
    (view,) = simulated(pod(gpus=5, resource="nvidia.com/mig-1g.5gb"), on=world_of(node(gpus=0, allocatable=amounts)))
    assert view.placement is not None
    (waiting,) = simulated(
        pod(gpus=2, resource="nvidia.com/mig-1g.5gb.me"), on=world_of(node(gpus=0, allocatable=amounts))
    )
    assert reasons(waiting) == {"native-resources": 1}
