"""Durations and percentages as text in the configuration."""

import re
from fractions import Fraction
from typing import Final

from gpusched.policy.malformed import Malformed, quoted

#: Nanoseconds per unit, as Go's time.ParseDuration knows them.
_UNITS: Final[dict[str, int]] = {
    "ns": 1,
    "us": 1000,
    "µs": 1000,
    "μs": 1000,
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "m": 60_000_000_000,
    "h": 3_600_000_000_000,
}
_PART: Final = re.compile(r"([0-9]{1,12}(?:\.[0-9]{0,9})?|\.[0-9]{1,9})(ns|us|µs|μs|ms|s|m|h)")
_WHOLE: Final = re.compile(rf"(?:{_PART.pattern})+")
_PERCENT: Final = re.compile(r"([0-9]{1,3}(?:\.[0-9]{1,2})?)\s*%")
_NUMBER: Final = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,9})?")


def parse_duration_ms(text: str) -> int | Malformed:
    """A Go duration such as `300ms`, `1.5s` or `1h30m`, in milliseconds: whole ones, and more than zero."""
    word = text.strip()
    if _WHOLE.fullmatch(word) is None:
        right = f"write {word}s" if _NUMBER.fullmatch(word) else "write for example 1s, 300ms or 10m"
        return Malformed(f"{quoted(text)} is no duration; {right}")
    parts = (Fraction(match[1]) * _UNITS[match[2]] for match in _PART.finditer(word))
    total = sum(parts, Fraction()) / 1_000_000
    if not total or total.denominator != 1:
        return Malformed(f"{quoted(text)} is no positive number of whole milliseconds; write for example 1s or 300ms")
    return int(total)


def parse_duration_s(text: str) -> int | Malformed:
    """A Go duration in seconds: whole ones, and more than zero."""
    amount = parse_duration_ms(text)
    if isinstance(amount, int) and amount % 1000:
        return Malformed(f"{quoted(text)} is no whole number of seconds; write for example {-(-amount // 1000)}s")
    return amount // 1000 if isinstance(amount, int) else amount


def parse_percent(text: str) -> int | Malformed:
    """A share from `0%` to `100%` in hundredths of a percent."""
    word = text.strip()
    match = _PERCENT.fullmatch(word)
    if match is None:
        right = f"write {_as_percent(word)}" if _NUMBER.fullmatch(word) else "write for example 5%"
        return Malformed(f"{quoted(text)} is no percentage; {right}")
    hundredths = int(Fraction(match[1]) * 100)
    if hundredths > 10_000:
        return Malformed(f"{quoted(text)} is more than everything; write at most 100%")
    return hundredths


def _as_percent(number: str) -> str:
    """A bare number as it was meant: 5 as `5%`, and 0.05, which is a share, too."""
    share = Fraction(number)
    return f"{float(share * 100):g}%" if 0 < share < 1 else f"{number}%"
