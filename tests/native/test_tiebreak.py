import pytest

from gpusched.core.node import NodeObject
from gpusched.native.ledger import NativeLedger
from gpusched.native.tiebreak import least_allocated
from tests.native.records import make_pod


@pytest.mark.parametrize(
    ("used", "requests", "expected"),
    [
        ({}, {}, 100),
        ({"cpu": 500}, {"cpu": 500}, 50),
        ({}, {"cpu": 1000, "memory": 100}, 25),
        ({"cpu": 2000, "memory": 200}, {}, 0),
        ({"cpu": 9000}, {}, 50),
        ({"nvidia.com/gpu": 1}, {}, 100),
    ],
)
def test_mean_of_what_is_left_of_cpu_and_memory(used: dict[str, int], requests: dict[str, int], expected: int) -> None:
    ledger = NativeLedger([NodeObject("n1", allocatable={"pods": 5, "cpu": 1000, "memory": 200})])
    ledger.add(make_pod(), used, "n1")

    assert least_allocated(ledger.node("n1"), requests) == expected


@pytest.mark.parametrize(("allocatable", "expected"), [({}, 0), ({"cpu": 1000}, 75)])
def test_resources_the_node_does_not_offer_do_not_count(allocatable: dict[str, int], expected: int) -> None:
    node = NativeLedger([NodeObject("n1", allocatable=allocatable)]).node("n1")

    assert least_allocated(node, {"cpu": 250, "memory": 1}) == expected
