"""Whatever ends the process that holds a guard: its children and its folder are gone afterwards."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gpusched.local.guard import Guard

HOLDER = """
import sys
from pathlib import Path
from gpusched.local.guard import Guard
with Guard(Path(sys.argv[1])) as guard:
    children = [
        guard.spawn("plain", ["sleep", "1000"], guard.folder / "plain.log"),
        guard.spawn("deaf", ["sh", "-c", "trap '' TERM INT HUP; sleep 1000; sleep 1000"], guard.folder / "deaf.log"),
    ]
    print(*(child.pid for child in children), flush=True)
    children[0].wait(None)
"""


def alive(pid: int) -> bool:
    try:
        # A zombie that nobody reaps is gone for our purpose.
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def until_gone(pids: list[int], folder: Path, seconds: float = 15) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if not any(alive(pid) for pid in pids) and list(folder.iterdir()) == []:
            return True
        time.sleep(0.02)
    return False


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL, signal.SIGHUP])
def test_nothing_is_left_when_the_holder_ends_by_a_signal(tmp_path, number):
    command = [sys.executable, "-c", HOLDER, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as holder:
        pids = [int(word) for word in holder.stdout.readline().split()]
        assert len(pids) == 2
        assert all(alive(pid) for pid in pids)

        holder.send_signal(number)
        holder.wait(15)

    assert until_gone(pids, tmp_path)


def test_ctrl_c_on_the_terminal_does_not_reach_the_children(tmp_path):
    with Guard(tmp_path) as guard:
        child = guard.spawn("child", ["sleep", "100"], guard.folder / "log")

        assert os.getpgid(child.pid) not in {os.getpgrp(), child.pid}


def test_folder_is_private_and_gone_after_an_error(tmp_path):
    def fail(guard: Guard) -> None:
        pids.append(guard.spawn("child", ["sleep", "100"], guard.folder / "log").pid)
        modes.append(guard.folder.stat().st_mode & 0o777)
        raise RuntimeError

    pids: list[int] = []
    modes: list[int] = []
    with pytest.raises(RuntimeError), Guard(tmp_path) as guard:
        fail(guard)

    assert modes == [0o700]
    assert until_gone(pids, tmp_path)


def test_closing_twice_is_as_good_as_once(tmp_path):
    guard = Guard(tmp_path)
    guard.__enter__()

    guard.close()
    guard.close()

    assert list(tmp_path.iterdir()) == []


def test_program_that_is_not_there_is_an_error_of_the_system(tmp_path):
    with Guard(tmp_path) as guard, pytest.raises(FileNotFoundError):
        guard.spawn("none", [str(tmp_path / "none")], guard.folder / "log")

    assert list(tmp_path.iterdir()) == []


def test_child_does_not_hold_the_pipe_that_tells_the_end_of_the_parent(tmp_path):
    with Guard(tmp_path) as guard:
        log = guard.folder / "log"
        guard.spawn("list", ["ls", "/proc/self/fd"], log).wait(10)

        # 0, 1, 2 and the folder that ls reads.
        assert log.read_text(encoding="utf-8").split() == ["0", "1", "2", "3"]
