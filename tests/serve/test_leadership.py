"""From when on, and until when, a replica answers the extender."""

import asyncio
import io
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from gpusched.obs.logging import configure
from gpusched.obs.metrics import Metrics
from gpusched.serve.leadership import Leadership
from tests.fakes.timing import eventually

pytestmark = pytest.mark.anyio


class Term:
    """A leadership whose preparations and duties leave a trace."""

    def __init__(self) -> None:
        self.holds = True
        self.quiet = asyncio.Event()
        self.quiet.set()
        self.trace: list[str] = []
        self.relisted = asyncio.Event()
        self.metrics = Metrics()
        self.leadership = Leadership(
            lambda: self.holds, self._relist, (self._duty,), self.metrics, configure(stream=io.StringIO()), self._wait
        )

    async def _wait(self) -> None:
        await self.quiet.wait()

    async def _relist(self) -> None:
        self.trace.append("relist")
        await self.relisted.wait()

    async def _duty(self) -> None:
        self.trace.append("duty")
        try:
            await asyncio.Event().wait()
        finally:
            self.trace.append("over")

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Leadership]:
        task = asyncio.create_task(self.leadership.run())
        yield self.leadership
        assert not task.done()
        task.cancel()


async def test_a_term_begins_with_a_new_list_and_ends_with_the_lease() -> None:
    term = Term()
    async with term.running() as leadership:
        term.holds = False
        assert leadership.closed() == "this replica does not lead"

        term.holds = True
        leadership.start()
        await eventually(lambda: term.trace == ["relist"])
        assert "has just become the leader" in (leadership.closed() or "")

        term.relisted.set()
        await eventually(lambda: leadership.ready)
        assert (leadership.closed(), term.trace) == (None, ["relist", "duty"])
        assert term.metrics.registry.get_sample_value("gpusched_leader") == 1

        term.holds = False
        assert not leadership.ready
        leadership.stop()
        await eventually(lambda: term.trace == ["relist", "duty", "over"])
        assert term.metrics.registry.get_sample_value("gpusched_leader") == 0

        term.holds = True
        leadership.start()
        await eventually(lambda: leadership.ready)


async def test_bindings_of_a_vanished_leader_are_waited_for() -> None:
    term = Term()
    term.quiet.clear()
    term.relisted.set()
    async with term.running() as leadership:
        leadership.start("gone_1234")
        await asyncio.sleep(0.01)
        assert (leadership.ready, term.trace) == (False, [])
        term.quiet.set()
        await eventually(lambda: leadership.ready)


async def test_a_term_that_ends_during_its_preparations() -> None:
    term = Term()
    async with term.running() as leadership:
        leadership.start()
        await eventually(lambda: term.trace == ["relist"])
        leadership.stop()
        await asyncio.sleep(0.01)
        assert term.trace == ["relist"]
        leadership.start()
        await eventually(lambda: term.trace == ["relist", "relist"])


async def test_the_label_follows_leadership_and_is_written_again_after_a_failure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("gpusched.serve.leadership._RETRY", 0.0)
    term, written, problems = Term(), [], ["timed out"]

    async def label(leading: bool) -> str | None:
        if problems:
            return problems.pop()
        written.append(leading)
        return None

    task = asyncio.create_task(term.leadership.keep_label(label))
    await eventually(lambda: written == [False])
    term.leadership.start()
    await eventually(lambda: written == [False, True])
    term.leadership.stop()
    await eventually(lambda: written == [False, True, False])
    task.cancel()
