"""Progress of long work on standard error: nothing for the first second, then one line that stays short."""

import time
from collections.abc import Callable
from types import TracebackType
from typing import Final, Self, TextIO

from gpusched.cli.output import write
from gpusched.cli.style import is_terminal

_PATIENCE: Final = 1.0
_TERMINAL_INTERVAL: Final = 0.1
_LOG_INTERVAL: Final = 5.0


class Progress:
    """Tells how far work is, such as `simulating 1200/5000 pods`.

    On a terminal one line is written over and wiped at the end; elsewhere a line is added every five seconds. `clock`
    gives seconds.
    """

    def __init__(
        self, verb: str, unit: str, *, stream: TextIO, quiet: bool = False, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._verb = verb
        self._unit = unit
        self._stream = stream
        self._quiet = quiet
        self._clock = clock
        self._terminal = is_terminal(stream)
        self._next = clock() + _PATIENCE
        self._shown = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.close()

    def begin(self, line: str) -> None:
        """Say on a terminal, and at once, what one long step does that tells nothing of itself."""
        if self._terminal and not self._quiet:
            self._quiet = not write(f"\r{line}", self._stream)
            self._shown = len(line)

    def update(self, done: int, total: int | None = None) -> None:
        """So many are done, of so many where that is known. Cheap enough to call for each."""
        if self._quiet or (now := self._clock()) < self._next:
            return
        self._next = now + (_TERMINAL_INTERVAL if self._terminal else _LOG_INTERVAL)
        line = f"{self._verb} {done}{'' if total is None else f'/{total}'} {self._unit}"
        if self._terminal:
            self._quiet = not write("\r" + line.ljust(self._shown), self._stream)
            self._shown = len(line)
        else:
            self._quiet = not write(line + "\n", self._stream)

    def close(self) -> None:
        """Wipe the line on a terminal."""
        if self._shown and not self._quiet:
            write("\r" + " " * self._shown + "\r", self._stream)
        self._shown = 0
