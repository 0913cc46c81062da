from io import StringIO

import pytest

from gpusched.cli import watch
from gpusched.cli.access import Unavailable
from gpusched.cli.session import Session


class Interrupted:
    """Ends the watch at the n-th sleep."""

    def __init__(self, times: int) -> None:
        self.left = times
        self.slept: list[float] = []

    def __call__(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.left -= 1
        if not self.left:
            raise KeyboardInterrupt


@pytest.fixture
def session():
    made = Session("table")
    made.out, made.err = StringIO(), StringIO()
    return made


def watched(session, pages, monkeypatch):
    """Exit code and all that is printed over these answers, each a page and a code or an error."""
    answers = iter(pages)
    out = session.out

    def once() -> int:
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        session.out.write(answer[0])
        return answer[1]

    sleep = Interrupted(len(pages))
    monkeypatch.setattr(watch.time, "sleep", sleep)
    with pytest.raises(SystemExit) as ended:
        watch.run(session, once, watch=True, interval=3.0)
    assert sleep.slept == [3.0] * len(pages)
    return ended.value.code, out.getvalue()


def test_a_page_is_printed_again_when_it_has_changed(session, monkeypatch):
    pages = [("a\n", 1), ("a\n", 1), ("b\n", 0)]

    assert watched(session, pages, monkeypatch) == (0, "a\n\nb\n")


def test_a_cluster_that_is_away_for_a_while(session, monkeypatch):
    pages = [("a\n", 1), Unavailable("gone"), ("a\n", 1)]

    assert watched(session, pages, monkeypatch) == (1, "a\n")
    assert session.err.getvalue() == "error: gone\n"


def test_once(session):
    with pytest.raises(SystemExit) as ended:
        watch.run(session, lambda: 2, watch=False, interval=1.0)

    assert ended.value.code == 2
