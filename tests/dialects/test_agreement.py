import pytest

from tests.build import gfd_labels
from tests.dialects.surveys import facts_of, only_pool, survey

UNSHARED = gfd_labels(count=1)


def test_more_slots_than_the_labels_tell_of() -> None:
    pool = only_pool(survey(UNSHARED, 4))
    assert facts_of(pool) == ("turing", None, None, None, None, None, None, None)
    assert pool.cuda_version == 12040
    lost = "product, memory, sharing and replicas are unknown until they agree"
    assert pool.notes == (f"4 slots are offered, gfd labels tell of 1 × 1: {lost}",)


@pytest.mark.parametrize("slots", [1, 3, 7])
def test_fewer_or_odd_slots(slots: int) -> None:
    pool = only_pool(survey(gfd_labels("Tesla-T4-SHARED", count=2, replicas=4), slots))
    assert facts_of(pool) == ("turing", None, None, None, None, None, None, None)


def test_a_failed_gpu_is_no_disagreement() -> None:
    pool = only_pool(survey(gfd_labels(count=4), 3, capacity={"nvidia.com/gpu": 4}))
    assert facts_of(pool) == ("turing", "t4", "none", 1, 3, 15360, 15360, 15360)


def test_half_a_device_is_a_device() -> None:
    labels = gfd_labels("Tesla-T4-SHARED", count=2, replicas=4)
    assert only_pool(survey(labels, 5, capacity={"nvidia.com/gpu": 8})).devices == 2


def test_no_slots_yet_is_no_disagreement() -> None:
    pool = only_pool(survey(gfd_labels(count=4), 0))
    assert (pool.slots, pool.product, pool.devices) == (0, "t4", 0)


def test_mig_is_left_aside() -> None:
    labels = gfd_labels("NVIDIA-A100-SXM4-40GB", count=2, memory=40960, compute=(8, 0), family="ampere")
    node = survey(labels, {"nvidia.com/gpu": 1, "nvidia.com/mig-1g.5gb": 7})
    assert facts_of(node.pools[0]) == ("ampere", "a100-sxm4-40gb", "none", 1, 1, 40960, 40960, 40960)


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        (
            "sharing=time-slicing, replicas=4, gpu-memory=15360Mi",
            ("turing", "t4", "time-slicing", 4, 1, 15360, 15360, 3840),
        ),
        ("product=t4, gpu-memory=15360Mi", ("turing", "t4", None, None, None, 15360, None, None)),
        ("sharing=none", ("turing", None, "none", 1, 4, None, None, None)),
    ],
)
def test_the_administrator_settles_it(facts: str, expected: tuple[object, ...]) -> None:
    assert facts_of(only_pool(survey(UNSHARED, 4, facts=facts))) == expected


_P4D = {"node.kubernetes.io/instance-type": "p4d.24xlarge", "eks.amazonaws.com/nodegroup": "gpu"}
_FACTS = "gpusched.io/facts"
_DEVICES = "slots are offered, instance-type labels tell of 8 devices"


@pytest.mark.parametrize(
    ("slots", "facts", "note"),
    [
        (
            8,
            "sharing=time-slicing, replicas=4, gpu-memory=15360Mi",
            f"8 {_DEVICES}, {_FACTS} of replicas 4: {_FACTS} holds",
        ),
        (16, "sharing=none", f"16 {_DEVICES}, {_FACTS} of replicas 1: {_FACTS} holds"),
        (
            8,
            "replicas=4",
            f"8 {_DEVICES}, gpusched.io/facts of replicas 4: sharing is unknown until they agree",
        ),
        (
            16,
            "sharing=time-slicing",
            f"16 {_DEVICES} and nothing tells of replicas: replicas is unknown until they agree",
        ),
    ],
)
def test_what_the_administrator_says_is_not_called_unknown(slots: int, facts: str, note: str) -> None:
    pool = only_pool(survey(_P4D, slots, facts=facts))
    assert [said for said in pool.notes if "offered" in said] == [note]


def test_a_node_whose_labels_and_facts_name_half_of_what_is_in_doubt() -> None:
    pool = only_pool(survey(UNSHARED, 4, facts="product=t4"))
    told = "4 slots are offered, gfd labels tell of 1 × 1"
    assert pool.notes[0] == f"{told}: memory, sharing and replicas are unknown until they agree"


def test_a_cloud_that_counts_proves_that_nothing_is_shared() -> None:
    labels = {
        "karpenter.k8s.aws/instance-gpu-name": "t4",
        "karpenter.k8s.aws/instance-gpu-count": "4",
        "karpenter.k8s.aws/instance-gpu-memory": "16384",
    }
    assert facts_of(only_pool(survey(labels, 4))) == ("turing", "t4", "none", 1, 4, 16384, 16384, 16384)
    # The card stays what it is; only how it is divided is not known.
    assert facts_of(only_pool(survey(labels, 16))) == ("turing", "t4", None, None, None, 16384, None, None)
