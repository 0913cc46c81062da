"""One running component: whether it lives, how it ends, what its log says last."""

import contextlib
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from gpusched.local.errors import ChildDiedError

_TAIL_BYTES: Final = 16_384
_KILL_SECONDS: Final = 5.0
_TRACE: Final = "goroutine "
#: JSON logs have traces within a line.
_LINE_CHARACTERS: Final = 400


class Child:
    """A process that was started for this run, and its log."""

    def __init__(self, name: str, process: subprocess.Popen[bytes], log: Path) -> None:
        self.name = name
        self.log = log
        self._process = process

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    @property
    def running(self) -> bool:
        """Whether it has not ended yet."""
        return self._process.poll() is None

    def wait(self, seconds: float | None) -> int | None:
        """Its exit status, or None if it still runs after so many seconds."""
        try:
            return self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None

    def check(self) -> None:
        """Make sure that it runs.

        Raises:
            ChildDiedError: it has ended.

        """
        code = self._process.poll()
        if code is not None:
            raise ChildDiedError(self.name, code, self.log, last_lines(self.log))

    def terminate(self) -> None:
        """Ask it to end, without waiting; no effect on one that has."""
        with contextlib.suppress(ProcessLookupError):
            self._process.terminate()

    def kill(self) -> None:
        """End it now, stopped or not, and reap it."""
        if self.running:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
        self.wait(_KILL_SECONDS)


def stop(children: Iterable[Child], grace: float) -> None:
    """Ask all to end at once, then kill those that have not ended after `grace` seconds."""
    asked = [child for child in children if child.running]
    for child in asked:
        child.terminate()
    try:
        for child in asked:
            if child.wait(grace) is None:
                child.kill()
    except BaseException:
        for child in asked:
            child.kill()
        raise


def last_lines(log: Path, count: int = 12) -> str:
    """The end of a log, at most so many lines, without the traces of Go; empty where it cannot be read."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, file.seek(0, 2) - _TAIL_BYTES))
            lines = file.read().decode("utf-8", "replace").splitlines()
    except OSError:
        return ""
    trace = next((number for number, line in enumerate(lines) if line.startswith(_TRACE)), None)
    # What a program says when it panics stands before the traces, and only that is of use.
    ends = lines[:trace] if trace else lines
    return "\n".join(line[:_LINE_CHARACTERS] for line in ends[-count:]).rstrip()
