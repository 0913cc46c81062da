"""Long work in slices, so that decisions that come meanwhile do not wait for its end."""

import asyncio
import time
from collections.abc import Iterator
from typing import Final

#: Seconds of work after which the event loop goes on with what has come in.
_SLICE: Final = 0.002


async def in_slices(steps: Iterator[object]) -> None:
    """Take all steps; each by itself must be short."""
    began = time.perf_counter()
    for _ in steps:
        if time.perf_counter() - began >= _SLICE:
            await asyncio.sleep(0)
            began = time.perf_counter()
