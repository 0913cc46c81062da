import pytest

from gpusched.cli.style import Colour, Style
from gpusched.cli.tables import Cell, render
from gpusched.cli.text_width import width_of

LONG = "memory: GFD says 15109, the catalogue 16384, which is a nominal size and so within the tolerance of 8 %"


def test_columns_are_as_wide_as_their_longest_cell() -> None:
    rows = [["h100-1", "none", "6/8"], ["t4-02", "time-slicing×4", ""]]
    assert render(["NODE", "SHARING", "USED"], rows) == (
        "NODE    SHARING         USED\nh100-1  none            6/8\nt4-02   time-slicing×4  -\n"
    )


def test_no_rows_leave_the_header() -> None:
    assert render(["NODE", "NOTES"], []) == "NODE  NOTES\n"


def test_the_last_column_goes_on_in_further_lines() -> None:
    assert render(["NODE", "NOTES"], [["t4-02", LONG], ["t4-03", "fine"]], width=60) == (
        "NODE   NOTES\n"
        "t4-02  memory: GFD says 15109, the catalogue 16384, which is\n"
        "       a nominal size and so within the tolerance of 8 %\n"
        "t4-03  fine\n"
    )


def test_other_columns_are_cut_in_the_middle() -> None:
    table = render(["POD", "NODE"], [["train-" + "x" * 60 + "-7f9c", "n" * 60]], wrapped=[], width=40)
    assert table.splitlines()[1] == "train-xxx…xxxx-7f9c  nnnnnnnnn…nnnnnnnnn"


@pytest.mark.parametrize("width", [20, 60, 100])
@pytest.mark.parametrize("wrapped", [None, [], ["A", "C"]])
@pytest.mark.parametrize("cells", [["x" * 300] * 4, ["日" * 90, "a b " * 50, "", "é" * 120], ["1", "2", "3", LONG * 3]])
def test_no_line_is_wider_than_the_page(width: int, wrapped: list[str] | None, cells: list[str]) -> None:
    table = render(["A", "B", "C", "D"], [cells, ["1", "2", "3", "4"]], width=width, wrapped=wrapped)
    assert max(map(width_of, table.splitlines())) <= width


def test_colour_takes_no_room() -> None:
    rows = [[Cell("ok", Colour.GOOD), "a"], [Cell("refused", Colour.BAD), "b"]]
    plain = render(["STATE", "POD"], rows)
    painted = render(["STATE", "POD"], rows, style=Style(enabled=True))
    assert plain == "STATE    POD\nok       a\nrefused  b\n"
    assert painted == (
        "\x1b[1mSTATE\x1b[0m    \x1b[1mPOD\x1b[0m\n\x1b[32mok\x1b[0m       a\n\x1b[31mrefused\x1b[0m  b\n"
    )


def test_cells_cannot_steer_the_terminal() -> None:
    assert render(["POD"], [["a\x1b[2J\nb"]]) == "POD\na\\x1b[2J b\n"


def test_sentences_stand_beside_short_names() -> None:
    assert render(["POD", "WHY"], [["a", "no node fits"]], sentences=True) == "POD  WHY\na    no node fits\n"


def test_sentences_stand_under_long_names() -> None:
    rows: list[list[str | Cell]] = [
        ["inference-of-a-language-model-0", "refused", Cell("it asks for more than any node has", Colour.BAD)],
        [" ", " ", "and another thing"],
        ["short", "placed", ""],
    ]
    assert render(["POD", "RESULT", "WHY"], rows, width=60, sentences=True, style=Style(enabled=True)) == (
        "\x1b[1mPOD\x1b[0m                              \x1b[1mRESULT\x1b[0m\n"
        "inference-of-a-language-model-0  refused\n"
        "    \x1b[31mit asks for more than any node has\x1b[0m\n"
        "    and another thing\n"
        "short                            placed\n"
    )


@pytest.mark.parametrize("width", [20, 60, 100])
def test_sentences_are_no_wider_than_the_page(width: int) -> None:
    rows = [["x" * 300, LONG], ["日" * 90, "é" * 120], ["1", ""]]
    assert max(map(width_of, render(["A", "B"], rows, width=width, sentences=True).splitlines())) <= width
