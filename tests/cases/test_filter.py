"""Nodes that were let through or refused wrongly, as met in public trackers."""

import json

import pytest

from gpusched.core.codes import REASON_TEXT, Reason
from gpusched.policy.model import Config
from gpusched.state.cluster import Cluster
from gpusched.wire.answers import answer_filter
from tests.build import Tree, a100_node, bound, gfd_labels, h100_node, node, pod, t4_node
from tests.cases.trial import cluster_of, configured, filtered, fitting, reasons, refused, simulated, world_of


def _own(**annotations: str) -> dict[str, str]:
    return {f"gpusched.io/{key.replace('_', '-')}": text for key, text in annotations.items()}


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ("H20", ["NVIDIA-H20"]),
        ("A10", ["NVIDIA-A10"]),
        ("A100", ["A100-PCIE-80GB", "NVIDIA-A100-SXM4-40GB"]),
        ("a100-80gb", ["A100-PCIE-80GB"]),
        ("H200", ["NVIDIA-H200"]),
    ],
)
def test_fi_01_products_match_by_token(wanted: str, expected: list[str]) -> None:
    """Project-HAMi/HAMi#1485, #295: H20 also found H200, A10 also found A100."""
    products = ("NVIDIA-H20", "NVIDIA-H200", "NVIDIA-A10", "NVIDIA-A10G", "NVIDIA-A100-SXM4-40GB", "A100-PCIE-80GB")
    cluster = cluster_of(*(node(product, labels={"nvidia.com/gpu.product": product}) for product in products))
    assert fitting(pod(annotations=_own(products=wanted)), cluster) == expected


def _shared_t4(sharing: str) -> Tree:
    return node("n", gpus=20, labels=gfd_labels("Tesla-T4-SHARED", count=2, replicas=10, sharing=sharing))


@pytest.mark.parametrize(
    ("sharing", "single", "fits"),
    [
        ("mps", "auto", False),
        ("mps", False, False),
        ("time-slicing", "auto", True),
        ("time-slicing", True, False),
        ("time-slicing", False, True),
    ],
)
def test_fi_03_ten_slots_of_a_shared_card_for_one_container(sharing: str, single: object, *, fits: bool) -> None:
    """NVIDIA/k8s-device-plugin#929, GKE's page on time-sharing: twenty slots are free, the node refuses all the same.

    MPS refuses always; for time-slicing the configuration says how the device plugin is set.
    """
    cluster = cluster_of(_shared_t4(sharing), config=configured(sharing={"timeSlicingSingle": single}))
    expected = {} if fits else {"n": REASON_TEXT[Reason.SHARED_SINGLE]}
    assert refused(pod(gpus=10), cluster) == expected
    assert refused(pod(gpus=1), cluster) == {}


@pytest.mark.parametrize(("reserve", "placed", "left"), [("0%", 23, "68Mi"), ("5%", 21, "1764Mi")])
def test_fi_05_claims_fill_a_card_and_not_more(reserve: str, placed: int, left: str) -> None:
    """kai-scheduler/KAI-Scheduler#416: 24 pods of 2,000 MiB were put on a card of 46,068 MiB.

    By default 5 % of a shared card is kept free, so 21 pods fit; without a reserve 23 do.
    """
    labels = gfd_labels("NVIDIA-L40S-SHARED", memory=46068, replicas=32, compute=(8, 9), family="ada-lovelace")
    world = world_of(node("l40s", gpus=32, labels=labels), config=configured(claims={"reserve": reserve}))
    pods = [pod(f"p-{index}", annotations=_own(gpu_memory="2000Mi")) for index in range(24)]
    views = simulated(*pods, on=world)
    assert [view.placement is not None for view in views] == [True] * placed + [False] * (24 - placed)
    assert reasons(views[-1]) == {"memory-claim": 1}
    assert views[-1].unschedulable is not None
    assert views[-1].unschedulable.reasons[0].message == f"{left} left for a claim per slot"


def test_fi_07_the_node_has_the_memory_but_no_single_card_must() -> None:
    """AliyunContainerService/gpushare-scheduler-extender#59, #140: the sum over two cards sufficed, neither card did.

    No card is chosen here, so a claim must fit on whichever card the kubelet picks: the two largest claims of a pool
    with two replicas have to fit on one card together.
    """
    config = configured(claims={"aboveSlot": "allow", "reserve": "0%"})
    card = t4_node("n", gpus=2, replicas=2)
    held = bound(pod("held", annotations=_own(gpu_memory="10Gi")), "n")
    cluster = cluster_of(card, held, config=config)
    assert refused(pod(annotations=_own(gpu_memory="6Gi")), cluster) == {"n": REASON_TEXT[Reason.MEMORY_CLAIM]}
    assert fitting(pod(annotations=_own(gpu_memory="5Gi")), cluster) == ["n"]
    assert REASON_TEXT[Reason.MEMORY_CLAIM] != REASON_TEXT[Reason.FREE_REPLICAS]


