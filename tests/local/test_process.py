import os
import signal
import time
from pathlib import Path

import pytest

from gpusched.local.errors import ChildDiedError
from gpusched.local.guard import Guard
from gpusched.local.process import Child, last_lines, stop


@pytest.fixture
def guard(tmp_path):
    with Guard(tmp_path) as entered:
        yield entered


def spawn(guard: Guard, script: str, name: str = "child") -> Child:
    return guard.spawn(name, ["/bin/sh", "-c", script], guard.folder / f"{name}.log")


def await_line(child: Child) -> None:
    """Until the child has said something: its signal handlers are in place then."""
    end = time.monotonic() + 10
    while not last_lines(child.log) and time.monotonic() < end:
        child.wait(0.01)


def test_running_child_passes_the_check(guard):
    child = spawn(guard, "exec sleep 100")

    child.check()

    assert child.running
    assert child.wait(0.01) is None


def test_child_killed_from_outside_is_noticed_with_what_it_said_last(guard):
    child = spawn(guard, "echo listening; exec sleep 100", "etcd")
    await_line(child)
    os.kill(child.pid, signal.SIGKILL)
    child.wait(10)

    with pytest.raises(ChildDiedError) as caught:
        child.check()

    assert str(caught.value) == "etcd was killed by signal 9; the end of etcd.log:\nlistening"


def test_child_that_ends_by_itself_is_noticed(guard):
    child = spawn(guard, "echo bind: address already in use >&2; exit 3", "kwok")
    child.wait(10)

    with pytest.raises(ChildDiedError, match=r"kwok ended with status 3.*\nbind: address already in use"):
        child.check()


def test_stop_ends_all_and_does_not_wait_for_the_deaf_longer_than_its_grace(guard):
    deaf = spawn(guard, "trap '' TERM; echo ready; while :; do sleep 100; done", "deaf")
    polite = spawn(guard, "echo ready; exec sleep 100", "polite")
    await_line(deaf)
    await_line(polite)

    stop([deaf, polite], 0.2)

    assert (deaf.wait(0), polite.wait(0)) == (-signal.SIGKILL, -signal.SIGTERM)


def test_stopped_child_is_killed_all_the_same(guard):
    child = spawn(guard, "echo ready; exec sleep 100")
    await_line(child)
    os.kill(child.pid, signal.SIGSTOP)

    stop([child], 0.1)

    assert child.wait(0) in {-signal.SIGTERM, -signal.SIGKILL}


def test_stopping_the_dead_does_nothing(guard):
    child = spawn(guard, "exit 0")
    child.wait(10)

    stop([child], 10)
    child.terminate()
    child.kill()

    assert child.wait(0) == 0


@pytest.mark.parametrize(
    ("content", "expected"),
    [("", ""), ("one\n", "one"), ("a\nb\nc\nd", "c\nd"), ("x" * 40_000 + "\nend\n", "x" * 400 + "\nend")],
)
def test_last_lines(tmp_path: Path, content, expected):
    log = tmp_path / "log"
    log.write_text(content, encoding="utf-8")

    assert last_lines(log, 2) == expected


def test_traces_of_go_are_left_out(tmp_path):
    log = tmp_path / "log"
    log.write_text("starting\npanic: disk full\n\ngoroutine 1 [running]:\nmain.main()\n\tmain.go:1\n", encoding="utf-8")

    assert last_lines(log) == "starting\npanic: disk full"


def test_last_lines_of_a_log_that_is_gone(tmp_path):
    assert last_lines(tmp_path / "none") == ""
