"""YAML scalars as Kubernetes reads them: the rules of its YAML 1.1 parser, where they differ from PyYAML's.

Source: resolve.go of go.yaml.in/yaml/v2, which sigs.k8s.io/yaml and so kubectl use. Against PyYAML: `1e3`, `08` and
`0o17` are numbers, `y` and `n` are booleans, `12:30` and dates are text.
"""

import re
from math import isfinite
from typing import Final

Scalar = str | int | float | bool | None

_WORDS: Final[dict[str, Scalar]] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), float("inf")),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), float("-inf")),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), float("nan")),
}
_NUMERIC_START: Final = frozenset("+-.0123456789")
_DECIMAL: Final = re.compile(r"[-+]?(0|[1-9][0-9]*)")
_OCTAL: Final = re.compile(r"([-+]?)0[oO]?([0-7]+)")
_BASED: Final = re.compile(r"[-+]?0([xX][0-9a-fA-F]+|[bB][01]+)")
_FLOAT: Final = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_LARGEST_BASED: Final = 1 << 64
_LARGEST_EXACT: Final = float(1 << 63)


def plain(text: str) -> Scalar:
    """The value of an unquoted scalar. Numbers beyond every float stay text; whole floats become integers."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in _NUMERIC_START:
        return text
    digits = text.replace("_", "") if text[0] != "." else text
    integer = _integer(digits)
    number = _float(digits) if integer is None else integer
    return text if number is None else number


def whole(value: float) -> int | float:
    """A whole float as the integer that JSON makes of it on the way to the API server (`1.0` and `1e3`)."""
    return int(value) if value.is_integer() and abs(value) < _LARGEST_EXACT else value


def key_text(value: object) -> str:
    """The text that a number or boolean becomes as a key in JSON: `0x10` is "16", `yes` is "true"."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value)


def _integer(digits: str) -> int | None:
    if _DECIMAL.fullmatch(digits):
        # 309 digits are past every float: such a number stays text.
        return int(digits) if len(digits) < 309 else None
    if octal := _OCTAL.fullmatch(digits):
        return _bounded(octal[1] + octal[2], 8)
    if _BASED.fullmatch(digits):
        return _bounded(digits, 0)
    return None


def _bounded(digits: str, base: int) -> int | None:
    value = int(digits, base)
    return value if abs(value) < _LARGEST_BASED else None


def _float(digits: str) -> int | float | None:
    if not _FLOAT.fullmatch(digits):
        return None
    value = float(digits)
    return whole(value) if isfinite(value) else None
