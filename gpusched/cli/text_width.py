"""Text on a terminal: how many columns it takes, and how to make it fit."""

import unicodedata
from typing import Final

_ELLIPSIS: Final = "…"


def width_of(text: str) -> int:
    """Columns that the text takes: two for wide East Asian characters, none for combining marks."""
    if text.isascii():
        return len(text)
    return sum(map(_width, text))


def printable(text: str) -> str:
    """The text on one line and harmless to a terminal: white space as blanks, control characters by their escapes."""
    return text if text.isprintable() else "".join(map(_visible, text))


def counted(number: int, noun: str) -> str:
    """A number of things, such as `1 pod` and `2 pods`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def abbreviate(text: str, width: int) -> str:
    """The text cut in the middle to the width: names of pods and nodes differ at both ends."""
    if width_of(text) <= width:
        return text
    if width <= 1:
        return _ELLIPSIS[:width]
    tail = _cut(text[::-1], (width - 1) // 2)[::-1]
    return _cut(text, width - 1 - width_of(tail)) + _ELLIPSIS + tail


def wrap(text: str, width: int) -> list[str]:
    """The text in lines of at most the width, broken at blanks, and inside words only where one alone is too long."""
    lines: list[str] = []
    line = ""
    for word in text.split(" "):
        candidate = f"{line} {word}" if line else word
        if width_of(candidate) <= width:
            line = candidate
            continue
        if line:
            lines.append(line)
        line = word
        while width_of(line) > width:
            head = _cut(line, width) or line[0]
            lines.append(head)
            line = line[len(head) :]
    return [*lines, line] if line or not lines else lines


def _cut(text: str, width: int) -> str:
    used = 0
    for index, character in enumerate(text):
        used += _width(character)
        if used > width:
            return text[:index]
    return text


def _width(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _visible(character: str) -> str:
    if character.isprintable():
        return character
    return " " if character.isspace() else character.encode("unicode_escape").decode()
