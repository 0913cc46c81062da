"""Quantities as Kubernetes reads them, kept exact.

Rule: apimachinery pkg/api/resource, ParseQuantity and Quantity.UnmarshalJSON.
"""

import re
from decimal import ROUND_UP, Context, Decimal
from functools import lru_cache
from typing import Final

# The API server cuts Unicode white space off the raw JSON string; tabs and newlines stand there as escapes and stay.
_BLANKS: Final = " \u0085\u00a0\u1680" + "".join(map(chr, range(0x2000, 0x200B))) + "\u202f\u205f\u3000"
_GRAMMAR: Final = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?([eEinumkKMGTP]*[+-]?[0-9]*)")
_DECIMAL: Final = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY: Final = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_EXPONENT: Final = re.compile(r"[eE]([+-]?[0-9]{1,19})")
_NANO: Final = Decimal("1e-9")
_MIB: Final = 2**20
#: No cluster has 10^40 of anything; larger amounts become this one, so that `1e999999999` costs nothing.
_LIMIT_DIGITS: Final = 40
_LIMIT: Final = Decimal(10) ** _LIMIT_DIGITS


@lru_cache(maxsize=8192)
def parse(text: str) -> Decimal | None:
    """The exact amount of a quantity such as `500m`, `1e3`, `.5` or `6Gi`; None when it is none.

    Amounts finer than 10^-9 are rounded away from zero, as Kubernetes does. Amounts beyond 64 bits stay exact up to
    10^40 and are cut there.
    """
    matched = _GRAMMAR.fullmatch(text.strip(_BLANKS))
    if matched is None or not matched[0]:
        return None
    sign, whole_digits, fraction, suffix = matched[1], matched[2], matched[3] or "", matched[4]
    scale = _scale(suffix)
    if scale is None:
        return None
    base, exponent = scale
    if not whole_digits and not fraction:
        return Decimal(0) if _zero_without_digits(base, exponent) else None
    amount = _amount(whole_digits.lstrip("0"), fraction, base, exponent)
    return -amount if sign == "-" and amount else amount


def whole(text: str) -> int | None:
    """The amount in whole units, fractions rounded away from zero (Quantity.Value); None when not a quantity."""
    return _scaled(text, Decimal(1))


def milli(text: str) -> int | None:
    """The amount in thousandths, rounded away from zero (Quantity.MilliValue); None when not a quantity."""
    return _scaled(text, Decimal("1e-3"))


def mib(text: str) -> int | None:
    """The amount of bytes in MiB, rounded up; None when not a quantity."""
    amount = whole(text)
    return None if amount is None else -(-amount // _MIB)


def format_mib(amount: int) -> str:
    """MiB as a quantity: `6Gi` where it divides, else `4800Mi`."""
    return f"{amount // 1024}Gi" if amount and amount % 1024 == 0 else f"{amount}Mi"


def round_mib(amount: int) -> str:
    """MiB for people: in Gi with one decimal, rounded down, from 1 Gi on."""
    return f"{amount * 10 // 1024 / 10:g}Gi" if amount >= 1024 else f"{amount}Mi"


def _scale(suffix: str) -> tuple[int, int] | None:
    if suffix in _DECIMAL:
        return 10, _DECIMAL[suffix]
    if suffix in _BINARY:
        return 2, _BINARY[suffix]
    matched = _EXPONENT.fullmatch(suffix)
    if matched is None:
        return None
    exponent = int(matched[1])
    if not -(2**63) <= exponent < 2**63:
        return None
    # Go converts the 64-bit exponent to 32 bits by cutting, without an error.
    return 10, (exponent + 2**31) % 2**32 - 2**31


def _zero_without_digits(base: int, exponent: int) -> bool:
    # ParseQuantity reads `k`, `+` and `.` as zero wherever it takes its integer path, and refuses them elsewhere.
    return exponent >= -9 if base == 10 else exponent <= 40


def _amount(whole_digits: str, fraction: str, base: int, exponent: int) -> Decimal:
    digits = (whole_digits + fraction).lstrip("0")
    if not digits:
        return Decimal(0)
    power = exponent if base == 10 else 0
    magnitude = len(digits) - len(fraction) + power
    if magnitude > _LIMIT_DIGITS:
        return _LIMIT
    if magnitude < -30:
        return _NANO
    amount = Decimal(f"{digits}e{power - len(fraction)}")
    context = Context(prec=len(digits) + 2 * _LIMIT_DIGITS, rounding=ROUND_UP)
    if base == 2:
        amount = context.multiply(amount, Decimal(2**exponent))
    return min(context.quantize(amount, _NANO), _LIMIT).normalize(context)


@lru_cache(maxsize=8192)
def _scaled(text: str, unit: Decimal) -> int | None:
    amount = parse(text)
    if amount is None:
        return None
    context = Context(prec=3 * _LIMIT_DIGITS, rounding=ROUND_UP)
    return int(context.divide(amount, unit).to_integral_value(ROUND_UP, context))
