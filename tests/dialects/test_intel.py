import pytest

from tests.dialects.surveys import facts_of, only_pool, survey

FLEX = {"gpu.intel.com/product": "Flex_170", "gpu.intel.com/family": "Flex_Series", "gpu.intel.com/device.count": "2"}


@pytest.mark.parametrize(
    ("labels", "slots", "expected"),
    [
        pytest.param(
            FLEX, {"gpu.intel.com/i915": 2}, ("flex", "flex-170", "none", 1, 2, 16384, 16384, 16384), id="unshared"
        ),
        pytest.param(
            FLEX,
            {"gpu.intel.com/xe": 4},
            ("flex", "flex-170", "time-slicing", 2, 2, 16384, 16384, 8192),
            id="shared-dev-num",
        ),
        pytest.param(
            FLEX, {"gpu.intel.com/i915": 3}, ("flex", "flex-170", None, None, None, 16384, None, None), id="odd"
        ),
        pytest.param(
            {"gpu.intel.com/memory.max": str(2 * 12 * 2**30), "gpu.intel.com/millicores": "2000"},
            {"gpu.intel.com/i915": 2},
            (None, None, "none", 1, 2, 12288, 12288, 12288),
            id="fractional-mode-sums-bytes",
        ),
        pytest.param(
            {"gpu.intel.com/family": "Max_Series"},
            {"gpu.intel.com/i915": 1},
            ("max", None, None, None, None, None, None, None),
            id="family-only",
        ),
    ],
)
def test_intel(labels: dict[str, str], slots: dict[str, int], expected: tuple[object, ...]) -> None:
    assert facts_of(only_pool(survey(labels, slots))) == expected


def test_a_node_of_both_drivers_tells_no_replicas() -> None:
    node = survey(FLEX, {"gpu.intel.com/i915": 1, "gpu.intel.com/xe": 1, "gpu.intel.com/xe_monitoring": 1})
    assert [(pool.resource, pool.sharing, pool.replicas) for pool in node.pools] == [
        ("gpu.intel.com/i915", None, None),
        ("gpu.intel.com/xe", None, None),
    ]
