import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusched.core.codes import Reason
from gpusched.core.node import NodeObject
from gpusched.native.ledger import NativeLedger
from gpusched.native.resources import fit_reason, missing
from tests.native.records import make_pod

GPU = "nvidia.com/gpu"
ALLOCATABLE = {"pods": 2, "cpu": 4000, "memory": 100, "ephemeral-storage": 50, "hugepages-2Mi": 20, GPU: 2}


def ledger_with(used: dict[str, int]) -> NativeLedger:
    ledger = NativeLedger([NodeObject("n1", allocatable=ALLOCATABLE)])
    ledger.add(make_pod("old"), used, "n1")
    return ledger


@pytest.mark.parametrize(
    ("used", "requests", "expected"),
    [
        ({}, {}, []),
        ({"cpu": 1000}, {"cpu": 3000}, []),
        ({"cpu": 1000}, {"cpu": 3001}, ["cpu"]),
        ({"memory": 60}, {"memory": 41, "cpu": 1}, ["memory"]),
        ({"ephemeral-storage": 50}, {"ephemeral-storage": 1}, ["ephemeral-storage"]),
        ({"hugepages-2Mi": 2}, {"hugepages-2Mi": 19}, ["hugepages-2Mi"]),
        ({GPU: 1}, {GPU: 1}, []),
        ({GPU: 1}, {GPU: 2, "cpu": 5000}, ["cpu", GPU]),
        ({}, {"amd.com/gpu": 1}, ["amd.com/gpu"]),
        ({}, {"amd.com/gpu": 0}, []),
        ({"cpu": 9000}, {"cpu": 0, "memory": 1}, []),
        ({"cpu": 9000}, {"memory": 1}, []),
        ({"cpu": 9000}, {"cpu": 1}, ["cpu"]),
    ],
)
def test_each_positive_request_must_be_free(
    used: dict[str, int], requests: dict[str, int], expected: list[str]
) -> None:
    node = ledger_with(used).node("n1")

    assert missing(requests, node) == expected
    assert fit_reason(requests, node) == (Reason.NATIVE_RESOURCES if expected else None)


def test_one_more_pod_must_fit() -> None:
    ledger = ledger_with({})
    ledger.add(make_pod("second"), {}, "n1")

    assert missing({}, ledger.node("n1")) == ["pods"]
    assert fit_reason({}, ledger.node("n1")) is Reason.NATIVE_RESOURCES


def test_node_without_pods_in_allocatable_takes_none() -> None:
    node = NativeLedger([NodeObject("n1", allocatable={"cpu": 1})]).node("n1")

    assert fit_reason({}, node) is Reason.NATIVE_RESOURCES


def test_skipped_resources_are_not_judged() -> None:
    node = ledger_with({}).node("n1")
    requests = {"amd.com/gpu": 4, "cpu": 1}

    assert fit_reason(requests, node, skip=frozenset({"amd.com/gpu"})) is None
    assert missing(requests | {"cpu": 5000}, node, skip=frozenset({"amd.com/gpu"})) == ["cpu"]


REQUESTS = st.dictionaries(st.sampled_from(["cpu", "memory", GPU, "amd.com/gpu"]), st.integers(0, 5), max_size=4)


@given(st.lists(REQUESTS, max_size=6), REQUESTS)
def test_another_bound_pod_never_makes_room(bound: list[dict[str, int]], requests: dict[str, int]) -> None:
    ledger = NativeLedger([NodeObject("n1", allocatable={"pods": 5, "cpu": 9, "memory": 9, GPU: 4})])
    node, refused = ledger.node("n1"), False
    for number, used in enumerate(bound):
        now = fit_reason(requests, node) is not None
        assert now or not refused
        refused = now
        ledger.add(make_pod(f"p{number}"), used, "n1")
