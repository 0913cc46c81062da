"""Clocks, waiting and chance as one value, so that tests can set them."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

import msgspec


def _utc_now() -> datetime:
    return datetime.now(UTC)


class Timing(msgspec.Struct, frozen=True):
    """`clock` counts seconds and never jumps; `wall_clock` is for people; `chance` spreads load and guards nothing."""

    clock: Callable[[], float] = time.monotonic
    wall_clock: Callable[[], datetime] = _utc_now
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    chance: random.Random = msgspec.field(default_factory=random.Random)

    def timestamp(self) -> str:
        """The time of day as the API's MicroTime has it: RFC 3339, UTC, microseconds."""
        return self.wall_clock().astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