def test_fi_09_a_mig_request_is_no_request_for_a_whole_gpu() -> None:
    """kai-scheduler/KAI-Scheduler#1876: the request was counted twice."""
    tree = node("n", gpus=0, allocatable={"nvidia.com/mig-1g.5gb": "7"})
    asking = pod(resource="nvidia.com/mig-1g.5gb")
    assert fitting(asking, cluster_of(tree)) == ["n"]
    (view,) = simulated(asking, on=world_of(tree))
    assert view.placement is not None
    assert view.placement.resources == {"nvidia.com/mig-1g.5gb": 1}


@pytest.mark.parametrize("gpus", [None, 0, "0"])
def test_fi_11_pods_without_gpus_get_every_node_back(gpus: int | str | None) -> None:
    """volcano-sh/volcano#4481: every pod may be sent to the extender, those that ask for zero always are."""
    answer = filtered(pod(gpus=gpus), cluster_of(t4_node("a", gpus=0)), ["b", "a"])
    empty: dict[str, str] = {}
    assert answer == {
        "Nodes": None,
        "NodeNames": ["b", "a"],
        "FailedNodes": empty,
        "FailedAndUnresolvableNodes": empty,
        "Error": "",
    }


def _answer(call: Tree, cluster: Cluster) -> Tree:
    answer: Tree = json.loads(answer_filter(json.dumps(call).encode(), cluster))
    return answer


def test_fi_13_the_answer_is_in_the_field_of_the_question() -> None:
    """kubernetes/kubernetes#126425: which of the two fields arrives depends on nodeCacheCapable."""
    tree = t4_node("a")
    cluster = cluster_of(tree)
    by_name = _answer({"Pod": pod(), "Nodes": None, "NodeNames": ["a", "elsewhere"]}, cluster)
    assert (by_name["NodeNames"], by_name["Nodes"]) == (["a"], None)
    assert by_name["FailedAndUnresolvableNodes"] == {"elsewhere": "node is not known to gpusched yet"}

    by_object = _answer({"Pod": pod(), "Nodes": {"items": [tree]}, "NodeNames": None}, cluster)
    assert (by_object["NodeNames"], by_object["Nodes"]) == (None, {"items": [tree]})

    neither = _answer({"Pod": pod(), "Nodes": None, "NodeNames": None}, cluster)
    assert "neither NodeNames nor Nodes is set" in neither["Error"]


def test_fi_15_no_refusal_invites_preemption() -> None:
    """kubernetes/kubernetes#92866: refusals for now and refusals for good were mixed up.

    All are reported as unresolvable, since preemption for a shortage that only an extender knows never ends.
    """
    cluster = cluster_of(
        a100_node("ampere"), h100_node("full"), bound(pod("full", gpus=8), "full"), h100_node("small", gpus=1)
    )
    assert refused(pod(gpus=2, annotations=_own(families="hopper")), cluster) == {
        "ampere": REASON_TEXT[Reason.FAMILY],
        "full": REASON_TEXT[Reason.FREE_REPLICAS],
        "small": REASON_TEXT[Reason.FREE_REPLICAS],
    }


def test_fi_17_a_node_before_its_device_plugin() -> None:
    """bottlerocket-os/bottlerocket#4087, NVIDIA/k8s-device-plugin#1746, kubeflow/kubeflow#5275: labels come first."""
    labels = {"nvidia.com/gpu.present": "true", "nvidia.com/gpu.count": "1"}
    assert refused(pod(), cluster_of(node("n", gpus=None, labels=labels))) == {
        "n": REASON_TEXT[Reason.NO_RESOURCE],
    }
    assert fitting(pod(), cluster_of(node("n", gpus=1, labels=labels))) == ["n"]


@pytest.mark.parametrize("running", [3, 4])
def test_fi_19_a_lost_card_leaves_no_negative_room(running: int) -> None:
    """NVIDIA/k8s-device-plugin#231, kubernetes/kubernetes#97131: capacity stays at four, allocatable falls to three."""
    tree = t4_node("n", gpus=3, capacity={"nvidia.com/gpu": "4"}, labels={"nvidia.com/gpu.count": "4"})
    held = [bound(pod(f"held-{index}"), "n") for index in range(running)]
    cluster = cluster_of(tree, *held)
    assert cluster.nodes["n"].use("nvidia.com/gpu").used == running
    assert refused(pod(), cluster) == {"n": REASON_TEXT[Reason.FREE_REPLICAS]}
    (view,) = simulated(pod(), on=world_of(tree, *held))
    assert reasons(view) == {"native-resources": 1}


@pytest.mark.parametrize("replicas", [1, 4])
def test_fi_21_without_a_claim_memory_is_not_looked_at(replicas: int) -> None:
    """Project-HAMi/HAMi#1781, #1410: no memory request became a request for 101 per cent."""
    known = t4_node("known", replicas=replicas)
    nothing_known = node("unknown", gpus=replicas)
    cluster = cluster_of(known, nothing_known, config=Config())
    assert fitting(pod(), cluster) == ["known", "unknown"]
    assert refused(pod(gpus=5), cluster) == dict.fromkeys(("known", "unknown"), REASON_TEXT[Reason.FREE_REPLICAS])
