"""How refusals and warnings are worded: one line, of bounded length, shortened only at a word and never in silence."""

from collections.abc import Iterable
from typing import Final

REFUSAL_LIMIT: Final = 200
WARNING_LIMIT: Final = 120

#: Longest piece of user text quoted whole in a sentence; container names may have 63 characters.
_QUOTE_LIMIT: Final = 63
_LISTED: Final = 4


def one_line(text: str) -> str:
    """The text without control characters: the API server drops a warning that has a newline."""
    if not text.isprintable():
        text = "".join(character if character.isprintable() else " " for character in text)
    return " ".join(text.split())


def quoted(value: str, limit: int = _QUOTE_LIMIT) -> str:
    """A value as it may stand in a sentence: on one line, its middle left out when it is longer than `limit`."""
    text = one_line(value)
    if len(text) <= limit:
        return text
    head = (limit - 1) * 2 // 3
    return f"{text[:head]}…{text[len(text) - (limit - 1 - head) :]}"


def listed(words: Iterable[str], most: int = _LISTED) -> str:
    """Words joined by commas; those beyond `most` are counted instead of named."""
    known = [quoted(word) for word in words]
    if len(known) <= most:
        return ", ".join(known)
    return f"{', '.join(known[:most])} and {len(known) - most} more"


def fit(text: str, limit: int) -> str:
    """The text on one line and at most `limit` characters, cut after a whole word and marked with `…`."""
    line = one_line(text)
    if len(line) <= limit:
        return line
    cut = line[: limit - 1]
    word_end = cut.rfind(" ")
    return (cut[:word_end] if word_end > limit // 2 else cut).rstrip(" ,;:.") + "…"


def worded(full: str, short: str, *, prefix: int, limit: int) -> str:
    """The full sentence if it fits beside a code of `prefix` characters, else the short one."""
    room = limit - prefix
    line = one_line(full)
    return line if len(line) <= room else fit(short or full, room)


def sentences_packed(sentences: Iterable[str], limit: int) -> tuple[str, ...]:
    """Sentences joined by `; ` into as few lines of at most `limit` characters as their order allows."""
    lines: list[str] = []
    for sentence in sentences:
        part = fit(sentence, limit)
        if lines and len(lines[-1]) + 2 + len(part) <= limit:
            lines[-1] = f"{lines[-1]}; {part}"
        else:
            lines.append(part)
    return tuple(lines)
