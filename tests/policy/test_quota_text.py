import pytest

from gpusched.policy.malformed import Malformed
from gpusched.policy.model import Quota
from gpusched.policy.quota_text import format_quota, parse_quota


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("hopper=4, ampere=8, *=16", Quota((("hopper", 4), ("ampere", 8)), 16)),
        ("*=0", Quota((), 0)),
        (" Ada = 2", Quota((("ada-lovelace", 2),))),
    ],
)
def test_parsed(text: str, expected: Quota) -> None:
    assert parse_quota(text) == expected
    assert parse_quota(format_quota(expected)) == expected


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("16", '"16" names no family; write *=16 for all families together'),
        ("hopper", '"hopper" needs a whole number of slots; write for example hopper=4'),
        ("hopper:4", '"hopper:4" has no equals sign between family and number; write hopper=4'),
        ("Ada 2", '"Ada 2" has no equals sign between family and number; write ada-lovelace=2'),
        ("*: 16", '"*: 16" has no equals sign between family and number; write *=16'),
        ("h100=2", '"h100" is no GPU family; write hopper'),
        ("hopper=4;*=8", '"hopper=4;*=8" is not separated by commas; write hopper=4, *=8'),
        ("hopper=-1", '"hopper=-1" needs a whole number of slots; write for example hopper=4'),
        ("hoper=1", '"hoper" is no GPU family; write hopper'),
        (
            "ada=1,ada-lovelace=2",
            '"ada=1,ada-lovelace=2" names ada-lovelace twice; write it once, such as ada-lovelace=2',
        ),
        ("", '"" names no family; write for example hopper=4, or leave the key out'),
    ],
)
def test_malformed(text: str, sentence: str) -> None:
    assert parse_quota(text) == Malformed(sentence)
