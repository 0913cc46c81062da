import pytest

from gpusched.cli.text_width import abbreviate, printable, width_of, wrap


@pytest.mark.parametrize(
    ("text", "width"), [("", 0), ("abc", 3), ("time-slicing×4", 14), ("日本", 4), ("e\u0301", 1), ("…", 1)]
)
def test_width(text: str, width: int) -> None:
    assert width_of(text) == width


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain é", "plain é"),
        ("a\tb\nc\xa0d", "a b c d"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("a\u202eb", "a\\u202eb"),
        ("a\ud800", "a\\ud800"),
    ],
)
def test_printable(text: str, shown: str) -> None:
    assert printable(text) == shown


@pytest.mark.parametrize(
    ("text", "width", "shown"),
    [
        ("abcdefgh", 8, "abcdefgh"),
        ("abcdefghi", 8, "abcd…ghi"),
        ("abcdefghi", 2, "a…"),
        ("abcdefghi", 1, "…"),
        ("abc", 0, ""),
        ("日本語日本語", 6, "日…語"),
    ],
)
def test_abbreviate(text: str, width: int, shown: str) -> None:
    assert abbreviate(text, width) == shown
    assert width_of(shown) <= width


@pytest.mark.parametrize(
    ("text", "width", "lines"),
    [
        ("", 5, [""]),
        ("one two", 10, ["one two"]),
        ("one two three", 8, ["one two", "three"]),
        ("abcdefghij kl", 4, ["abcd", "efgh", "ij", "kl"]),
        ("日本語", 2, ["日", "本", "語"]),
        ("日本", 1, ["日", "本"]),
    ],
)
def test_wrap(text: str, width: int, lines: list[str]) -> None:
    assert wrap(text, width) == lines
