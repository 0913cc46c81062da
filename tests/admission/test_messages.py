"""Wording: one line, bounded, cut at a word."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusched.admission.messages import fit, listed, one_line, quoted, sentences_packed, worded


@pytest.mark.parametrize(
    ("text", "line"),
    [("a\nb", "a b"), ("a\r\n\tb  c", "a b c"), (" x ", "x"), ("", ""), ("é × 4Gi", "é × 4Gi"), ("a\x00b", "a b")],
)
def test_one_line(text: str, line: str) -> None:
    assert one_line(text) == line


@pytest.mark.parametrize(
    ("value", "limit", "shown"),
    [("short", 63, "short"), ("abcdefghij", 10, "abcdefghij"), ("abcdefghijk", 10, "abcdef…ijk"), ("a\nb", 10, "a b")],
)
def test_quoted_leaves_out_the_middle(value: str, limit: int, shown: str) -> None:
    assert quoted(value, limit) == shown


@pytest.mark.parametrize(
    ("words", "text"),
    [((), ""), (("a",), "a"), (("a", "b", "c", "d"), "a, b, c, d"), (tuple("abcdef"), "a, b, c, d and 2 more")],
)
def test_listed_counts_the_rest(words: tuple[str, ...], text: str) -> None:
    assert listed(words) == text


@pytest.mark.parametrize(
    ("text", "limit", "cut"),
    [
        ("one two three", 13, "one two three"),
        ("one two three", 12, "one two…"),
        ("one two; three", 10, "one two…"),
        ("onelongword", 6, "onelo…"),
    ],
)
def test_fit_cuts_after_a_word(text: str, limit: int, cut: str) -> None:
    assert fit(text, limit) == cut


@pytest.mark.parametrize(
    ("prefix", "expected"), [(0, "the whole sentence"), (2, "the whole sentence"), (3, "short"), (16, "sh…")]
)
def test_worded_takes_the_short_form_where_the_full_one_is_too_long(prefix: int, expected: str) -> None:
    assert worded("the whole sentence", "short", prefix=prefix, limit=20 if prefix < 16 else 19) == expected


def test_sentences_are_packed_in_order() -> None:
    assert sentences_packed(["aaaa", "bbbb", "cccc"], 10) == ("aaaa; bbbb", "cccc")
    assert sentences_packed([], 10) == ()


@given(st.text(), st.integers(min_value=8, max_value=300))
def test_fit_is_bounded_and_on_one_line(text: str, limit: int) -> None:
    line = fit(text, limit)
    assert len(line) <= limit
    assert "\n" not in line
    assert fit(line, limit) == line
