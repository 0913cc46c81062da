"""Turns what `go` prints while it builds into a few lines for people."""

import time
from collections.abc import Callable
from typing import Final

_INTERVAL_SECONDS: Final = 5.0


class BuildProgress:
    """Tells how far a build is, at most every five seconds.

    `total` is the number of packages; those in Go's cache are not printed by it, so that the count may stay below.
    """

    total: int | None = None

    def __init__(self, name: str, tell: Callable[[str], None], clock: Callable[[], float] = time.monotonic) -> None:
        self._name = name
        self._tell = tell
        self._clock = clock
        self._started = clock()
        self._next = self._started

    def downloads(self, lines: list[str]) -> None:
        """So many modules were downloaded up to now, one a line of the output."""
        count = sum(1 for line in lines if line.startswith("go: downloading "))
        self._say(f"{count} modules downloaded" if count else "reading modules")

    def compiled(self, lines: list[str]) -> None:
        """These packages were compiled up to now."""
        count = sum(1 for line in lines if line and not line.startswith(("go: ", "#")))
        self._say(
            f"{count} packages compiled, {self.total} at most" if count else "packages are in Go's cache, linking"
        )

    def finished(self) -> None:
        """The build is done."""
        self._next = self._started
        self._say("built")

    def _say(self, what: str) -> None:
        now = self._clock()
        if now < self._next:
            return
        self._next = now + _INTERVAL_SECONDS
        self._tell(f"{self._name}: {what} ({duration(now - self._started)})")


def duration(seconds: float) -> str:
    """`42 s` or `3 min 5 s`."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
