"""Events: created once, counted when said again, never a flood."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

import pytest

from gpusched.kube.events import Recorder, Reference, Severity
from gpusched.kube.session import Session
from tests.fakes.apiserver import EVENTS, ApiServer, WriteFault
from tests.fakes.timing import SimulatedTime, eventually

pytestmark = pytest.mark.anyio

TRAINER = Reference("Pod", "trainer", "team-a", "uid-1")
NODE = Reference("Node", "n0")


@asynccontextmanager
async def recording(
    session: Session, time: SimulatedTime | None = None, on_drop: Callable[[], None] = lambda: None
) -> AsyncIterator[Recorder]:
    recorder = Recorder(session, "gpusched-0", timing=(time or SimulatedTime()).timing(), on_drop=on_drop)
    task = asyncio.create_task(recorder.run())
    try:
        yield recorder
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


def stored(server: ApiServer) -> list[tuple[str, str, int]]:
    return [(tree["reason"], tree["message"], tree["count"]) for tree in server.objects[EVENTS].values()]


async def test_event_as_the_api_wants_it(server: ApiServer, session: Session) -> None:
    async with recording(session) as recorder:
        recorder.record(TRAINER, "GPUQuotaWait", "waits for quota")
        await eventually(lambda: bool(server.objects[EVENTS]))

    ((identity, tree),) = server.objects[EVENTS].items()
    metadata = tree.pop("metadata")
    assert identity == f"team-a/{metadata['name']}"
    assert metadata["name"].startswith("trainer.")
    assert tree == {
        "apiVersion": "v1",
        "kind": "Event",
        "involvedObject": {
            "apiVersion": "v1",
            "kind": "Pod",
            "name": "trainer",
            "namespace": "team-a",
            "uid": "uid-1",
        },
        "reason": "GPUQuotaWait",
        "message": "waits for quota",
        "type": "Warning",
        "source": {"component": "gpusched"},
        "reportingComponent": "gpusched",
        "reportingInstance": "gpusched-0",
        "firstTimestamp": "2030-01-01T00:00:00Z",
        "lastTimestamp": "2030-01-01T00:00:00Z",
        "count": 1,
    }


async def test_same_thing_again_raises_the_count(server: ApiServer, session: Session) -> None:
    time = SimulatedTime()
    async with recording(session, time) as recorder:
        recorder.record(TRAINER, "GPUQuotaWait", "waits")
        await eventually(lambda: stored(server) == [("GPUQuotaWait", "waits", 1)])
        time.now = 60.0
        recorder.record(TRAINER, "GPUQuotaWait", "waits")
        recorder.record(TRAINER, "GPUQuotaWait", "waits")
        await eventually(lambda: stored(server) == [("GPUQuotaWait", "waits", 3)])

    (tree,) = server.objects[EVENTS].values()
    assert (tree["firstTimestamp"], tree["lastTimestamp"]) == ("2030-01-01T00:00:00Z", "2030-01-01T00:01:00Z")
    assert len(server.requests) == 2


async def test_a_text_that_changes_stays_one_event(server: ApiServer, session: Session) -> None:
    async with recording(session) as recorder:
        for place in (3, 2, 1):
            recorder.record(TRAINER, "GPUQuotaWait", f"place {place}")
            await eventually(
                lambda text=f"place {place}": [one[1:] for one in stored(server)] == [(text, 4 - int(text[-1]))]
            )
        recorder.record(TRAINER, "GPUPolicyStale", "recreate it")
        await eventually(lambda: len(stored(server)) == 2)

    assert stored(server) == [("GPUQuotaWait", "place 1", 3), ("GPUPolicyStale", "recreate it", 1)]


async def test_what_was_not_written_is_forgotten_at_the_end_of_a_run(server: ApiServer, session: Session) -> None:
    async with recording(session) as recorder:
        pass
    recorder.record(TRAINER, "GPUQuotaWait", "waits")
    task = asyncio.create_task(recorder.run())
    await asyncio.sleep(0)
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task

    assert not recorder._waiting


async def test_event_of_an_earlier_process_is_counted_on(server: ApiServer, session: Session) -> None:
    for requests in (1, 3):
        async with recording(session) as recorder:
            recorder.record(NODE, "GPUNodeUnusable", "no driver", Severity.NORMAL)
            await eventually(lambda expected=requests: len(server.requests) == expected)

    assert [method for method, _, _ in server.requests] == ["POST", "POST", "PATCH"]
    assert stored(server) == [("GPUNodeUnusable", "no driver", 1)]
    assert next(iter(server.objects[EVENTS])).startswith("default/n0.")


async def test_event_that_the_server_forgot_is_created_anew(server: ApiServer, session: Session) -> None:
    async with recording(session) as recorder:
        recorder.record(TRAINER, "GPUQuotaWait", "waits")
        await eventually(lambda: bool(server.objects[EVENTS]))
        server.remove(EVENTS, next(iter(server.objects[EVENTS])))
        recorder.record(TRAINER, "GPUQuotaWait", "waits")
        await eventually(lambda: stored(server) == [("GPUQuotaWait", "waits", 2)])


async def test_one_object_cannot_flood(server: ApiServer, session: Session) -> None:
    time, lost = SimulatedTime(), list[str]()
    async with recording(session, time, lambda: lost.append("lost")) as recorder:
        for index in range(100):
            recorder.record(TRAINER, f"Reason{index}", "waits")
        recorder.record(NODE, "GPUNodeUnusable", "no driver")
        await eventually(lambda: len(server.objects[EVENTS]) == 26)
        dropped = recorder.dropped
        time.now = 300.0
        recorder.record(TRAINER, "OneMore", "waits")
        recorder.record(TRAINER, "AndAnother", "waits")
        await eventually(lambda: len(server.objects[EVENTS]) == 27)

    assert dropped == 75
    assert recorder.dropped == lost.count("lost") == 76


@pytest.mark.parametrize("fault", WriteFault)
async def test_event_survives_one_failure(server: ApiServer, session: Session, fault: WriteFault) -> None:
    server.write_faults.append(fault)
    async with recording(session) as recorder:
        recorder.record(TRAINER, "GPUQuotaWait", "waits")
        await eventually(lambda: stored(server) == [("GPUQuotaWait", "waits", 1)])
        await eventually(lambda: not recorder._waiting)

    assert recorder.dropped == 0


async def test_refused_event_is_dropped(server: ApiServer, session: Session) -> None:
    server.forbidden.add(EVENTS)
    async with recording(session) as recorder:
        recorder.record(TRAINER, "GPUQuotaWait", "waits")
        await eventually(lambda: recorder.dropped == 1)

    assert len(server.requests) == 1


async def test_long_message_is_cut(server: ApiServer, session: Session) -> None:
    async with recording(session) as recorder:
        recorder.record(TRAINER, "GPUQuotaWait", "x" * 2000)
        await eventually(lambda: bool(server.objects[EVENTS]))

    ((_, message, _),) = stored(server)
    assert message == "x" * 1020 + " ..."


async def test_memory_is_bounded(session: Session) -> None:
    recorder = Recorder(session, "gpusched-0", timing=SimulatedTime().timing())
    for index in range(10_000):
        assert recorder.full == (index >= 1_000)
        recorder.record(Reference("Pod", f"p{index}", "team-a"), "GPUQuotaWait", "waits")

    assert len(recorder._waiting) == 1_000
    assert len(recorder._said) <= 5_000
    assert len(recorder._buckets) <= 4_096
    assert recorder.dropped == 9_000
