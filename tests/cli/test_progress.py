from collections.abc import Callable, Iterator
from io import StringIO

from gpusched.cli.progress import Progress


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


def clock(*seconds: float) -> Callable[[], float]:
    times: Iterator[float] = iter(seconds)
    return lambda: next(times)


def test_short_work_says_nothing() -> None:
    stream = Terminal()
    with Progress("simulating", "pods", stream=stream, clock=clock(0, 0.3, 0.6, 0.9)) as progress:
        for done in range(3):
            progress.update(done, 3)
    assert stream.getvalue() == ""


def test_a_terminal_shows_one_line_and_wipes_it() -> None:
    stream = Terminal()
    with Progress("simulating", "pods", stream=stream, clock=clock(0, 0.5, 1.2, 1.25, 2)) as progress:
        for done in (1, 1000, 1001, 20):
            progress.update(done, 5000)
    first, second = "simulating 1000/5000 pods", "simulating 20/5000 pods"
    assert stream.getvalue() == f"\r{first}\r{second}  \r{' ' * len(second)}\r"


def test_elsewhere_a_line_comes_every_five_seconds() -> None:
    stream = StringIO()
    with Progress("reading", "files", stream=stream, clock=clock(0, 1.5, 4, 6.6)) as progress:
        for done in (1, 2, 3):
            progress.update(done)
    assert stream.getvalue() == "reading 1 files\nreading 3 files\n"


def test_quiet() -> None:
    stream = Terminal()
    progress = Progress("reading", "files", stream=stream, quiet=True, clock=clock(0))
    progress.update(1)
    progress.close()
    assert stream.getvalue() == ""


def test_a_long_step_is_told_before_it_begins() -> None:
    stream = Terminal()
    with Progress("reading", "lines", stream=stream, clock=clock(0, 2)) as progress:
        progress.begin("reading 120 MiB")
        progress.update(7, 9)
    first, second = "reading 120 MiB", "reading 7/9 lines"
    assert stream.getvalue() == f"\r{first}\r{second}\r{' ' * len(second)}\r"


def test_a_log_is_not_told_of_what_begins() -> None:
    stream = StringIO()
    with Progress("reading", "lines", stream=stream, clock=clock(0)) as progress:
        progress.begin("reading 120 MiB")
    assert stream.getvalue() == ""
