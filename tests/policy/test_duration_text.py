from collections.abc import Callable

import pytest

from gpusched.policy.duration_text import parse_duration_ms, parse_duration_s, parse_percent
from gpusched.policy.malformed import Malformed


@pytest.mark.parametrize(
    ("parse", "text", "expected"),
    [
        (parse_duration_ms, "1s", 1000),
        (parse_duration_ms, "300ms", 300),
        (parse_duration_ms, "1.5s", 1500),
        (parse_duration_ms, "1h30m", 5_400_000),
        (parse_duration_ms, "1000us", 1),
        (parse_duration_s, "10m", 600),
        (parse_duration_s, "1000ms", 1),
        (parse_percent, "5%", 500),
        (parse_percent, "0.5 %", 50),
        (parse_percent, "0%", 0),
        (parse_percent, "100%", 10_000),
    ],
)
def test_parsed(parse: Callable[[str], object], text: str, expected: int) -> None:
    assert parse(text) == expected


@pytest.mark.parametrize(
    ("parse", "text", "sentence"),
    [
        (parse_duration_ms, "1", '"1" is no duration; write 1s'),
        (parse_duration_ms, "", '"" is no duration; write for example 1s, 300ms or 10m'),
        (parse_duration_ms, "-1s", '"-1s" is no duration; write for example 1s, 300ms or 10m'),
        (parse_duration_ms, "1d", '"1d" is no duration; write for example 1s, 300ms or 10m'),
        (parse_duration_ms, "0s", '"0s" is no positive number of whole milliseconds; write for example 1s or 300ms'),
        (parse_duration_ms, "1ns", '"1ns" is no positive number of whole milliseconds; write for example 1s or 300ms'),
        (parse_duration_s, "1200ms", '"1200ms" is no whole number of seconds; write for example 2s'),
        (parse_percent, "5", '"5" is no percentage; write 5%'),
        (parse_percent, "0.05", '"0.05" is no percentage; write 5%'),
        (parse_percent, "0.125", '"0.125" is no percentage; write 12.5%'),
        (parse_percent, "101%", '"101%" is more than everything; write at most 100%'),
        (parse_percent, "-1%", '"-1%" is no percentage; write for example 5%'),
    ],
)
def test_malformed(parse: Callable[[str], object], text: str, sentence: str) -> None:
    assert parse(text) == Malformed(sentence)
