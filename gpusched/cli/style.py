"""Colour on terminals, and nothing but text everywhere else."""

from collections.abc import Mapping
from enum import StrEnum
from typing import TextIO

import msgspec


class Colour(StrEnum):
    """Colours by what they say, with their ANSI codes."""

    GOOD = "32"
    WARNING = "33"
    BAD = "31"
    STRONG = "1"
    FAINT = "2"


class Style(msgspec.Struct, frozen=True):
    """Whether output is coloured."""

    enabled: bool = False

    def paint(self, text: str, colour: Colour | None) -> str:
        """The text in that colour; as it is without colour, or where it is blank."""
        if not self.enabled or colour is None or not text.strip():
            return text
        return f"\x1b[{colour}m{text}\x1b[0m"


def style_of(stream: TextIO, environment: Mapping[str, str], *, no_color: bool = False) -> Style:
    """Colour only on a terminal, and not with `--no-color`, NO_COLOR (https://no-color.org) or a dumb terminal."""
    if no_color or environment.get("NO_COLOR") or environment.get("TERM") == "dumb":
        return Style()
    return Style(enabled=is_terminal(stream))


def is_terminal(stream: TextIO) -> bool:
    """Whether somebody looks at the stream; a closed one is no terminal."""
    try:
        return stream.isatty()
    except ValueError:
        return False
