"""A malformed value: the sentence about it, and how such sentences quote values and name alternatives."""

import re
from collections.abc import Iterable
from typing import Final

import msgspec

from gpusched.policy.nearest import nearest

#: Longer values are cut in messages: a warning of the API server has 256 characters in all.
_LONGEST_QUOTE = 48
#: Entries of one list, and values of one requirement. Users write them, an annotation may have 256 KiB, and products
#: are compared with each other.
MOST_ENTRIES: Final = 64
#: Characters of one value, which leaves room for that many entries.
_LONGEST_VALUE: Final = 8_192
_OTHER_SEPARATOR = re.compile(r"[;|\n]")


class Malformed(msgspec.Struct, frozen=True):
    """What a parser answers instead of a value. `sentence` quotes the text and says what to write; no final period."""

    sentence: str


def quoted(text: str) -> str:
    """The text in double quotes on one line, shortened when long. Control characters become `?`."""
    shown = text if len(text) <= _LONGEST_QUOTE else text[: _LONGEST_QUOTE - 1] + "…"
    return '"' + "".join(character if character.isprintable() else "?" for character in shown) + '"'


def listed(choices: Iterable[str]) -> str:
    """`a, b or c`."""
    words = list(choices)
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def not_one_of(text: str, kind: str, choices: Iterable[str]) -> Malformed:
    """The sentence for a word outside a closed set: the nearest member if there is one, else all of them."""
    known = list(choices)
    close = nearest(text, known)
    return Malformed(f"{quoted(text)} is no {kind}; write {close if close is not None else listed(known)}")


def one_of(text: str, kind: str, choices: Iterable[str]) -> str | Malformed:
    """The member of a closed set of lower-case words that the text names, whatever its case and outer blanks."""
    known = list(choices)
    word = text.strip().lower()
    return word if word in known else not_one_of(text, kind, known)


def oversized(text: str) -> Malformed | None:
    """The sentence for a value that is not worth reading: parsing takes time in which nobody else is answered."""
    if len(text) <= _LONGEST_VALUE:
        return None
    return Malformed(f"{quoted(text)} has {len(text)} characters; write {_LONGEST_VALUE} at most")


def too_many(text: str, number: int, what: str) -> Malformed:
    """The sentence for a list that is longer than anybody needs."""
    return Malformed(f"{quoted(text)} has {number} {what}; write {MOST_ENTRIES} at most")


def entries(text: str, kind: str, example: str) -> tuple[str, ...] | Malformed:
    """The comma-separated entries of a list, stripped; an empty or too long list or a blank entry is malformed."""
    parts = tuple(part.strip() for part in text.split(","))
    if len(parts) > MOST_ENTRIES:
        return too_many(text, len(parts), "entries")
    if _OTHER_SEPARATOR.search(text.strip()):
        right = ", ".join(part.strip(" ,\n-") for part in _OTHER_SEPARATOR.split(text) if part.strip(" ,\n-"))
        return Malformed(f"{quoted(text)} is not separated by commas; write {right or example}")
    if all(parts):
        return parts
    if any(parts):
        return Malformed(
            f"{quoted(text)} has an empty entry; write {quoted(', '.join(part for part in parts if part))}"
        )
    return Malformed(f"{quoted(text)} names no {kind}; write for example {example}, or leave the key out")
