"""Amounts of GPU memory as people write them: bounds with nominal tolerance, claims and quotas exact."""

import re
from fractions import Fraction
from math import ceil, floor
from typing import Final

from gpusched.core.catalogue import NOMINAL_GIB
from gpusched.core.constraints import MemoryBound
from gpusched.core.quantity import format_mib
from gpusched.policy.malformed import Malformed, quoted

_MIB: Final = 2**20
#: Suffixes of Kubernetes quantities that make sense for memory; `m`, `u` and `n` are fractions of a byte.
_UNITS: Final[dict[str, int]] = {
    **{suffix: 1000**power for power, suffix in enumerate(("k", "M", "G", "T", "P"), start=1)},
    **{suffix: 1024**power for power, suffix in enumerate(("Ki", "Mi", "Gi", "Ti", "Pi"), start=1)},
}
#: What people write for those units; `m` is what becomes of mebibytes in a hurry.
_MEANT: Final[dict[str, str]] = {
    "": "",
    "b": "",
    "m": "Mi",
    **{unit.lower(): unit for unit in _UNITS if unit != "M"},
    **{unit.lower() + "b": unit for unit in _UNITS},
}
#: Digits are bounded so that no later step meets a number too long to print.
_AMOUNT: Final = re.compile(r"([0-9]{1,18}(?:\.[0-9]{1,9})?)([kMGTP]i?|Ki)")
_ALMOST: Final = re.compile(r"([+-]?)([0-9]{1,18}(?:[.,][0-9]{1,9})?)\s*([A-Za-z]*)")


def parse_amount(text: str) -> int | Malformed:
    """An exact amount of at least one byte, in MiB rounded up."""
    amount = _positive(text)
    return amount if isinstance(amount, Malformed) else _ceiling(amount)


def parse_total(text: str) -> int | Malformed:
    """An exact amount that may be zero, in MiB rounded down: a limit is never exceeded by rounding."""
    amount = _bytes(text)
    return amount if isinstance(amount, Malformed) else _floor(amount)


def parse_minimum(text: str) -> MemoryBound | Malformed:
    """A lower bound on visible memory: 8 % below a nominal size, else exact and rounded up to MiB."""
    amount = _positive(text)
    if isinstance(amount, Malformed):
        return amount
    nominal = _nominal_gib(text)
    return MemoryBound(_ceiling(amount) if nominal is None else -(-nominal * 1024 * 92 // 100), text.strip())


def parse_maximum(text: str) -> MemoryBound | Malformed:
    """An upper bound on visible memory: 8 % above a nominal size, else exact and rounded down to MiB."""
    amount = _positive(text)
    if isinstance(amount, Malformed):
        return amount
    nominal = _nominal_gib(text)
    return MemoryBound(_floor(amount) if nominal is None else nominal * 1024 * 108 // 100, text.strip())


def _nominal_gib(text: str) -> int | None:
    """The nominal size that the text names, in GiB.

    Vendors say GB and mean GiB, and drivers keep a part: an "80 GB" H100 reports 81,559 MiB, a "16 GB" T4 15,109.
    So G and Gi name the same card.
    """
    match = _AMOUNT.fullmatch(text.strip())
    if match is None or match[2] not in {"G", "Gi"}:
        return None
    number = Fraction(match[1])
    size = int(number)
    return size if size == number and size in NOMINAL_GIB else None


def _positive(text: str) -> Fraction | Malformed:
    amount = _bytes(text)
    match = _ALMOST.fullmatch(text.strip())
    if match is not None and not Fraction(match[2].replace(",", ".")):
        return Malformed(f"{quoted(text)} is no memory at all; write an amount such as 6Gi, or leave the key out")
    return amount


def _bytes(text: str) -> Fraction | Malformed:
    match = _AMOUNT.fullmatch(text.strip())
    if match is None or match[2] not in _UNITS:
        return _explain(text)
    return Fraction(match[1]) * _UNITS[match[2]]


def _ceiling(amount: Fraction) -> int:
    return ceil(amount / _MIB)


def _floor(amount: Fraction) -> int:
    return floor(amount / _MIB)


def _explain(text: str) -> Malformed:
    """Say what is wrong with an amount and how to spell what was probably meant."""
    match = _ALMOST.fullmatch(text.strip())
    if match is None:
        return Malformed(f"{quoted(text)} is no amount of memory; write a number with its unit, such as 20Gi")
    sign, number, unit = match[1], match[2].replace(",", "."), match[3]
    right = _spelling(number, unit)
    if right is None:
        return Malformed(f"{quoted(text)} has an unknown unit; write for example {number}Gi")
    if sign == "-":
        return Malformed(f"{quoted(text)} is negative; write {right}")
    if not unit:
        return Malformed(f"{quoted(text)} has no unit; write {right}")
    if unit == "m":
        return Malformed(f"{quoted(text)} means thousandths of a byte; write {right}")
    return Malformed(f"{quoted(text)} is not how Kubernetes writes memory; write {right}")


def _spelling(number: str, unit: str) -> str | None:
    meant = unit if unit in _UNITS else _MEANT.get(unit.lower())
    if meant is None:
        return None
    if meant:
        return number + meant
    size = Fraction(number)
    # Nobody has a GPU of 1,000 GiB or means 999 MiB by "999"; a million MiB would be a terabyte, so those are bytes.
    if size < 1000:
        return f"{number}Gi"
    return f"{number}Mi" if size < 1_000_000 else format_mib(_ceiling(size))
