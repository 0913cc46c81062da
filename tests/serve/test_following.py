"""Whether the cache may be trusted, and lists made anew."""

import asyncio
import io
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from gpusched.obs.logging import configure
from gpusched.obs.metrics import Metrics
from gpusched.serve import following as module
from gpusched.serve.following import Following
from gpusched.state.events import Kind
from tests.fakes.timing import eventually

pytestmark = pytest.mark.anyio


class FakeFollower:
    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self.synced = asyncio.Event()
        self.problem = ""
        self.lists = 0
        self.seconds = 0.0
        self.runs = 0
        self.answer = asyncio.Event()
        self.answer.set()

    def age(self, now: float) -> float:
        return now - self.seconds

    async def run(self) -> None:
        self.runs += 1
        await self.answer.wait()
        self.lists += 1
        self.synced.set()
        await asyncio.Event().wait()


@asynccontextmanager
async def following(*kinds: Kind) -> AsyncIterator[tuple[Following, list[FakeFollower]]]:
    followers = [FakeFollower(kind) for kind in kinds or (Kind.NODE, Kind.POD, Kind.RUNTIME_CLASS)]
    async with asyncio.TaskGroup() as tasks:
        found = Following(followers, tasks, lambda: 100.0, 180.0)
        yield found, followers
        for task in found._running.values():
            task.cancel()


async def test_nothing_is_decided_before_every_kind_was_listed() -> None:
    async with following() as (found, followers):
        followers[1].answer.clear()
        followers[1].problem = "Pod: 403 forbidden"
        found.start()
        await eventually(followers[2].synced.is_set)

        assert not found.synced
        assert found.closed() == "cache is not synced yet, waiting for Pod (Pod: 403 forbidden)"

        followers[1].answer.set()
        await found.wait_synced()
        assert (found.synced, found.closed()) == (True, None)


async def test_a_cache_too_old_is_closed_and_says_its_age() -> None:
    async with following() as (found, (_, pod, runtime_class)):
        found.start()
        await found.wait_synced()
        runtime_class.seconds = -1000.0
        assert (found.age(), found.closed()) == (100.0, None)

        pod.seconds, pod.problem = -81.0, "Pod: connection refused"
        assert found.closed() == "cache is 181 s old, the limit is 180 s (Pod: connection refused)"
        assert "Pod: synced, 181 s old, Pod: connection refused" in found.lines()

        pod.seconds = 100.0
        assert found.closed() is None


async def test_a_new_list_ends_the_former_watch_first() -> None:
    async with following(Kind.POD) as (found, (pod,)):
        found.start()
        await found.wait_synced()
        pod.answer.clear()

        relisting = asyncio.create_task(found.relist(Kind.POD))
        await eventually(lambda: pod.runs == 2)
        assert not relisting.done()

        pod.answer.set()
        await relisting
        assert pod.lists == 2


async def test_whoever_gives_up_waiting_leaves_the_kind_followed() -> None:
    async with following(Kind.POD) as (found, (pod,)):
        found.start()
        await found.wait_synced()
        relisting = asyncio.create_task(found.relist(Kind.POD))
        await asyncio.sleep(0)
        relisting.cancel()

        await eventually(lambda: pod.lists == 2)


async def test_metrics_show_age_and_sync() -> None:
    async with following(Kind.NODE) as (found, (node,)):
        metrics = Metrics()
        found.export(metrics)
        node.seconds = 40.0

        assert metrics.registry.get_sample_value("gpusched_cache_age_seconds", {"kind": "Node"}) == 60.0
        assert metrics.registry.get_sample_value("gpusched_synced", {"kind": "Node"}) == 0


async def test_what_keeps_kinds_from_being_followed_is_logged_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_TELL", 0.001)
    lines = io.StringIO()
    log = configure(stream=lines)

    def told() -> list[dict[str, object]]:
        return [json.loads(line) for line in lines.getvalue().splitlines()]

    async with following(Kind.NODE, Kind.POD) as (found, followers):
        followers[0].problem = followers[1].problem = "no answer"
        telling = asyncio.create_task(found.tell(log))
        await eventually(lambda: len(told()) == 1)
        followers[0].problem = followers[1].problem = ""
        await eventually(lambda: len(told()) == 2)
        telling.cancel()

    assert [(line["level"], line["event"], line.get("problems")) for line in told()] == [
        ("warning", "API server not followed", ["no answer"]),
        ("info", "API server followed again", None),
    ]
