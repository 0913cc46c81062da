import pytest

from gpusched.policy.compatible_products import compatible


@pytest.mark.parametrize(
    ("sides", "expected"),
    [
        ([("a100",), ("h100",)], False),
        ([("a10",), ("a100",)], False),
        ([("h20",), ("h200",)], False),
        ([("a100",), ("a100-80gb",)], True),
        ([("a100-40gb",), ("a100-80gb",)], False),
        ([("a100-sxm4",), ("a100-80gb",)], True),
        ([("a100-sxm4",), ("a100-pcie",)], False),
        ([("h100-nvl",), ("h100-pcie",)], False),
        ([("h100-hbm3",), ("h100-80gb",)], True),
        ([("a100", "h100"), ("h100", "t4")], True),
        ([("a100", "h100"), ("h100", "t4"), ("t4", "a100")], False),
        ([("z9000",), ("z9000-96gb",)], True),
    ],
)
def test_compatible(sides: list[tuple[str, ...]], expected: bool) -> None:
    assert compatible(sides) is expected
    assert compatible(sides[::-1]) is expected


def test_a_present_product_settles_it() -> None:
    sides = [("z9000",), ("96gb",)]

    assert not compatible(sides)
    assert compatible(sides, {"z9000-sxm9-96gb"})
