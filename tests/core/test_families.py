import pytest

from gpusched.core.families import (
    FAMILIES,
    canonical_family,
    family_of_compute,
    family_title,
    family_vendor,
    nearest_family,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("hopper", "hopper"),
        (" Ampere ", "ampere"),
        ("ada", "ada-lovelace"),
        ("Ada Lovelace", "ada-lovelace"),
        ("ADA_LOVELACE", "ada-lovelace"),
        ("cdna-3", "cdna3"),
        ("Flex_Series", "flex"),
        ("undefined", None),
        ("", None),
        ("hoper", None),
    ],
)
def test_canonical_family(text: str, expected: str | None) -> None:
    assert canonical_family(text) == expected


@pytest.mark.parametrize(
    ("family", "title"),
    [
        ("cdna3", "CDNA 3"),
        ("rdna4", "RDNA 4"),
        ("ada-lovelace", "Ada Lovelace"),
        ("hopper", "Hopper"),
        ("max", "Max Series"),
        ("unknown", "Unknown"),
    ],
)
def test_families_are_titled_as_their_vendors_write_them(family: str, title: str) -> None:
    assert family_title(family) == title


def test_no_title_shows_how_a_policy_writes_it() -> None:
    for family in FAMILIES:
        assert family_title(family)[0].isupper()
        assert "-" not in family_title(family)
        assert canonical_family(family_title(family)) == family


@pytest.mark.parametrize(
    ("text", "expected"),
    [("hoper", "hopper"), ("Amper", "ampere"), ("adaa", "ada-lovelace"), ("blackwel", "blackwell"), ("zzz", None)],
)
def test_nearest_family(text: str, expected: str | None) -> None:
    assert nearest_family(text) == expected


@pytest.mark.parametrize(
    ("compute", "expected"),
    [
        ((3, 7), "kepler"),
        ((5, 2), "maxwell"),
        ((6, 1), "pascal"),
        ((7, 0), "volta"),
        ((7, 4), "volta"),
        ((7, 5), "turing"),
        ((8, 0), "ampere"),
        ((8, 7), "ampere"),
        ((8, 9), "ada-lovelace"),
        ((9, 0), "hopper"),
        ((10, 3), "blackwell"),
        ((11, 0), None),
        ((12, 1), "blackwell"),
        ((13, 0), "rubin"),
        ((4, 0), None),
        ((99, 0), None),
    ],
)
def test_family_of_compute(compute: tuple[int, int], expected: str | None) -> None:
    assert family_of_compute(*compute) == expected


def test_every_family_is_its_own_canonical_name_and_has_a_vendor() -> None:
    assert [canonical_family(name) for name in FAMILIES] == list(FAMILIES)
    assert {family_vendor(name) for name in FAMILIES} == {"nvidia", "amd", "intel"}
