"""Long work on the event loop in short pieces, between which everybody else has a turn."""

import asyncio
import time
from collections.abc import AsyncGenerator, Iterable
from typing import Final, TypeVar

_T = TypeVar("_T")
#: Seconds of one piece.
_PIECE: Final = 0.002


async def in_pieces(steps: Iterable[_T]) -> AsyncGenerator[_T, None]:
    """The same items. The state may change between two of them."""
    until = time.perf_counter() + _PIECE
    for step in steps:
        yield step
        if time.perf_counter() >= until:
            await asyncio.sleep(0)
            until = time.perf_counter() + _PIECE


async def work_off(steps: Iterable[object]) -> None:
    """Take all steps; each by itself must be short."""
    async for _ in in_pieces(steps):
        pass
