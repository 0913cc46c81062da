"""What is joined reads as what would have been encoded."""

import msgspec
import pytest

from gpusched.wire.extender import ExtenderFilterResult, HostPriority
from gpusched.wire.name_lists import filter_result, priorities


@pytest.mark.parametrize("fits", [[], ["a"], ["a", "b.example", "c-1"]])
@pytest.mark.parametrize(
    "refused", [[], [(["x"], "GPU family not allowed")], [(["x", "y"], 'a "text"'), (["z"], "not enough")]]
)
def test_the_bytes_are_those_of_the_record(fits: list[str], refused: list[tuple[list[str], str]]) -> None:
    record = ExtenderFilterResult(
        node_names=fits, failed_and_unresolvable_nodes={name: text for names, text in refused for name in names}
    )
    assert filter_result(fits, refused) == msgspec.json.encode(record)


@pytest.mark.parametrize("by_score", [{}, {10: ["a"]}, {10: ["a", "b.example"], 0: ["c-1"]}])
def test_priorities_are_those_of_the_records(by_score: dict[int, list[str]]) -> None:
    records = [HostPriority(name, score) for score, names in by_score.items() for name in names]
    assert priorities(by_score) == msgspec.json.encode(records)
