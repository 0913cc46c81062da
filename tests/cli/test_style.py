from io import StringIO

import pytest

from gpusched.cli.style import Colour, Style, is_terminal, style_of


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("environment", "no_color", "enabled"),
    [
        ({}, False, True),
        ({"NO_COLOR": ""}, False, True),
        ({"NO_COLOR": "1"}, False, False),
        ({"TERM": "dumb"}, False, False),
        ({}, True, False),
    ],
)
def test_colour_on_a_terminal(environment: dict[str, str], no_color: bool, enabled: bool) -> None:
    assert style_of(Terminal(), environment, no_color=no_color) == Style(enabled)
    assert style_of(StringIO(), environment, no_color=no_color) == Style(enabled=False)


def test_a_closed_stream_is_no_terminal() -> None:
    stream = StringIO()
    stream.close()
    assert not is_terminal(stream)


def test_paint() -> None:
    assert Style(enabled=True).paint("x", Colour.BAD) == "\x1b[31mx\x1b[0m"
    assert Style(enabled=True).paint("  ", Colour.BAD) == "  "
    assert Style(enabled=True).paint("x", None) == "x"
    assert Style().paint("x", Colour.BAD) == "x"
