"""Paragraphs: a word or a column of numbers, and beside it text that goes on under itself."""

from typing import Final

from gpusched.cli.text_width import printable, wrap

PAGE: Final = 100


def paragraph(lead: str, text: str, *, width: int = PAGE) -> list[str]:
    """Lines of at most the width: the lead as it is, then the text, its further lines indented as far as it."""
    first, *further = wrap(printable(text), width - len(lead))
    return [lead + first, *(" " * len(lead) + line for line in further)]
