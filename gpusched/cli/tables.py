"""Tables in the manner of kubectl: columns apart by blanks, no rules, never wider than the page."""

from collections.abc import Collection, Sequence
from typing import Final

import msgspec

from gpusched.cli.style import Colour, Style
from gpusched.cli.text_width import abbreviate, printable, width_of, wrap

#: What a column keeps at least when the table is too wide.
_NARROWEST: Final = 8
_NARROWEST_WRAPPED: Final = 24
#: Room beside the other columns in which a sentence can be read with ease.
_SENTENCE: Final = 40
_GAP: Final = "  "
_EMPTY: Final = "-"
_INDENT: Final = "    "


class Cell(msgspec.Struct, frozen=True):
    """A cell with a colour of its own."""

    text: str
    colour: Colour | None = None


def render(
    headers: Sequence[str],
    rows: Sequence[Sequence[str | Cell]],
    *,
    width: int = 100,
    wrapped: Collection[str] | None = None,
    sentences: bool = False,
    style: Style | None = None,
) -> str:
    """The table as text, each line ended; the header line alone when there are no rows.

    Columns as wide as their longest cell; when that is too much, the columns whose headers are in `wrapped` (the
    last one unless told) go on in further lines, then the widest of the others are cut in the middle, marked `…`. An
    empty cell is `-`. With `sentences` the last column holds text to be read: where no room is left for it beside the
    others, it stands under each row.
    """
    paper = style or Style()
    cells = [[_shown(cell) for cell in row] for row in rows]
    texts = [headers, *([cell.text for cell in row] for row in cells)]
    if sentences and _room_for_last(texts, width) < min(_SENTENCE, max(width_of(row[-1]) for row in texts)):
        return _over_sentences(headers, cells, width, paper)
    flowing = [header in ({headers[-1]} if wrapped is None else wrapped) for header in headers]
    widths = _fit(texts, flowing, width)
    lines = _lines([Cell(header, Colour.STRONG) for header in headers], widths, flowing, paper)
    for row in cells:
        lines += _lines(row, widths, flowing, paper)
    return "".join(f"{line}\n" for line in lines)


def _shown(cell: str | Cell) -> Cell:
    text = printable(cell.text if isinstance(cell, Cell) else cell)
    return Cell(text or _EMPTY, cell.colour if isinstance(cell, Cell) else None)


def _room_for_last(rows: Sequence[Sequence[str]], width: int) -> int:
    taken = [max(width_of(row[column]) for row in rows) for column in range(len(rows[0]) - 1)]
    return width - sum(taken) - len(_GAP) * len(taken)


def _over_sentences(headers: Sequence[str], rows: Sequence[Sequence[Cell]], width: int, style: Style) -> str:
    """The table without its last column, of which each cell follows its row; rows that are blank otherwise vanish."""
    shown = [row[:-1] for row in rows]
    flowing = [False] * (len(headers) - 1)
    widths = _fit([headers[:-1], *([cell.text for cell in row] for row in shown)], flowing, width)
    lines = _lines([Cell(header, Colour.STRONG) for header in headers[:-1]], widths, flowing, style)
    for row in rows:
        if any(cell.text.strip() for cell in row[:-1]):
            lines += _lines(row[:-1], widths, flowing, style)
        text = row[-1].text
        if text != _EMPTY:
            lines += [_INDENT + style.paint(part, row[-1].colour) for part in wrap(text, width - len(_INDENT))]
    return "".join(f"{line}\n" for line in lines)


def _fit(rows: Sequence[Sequence[str]], flowing: Sequence[bool], width: int) -> list[int]:
    widths = [max(width_of(row[column]) for row in rows) for column in range(len(flowing))]
    excess = sum(widths) + len(_GAP) * (len(widths) - 1) - width
    # First what wraps without loss, then what is cut, at last whatever is left.
    for narrowest, shrinks in (
        (_NARROWEST_WRAPPED, True),
        (_NARROWEST, False),
        (_NARROWEST, True),
        (1, False),
        (1, True),
    ):
        columns = [index for index, flows in enumerate(flowing) if flows is shrinks]
        excess = _shrink(widths, columns, narrowest, excess)
    return widths


def _shrink(widths: list[int], columns: list[int], narrowest: int, excess: int) -> int:
    while excess > 0:
        widest = max(columns, key=lambda index: widths[index], default=None)
        if widest is None or widths[widest] <= narrowest:
            break
        widths[widest] -= 1
        excess -= 1
    return excess


def _lines(row: Sequence[Cell], widths: list[int], flowing: Sequence[bool], style: Style) -> list[str]:
    parts = [
        wrap(cell.text, width) if flows else [abbreviate(cell.text, width)]
        for cell, width, flows in zip(row, widths, flowing, strict=True)
    ]
    lines = []
    for number in range(max(map(len, parts))):
        shown = [column[number] if number < len(column) else "" for column in parts]
        last = len(shown) - 1
        painted = [
            style.paint(text, cell.colour) + ("" if index == last else " " * (width - width_of(text)))
            for index, (text, cell, width) in enumerate(zip(shown, row, widths, strict=True))
        ]
        lines.append(_GAP.join(painted).rstrip())
    return lines
