import msgspec
import pytest

from gpusched.core.constraints import Constraints, MemoryBound
from gpusched.core.fingerprint import fingerprint
from gpusched.core.pool import Sharing
from gpusched.core.selector import Operator, Requirement

FULL = Constraints(
    families=("hopper", "ampere"),
    products=(("a100", "h100"), ("h100",)),
    min_memory=MemoryBound(20480, "20Gi"),
    max_memory=MemoryBound(81920, "80Gi"),
    sharing=frozenset({Sharing.NONE, Sharing.MIG}),
    min_cuda=12040,
    min_driver=550054000,
    node_selector=(Requirement("a", Operator.IN, ("x", "y")), Requirement("b", Operator.EXISTS)),
)


def test_is_short_and_stable() -> None:
    assert fingerprint(Constraints()) == fingerprint(Constraints())
    assert fingerprint(FULL) == "1d33ebfc0872"


def test_order_and_wording_do_not_count() -> None:
    same = Constraints(
        families=("ampere", "hopper"),
        products=(("h100",), ("h100", "a100")),
        min_memory=MemoryBound(20480, "20480Mi"),
        max_memory=MemoryBound(81920, "81920Mi"),
        sharing=frozenset({Sharing.MIG, Sharing.NONE}),
        min_cuda=12040,
        min_driver=550054000,
        node_selector=(Requirement("b", Operator.EXISTS), Requirement("a", Operator.IN, ("y", "x"))),
    )

    assert fingerprint(same) == fingerprint(FULL)


@pytest.mark.parametrize(
    "change",
    [
        {"families": ("hopper",)},
        {"families": None},
        {"families": ()},
        {"products": ()},
        {"min_memory": None},
        {"max_memory": MemoryBound(81921, "80Gi")},
        {"sharing": frozenset({Sharing.NONE})},
        {"sharing": None},
        {"min_cuda": 12050},
        {"min_driver": None},
        {"node_selector": FULL.node_selector[:1]},
    ],
)
def test_every_rule_counts(change: dict[str, object]) -> None:
    assert fingerprint(msgspec.structs.replace(FULL, **change)) != fingerprint(FULL)
