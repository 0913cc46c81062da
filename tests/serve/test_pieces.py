"""Long work leaves the event loop to others again and again."""

import asyncio
import time

import pytest

from gpusched.serve.pieces import in_pieces

pytestmark = pytest.mark.anyio


async def test_others_have_their_turn() -> None:
    turns = 0

    async def other() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    def steps() -> list[int]:
        return list(range(20))

    task = asyncio.create_task(other())
    found = []
    async for step in in_pieces(steps()):
        found.append(step)
        until = time.perf_counter() + 0.003
        while time.perf_counter() < until:
            pass
    task.cancel()

    assert found == steps()
    assert turns >= 19


async def test_short_work_is_done_at_once() -> None:
    turned = False

    async def other() -> None:
        nonlocal turned
        turned = True

    task = asyncio.create_task(other())
    assert [step async for step in in_pieces("abc")] == ["a", "b", "c"]
    assert not turned
    await task
