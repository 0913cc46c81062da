"""Time that passes only when somebody sleeps, and waiting for what other tasks do."""

import asyncio
import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from gpusched.kube.timing import Timing

_START = datetime(2030, 1, 1, tzinfo=UTC)


class SimulatedTime:
    """Sleeping moves the clock at once; whoever sleeps past `until` sleeps for ever."""

    def __init__(self, until: float = float("inf"), seed: int = 0) -> None:
        self.now = 0.0
        self.slept: list[float] = []
        self._until = until
        self._seed = seed

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds
        if self.now >= self._until:
            await asyncio.Event().wait()
        await asyncio.sleep(0)

    def timing(self) -> Timing:
        return Timing(
            clock=lambda: self.now,
            wall_clock=lambda: _START + timedelta(seconds=self.now),
            sleep=self.sleep,
            chance=random.Random(self._seed),
        )


async def eventually(holds: Callable[[], bool], seconds: float = 10.0) -> None:
    """Wait until something holds; fail when it does not come about."""
    async with asyncio.timeout(seconds):
        while not holds():  # noqa: ASYNC110 - what is waited for tells nobody
            await asyncio.sleep(0.001)
