import pytest

from gpusched.policy.malformed import Malformed, entries, listed, one_of, oversized, quoted


@pytest.mark.parametrize(
    ("text", "expected"),
    [("a b", '"a b"'), ("a\nb\x00", '"a?b?"'), ("x" * 60, '"' + "x" * 47 + '…"')],
)
def test_quoted(text: str, expected: str) -> None:
    assert quoted(text) == expected


@pytest.mark.parametrize(("words", "expected"), [(["a"], "a"), (["a", "b"], "a or b"), (["a", "b", "c"], "a, b or c")])
def test_listed(words: list[str], expected: str) -> None:
    assert listed(words) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (" Pack ", "pack"),
        ("bin-pack", Malformed('"bin-pack" is no placement; write pack')),
        ("x", Malformed('"x" is no placement; write pack or spread')),
    ],
)
def test_one_of(text: str, expected: object) -> None:
    assert one_of(text, "placement", ("pack", "spread")) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (" a ,b", ("a", "b")),
        ("a,,b", Malformed('"a,,b" has an empty entry; write "a, b"')),
        (" ", Malformed('" " names no letter; write for example a, or leave the key out')),
    ],
)
def test_entries(text: str, expected: object) -> None:
    assert entries(text, "letter", "a") == expected


def test_a_list_has_an_end() -> None:
    text = ",".join(f"p{number}" for number in range(65))

    assert entries(text, "product", "a100") == Malformed(f"{quoted(text)} has 65 entries; write 64 at most")
    assert entries(text.rpartition(",")[0], "product", "a100") == tuple(f"p{number}" for number in range(64))


def test_a_value_has_an_end() -> None:
    text = " " * 8_193

    assert oversized(text) == Malformed(f"{quoted(text)} has 8193 characters; write 8192 at most")
    assert oversized(text[1:]) is None
