"""A temporary folder and the processes that work in it: whatever ends this process, both are gone."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from gpusched.local.process import Child

_REAPER = Path(__file__).with_name("reaper.py")


class Guard:
    """Owns a folder, a process group, and the process that ends both when this one is gone without a word.

    `folder` is created with mode 0700 by entering; `parent` is where, by default the system's place for temporary
    files. Children join a group of their own, so that Ctrl-C on a terminal reaches only this process.
    """

    folder: Path

    def __init__(self, parent: Path | None = None) -> None:
        self._parent = parent
        self._reaper: subprocess.Popen[bytes] | None = None
        self._children: list[Child] = []

    def __enter__(self) -> Self:
        self.folder = Path(tempfile.mkdtemp(prefix="gpusched-", dir=self._parent))
        try:
            # -I: the program must not depend on the working folder or on PYTHONPATH; -S: it starts twice as fast.
            command = [sys.executable, "-I", "-S", str(_REAPER), str(self.folder)]
            self._reaper = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, process_group=0
            )
        except BaseException:
            shutil.rmtree(self.folder, ignore_errors=True)
            raise
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.close()

    def spawn(
        self,
        name: str,
        command: Sequence[str],
        log: Path,
        *,
        folder: Path | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> Child:
        """Start a program whose output goes to `log`.

        Raises:
            OSError: the program or the log cannot be opened.

        """
        if self._reaper is None:
            raise RuntimeError("the guard is not entered")
        with log.open("ab") as output:
            process = subprocess.Popen(
                list(command),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=folder,
                env=environment,
                process_group=self._reaper.pid,
            )
        child = Child(name, process, log)
        self._children.append(child)
        return child

    def close(self) -> None:
        """Kill what still runs, remove the folder; may be called twice, and again after an interrupt."""
        reaper = self._reaper
        if reaper is None or reaper.stdin is None:
            return
        for child in self._children:
            child.kill()
        shutil.rmtree(self.folder, ignore_errors=True)
        # An interrupt may have come between the start of a child and its entry in the list.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(reaper.pid, signal.SIGKILL)
        reaper.kill()
        reaper.stdin.close()
        reaper.wait()
        shutil.rmtree(self.folder, ignore_errors=True)
        self._reaper = None
