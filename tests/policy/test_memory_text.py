import pytest

from gpusched.core.constraints import MemoryBound
from gpusched.policy.malformed import Malformed
from gpusched.policy.memory_text import parse_amount, parse_maximum, parse_minimum, parse_total


@pytest.mark.parametrize(
    ("text", "lowest", "highest"),
    [
        ("80G", 75367, 88473),
        ("80Gi", 75367, 88473),
        ("16Gi", 15074, 17694),
        ("16.0G", 15074, 17694),
        ("20480Mi", 20480, 20480),
        ("13Gi", 13312, 13312),
        ("13G", 12398, 12397),
        ("0.5Gi", 512, 512),
        ("1.5Gi", 1536, 1536),
        ("1Ti", 1048576, 1048576),
        (" 81920Mi ", 81920, 81920),
    ],
)
def test_bounds(text: str, lowest: int, highest: int) -> None:
    assert parse_minimum(text) == MemoryBound(lowest, text.strip())
    assert parse_maximum(text) == MemoryBound(highest, text.strip())


@pytest.mark.parametrize(("nominal", "reported"), [("80G", 81559), ("16G", 15109), ("141Gi", 143771), ("24G", 23034)])
def test_a_nominal_size_takes_the_card_of_that_name(nominal: str, reported: int) -> None:
    low, high = parse_minimum(nominal), parse_maximum(nominal)

    assert isinstance(low, MemoryBound)
    assert isinstance(high, MemoryBound)
    assert low.mib <= reported <= high.mib


@pytest.mark.parametrize(("text", "mib"), [("6Gi", 6144), ("6G", 5723), ("4800Mi", 4800), ("1k", 1), ("80G", 76294)])
def test_a_claim_is_exact_and_rounded_up(text: str, mib: int) -> None:
    assert parse_amount(text) == mib


@pytest.mark.parametrize(("text", "mib"), [("320Gi", 327680), ("0Gi", 0), ("1G", 953)])
def test_a_total_is_exact_and_rounded_down(text: str, mib: int) -> None:
    assert parse_total(text) == mib


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("20", '"20" has no unit; write 20Gi'),
        ("2000", '"2000" has no unit; write 2000Mi'),
        ("21474836480", '"21474836480" has no unit; write 20Gi'),
        ("20GB", '"20GB" is not how Kubernetes writes memory; write 20G'),
        ("20GiB", '"20GiB" is not how Kubernetes writes memory; write 20Gi'),
        ("20gi", '"20gi" is not how Kubernetes writes memory; write 20Gi'),
        ("20 Gi", '"20 Gi" is not how Kubernetes writes memory; write 20Gi'),
        ("500m", '"500m" means thousandths of a byte; write 500Mi'),
        ("500MB", '"500MB" is not how Kubernetes writes memory; write 500M'),
        ("0,5", '"0,5" has no unit; write 0.5Gi'),
        ("0,5Gi", '"0,5Gi" is not how Kubernetes writes memory; write 0.5Gi'),
        ("-20Gi", '"-20Gi" is negative; write 20Gi'),
        ("-0.1", '"-0.1" is negative; write 0.1Gi'),
        ("20Xi", '"20Xi" has an unknown unit; write for example 20Gi'),
        ("NaN", '"NaN" is no amount of memory; write a number with its unit, such as 20Gi'),
        ("Inf", '"Inf" is no amount of memory; write a number with its unit, such as 20Gi'),
        ("1e3", '"1e3" is no amount of memory; write a number with its unit, such as 20Gi'),
        ("٢Gi", '"٢Gi" is no amount of memory; write a number with its unit, such as 20Gi'),
        ("", '"" is no amount of memory; write a number with its unit, such as 20Gi'),
    ],
)
def test_refused_with_the_right_spelling(text: str, sentence: str) -> None:
    expected = Malformed(sentence)

    assert parse_minimum(text) == expected
    assert parse_maximum(text) == expected
    assert parse_amount(text) == expected
    assert parse_total(text) == expected


def test_zero_is_no_bound_and_no_claim() -> None:
    expected = Malformed('"0Gi" is no memory at all; write an amount such as 6Gi, or leave the key out')

    assert parse_minimum("0Gi") == parse_maximum("0Gi") == parse_amount("0Gi") == expected


@pytest.mark.parametrize("text", ["0", "0.0", "0GB", "0 Gi", "0Xi"])
def test_zero_in_any_spelling_is_not_told_to_be_spelt_otherwise(text: str) -> None:
    expected = Malformed(f'"{text}" is no memory at all; write an amount such as 6Gi, or leave the key out')

    assert parse_minimum(text) == parse_maximum(text) == parse_amount(text) == expected
    assert isinstance(parse_total(text), Malformed)
