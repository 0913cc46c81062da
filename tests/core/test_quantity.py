"""Quantities against the official Python parser where both agree with Go, and by hand where the Python one does not."""

from collections.abc import Callable
from decimal import Decimal
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusched.core import quantity


def _official_parser() -> Callable[[str], Decimal]:
    # The package's own import builds every API model (seconds); the parser is one file that imports none of them.
    package = find_spec("kubernetes")
    assert package is not None
    assert package.origin is not None
    path = Path(package.origin).parent / "utils" / "quantity.py"
    spec = spec_from_file_location("official_quantity", path)
    assert spec is not None
    assert spec.loader is not None
    module: Any = module_from_spec(spec)
    spec.loader.exec_module(module)
    parser: Callable[[str], Decimal] = module.parse_quantity
    return parser


OFFICIAL = _official_parser()

numbers = st.from_regex(r"[+-]?([0-9]{1,9}(\.[0-9]{0,6})?|\.[0-9]{1,6})", fullmatch=True)
suffixes = st.sampled_from(
    ["", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "e3", "e-2", "E+6"]
)


@given(numbers, suffixes)
def test_agrees_with_the_official_parser(number: str, suffix: str) -> None:
    expected = OFFICIAL(number + suffix)

    parsed = quantity.parse(number + suffix)

    assert parsed is not None
    # Six decimals of a milli-unit are exactly a nano: rounding up to it is all that may differ.
    assert abs(parsed) - abs(expected) < Decimal("1e-9")
    assert abs(parsed) >= abs(expected)


# Texts begin with a digit, because Go reads a number without any as zero, which Python does not.
@given(st.from_regex(r"[+-]?\.?[0-9][0-9.+eEinumkKMGTP _x-]{0,6}", fullmatch=True))
def test_accepts_nothing_that_the_official_parser_refuses(text: str) -> None:
    assert quantity.parse(text) is None or OFFICIAL(text.strip(" ")) is not None


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("0", 0),
        ("1", 1),
        ("+1", 1),
        ("-1", -1),
        ("1.0", 1),
        (".5", Decimal("0.5")),
        ("5.", 5),
        ("0.5", Decimal("0.5")),
        ("500m", Decimal("0.5")),
        ("1000m", 1),
        ("100n", Decimal("1e-7")),
        ("3u", Decimal("3e-6")),
        ("1e0", 1),
        ("1E0", 1),
        ("1k", 1000),
        ("1E", 10**18),
        ("1Ei", 2**60),
        ("1E2", 100),
        ("2e-1", Decimal("0.2")),
        ("1.5Gi", 3 * 2**29),
        (" 1", 1),
        ("1 ", 1),
        ("\u00a01", 1),
        ("99999999999999999999", 99999999999999999999),
        ("9Ei", 9 * 2**60),
        ("0.1n", Decimal("1e-9")),
        ("-0.1n", Decimal("-1e-9")),
        ("000.000", 0),
        # Go accepts a suffix, a sign or a point alone as zero where it takes its integer path.
        ("k", 0),
        ("Ki", 0),
        ("+", 0),
        (".", 0),
        # Go cuts a 64-bit exponent to 32 bits.
        ("1e4294967296", 1),
    ],
)
def test_reads_what_kubernetes_reads(text: str, amount: Decimal | int) -> None:
    assert quantity.parse(text) == amount


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "abc",
        "1K",
        "1ki",
        "1mi",
        "1KB",
        "20GB",
        "20gi",
        "1 Gi",
        "1,5",
        "1.2.3",
        "0x10",
        "1_000",
        "1e",
        "1e+",
        "1ee3",
        "1e3m",
        "1Mim",
        "--1",
        "\t1",
        "1\n",
        "٣",
        "１",
        "Infinity",
        "NaN",
        "Ei",
        "1e99999999999999999999",
    ],
)
def test_refuses_what_kubernetes_refuses(text: str) -> None:
    assert quantity.parse(text) is None
    assert quantity.whole(text) is None
    assert quantity.milli(text) is None
    assert quantity.mib(text) is None


@pytest.mark.parametrize("text", ["1e999999999", "9" * 10_000, "1" + "0" * 100_000 + "Ei", "5e2147483647"])
def test_amounts_beyond_any_cluster_are_cut(text: str) -> None:
    assert quantity.whole(text) == 10**40


@pytest.mark.parametrize("text", ["1e-999999999", "0." + "0" * 10_000 + "1", "1e-2147483648"])
def test_amounts_below_a_nano_are_a_nano(text: str) -> None:
    assert quantity.parse(text) == Decimal("1e-9")
    assert quantity.whole(text) == 1


@pytest.mark.parametrize(
    ("text", "whole", "milli", "mib"),
    [
        ("1", 1, 1000, 1),
        ("500m", 1, 500, 1),
        ("0.0001", 1, 1, 1),
        ("1.1", 2, 1100, 1),
        ("-0.5", -1, -500, 0),
        ("6Gi", 6 * 2**30, 6000 * 2**30, 6144),
        ("80G", 80 * 10**9, 80 * 10**12, 76294),
        ("0", 0, 0, 0),
    ],
)
def test_units_round_away_from_zero(text: str, whole: int, milli: int, mib: int) -> None:
    assert (quantity.whole(text), quantity.milli(text), quantity.mib(text)) == (whole, milli, mib)


@pytest.mark.parametrize(
    ("amount", "text"), [(6144, "6Gi"), (4800, "4800Mi"), (1024, "1Gi"), (0, "0Mi"), (1025, "1025Mi")]
)
def test_mib_is_written_shortest(amount: int, text: str) -> None:
    assert quantity.format_mib(amount) == text
    assert quantity.mib(text) == amount
