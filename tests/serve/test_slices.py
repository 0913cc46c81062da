"""Long work lets others have their turn."""

import asyncio
import time
from collections.abc import Iterator

import pytest

from gpusched.serve.slices import in_slices

pytestmark = pytest.mark.anyio


def busy(seconds: float, steps: list[int]) -> Iterator[None]:
    for number in range(40):
        until = time.perf_counter() + seconds
        while time.perf_counter() < until:
            pass
        steps.append(number)
        yield


async def test_others_run_between_the_slices() -> None:
    turns = 0
    steps: list[int] = []

    async def other() -> None:
        nonlocal turns
        while len(steps) < 40:
            turns += 1
            await asyncio.sleep(0)

    await asyncio.gather(in_slices(busy(0.001, steps)), other())

    assert steps == list(range(40))
    assert turns >= 10


async def test_short_work_is_done_at_once() -> None:
    steps: list[int] = []

    await asyncio.wait_for(in_slices(busy(0, steps)), 5)

    assert len(steps) == 40
