"""Bindings whose outcome is not known: the slot stays reserved until it is."""

import asyncio

import pytest

from gpusched.serve.promise import Verdict
from tests.build import Tree, t4_node
from tests.serve.binding_scene import bound_to, scene, waiting

pytestmark = pytest.mark.anyio


async def test_conflict_without_a_second_answer_keeps_the_slot() -> None:
    async with scene(t4_node(), waiting()) as it:
        it.api.script.append((Verdict.CONFLICT, "busy"))
        it.api.unreachable = True

        assert "did not say where the pod is" in await it.bind()
        assert (it.codes, it.used(), it.released) == (["unknown"], 1, 0)


async def test_a_lost_answer_keeps_the_slot_until_a_read_shows_the_pod_bound() -> None:
    async with scene(t4_node(), waiting()) as it:
        it.api.script.append((Verdict.UNKNOWN, "connection reset"))
        it.api.carried_out_although_unknown = True

        assert await it.bind() == "gpusched: the outcome of the binding is not known: connection reset"
        assert (it.codes, it.used(), it.open, it.binder.settled) == (["unknown"], 1, 1, False)

        it.now = 1000.0
        await it.binder.settle()
        assert (it.used(), it.released, it.binder.settled) == (1, 0, True)
        assert await it.bind() == ""


async def test_a_lost_answer_releases_only_when_it_is_too_late_and_the_pod_was_written() -> None:
    async with scene(t4_node(), waiting()) as it:
        it.api.script.append((Verdict.UNKNOWN, "timed out"))
        await it.bind()

        it.now = 59.9
        await it.binder.settle()
        assert (it.used(), it.released, it.api.touches) == (1, 0, 0)

        it.now = 60.0
        it.api.unreachable = True
        await it.binder.settle()
        assert (it.used(), it.released) == (1, 0)

        it.api.unreachable = False
        await it.binder.settle()
        assert (it.used(), it.open, it.released, it.api.touches) == (0, 0, 1, 2)


@pytest.mark.parametrize("shown", [None, bound_to(waiting(), "other"), waiting() | {"status": {"phase": "Failed"}}])
async def test_what_is_final_releases_before_the_limit(shown: Tree | None) -> None:
    async with scene(t4_node(), waiting()) as it:
        it.api.script.append((Verdict.UNKNOWN, "timed out"))
        await it.bind()
        it.api.pods = {} if shown is None else {"team-a/p": shown}

        await it.binder.settle()
        assert (it.used(), it.released) == (0, 1)


async def test_a_refusal_after_a_lost_answer_keeps_the_slot() -> None:
    async with scene(t4_node(), waiting()) as it:
        it.api.script.extend([(Verdict.UNKNOWN, "timed out"), (Verdict.REFUSED, "denied")])
        await it.bind()
        assert "denied" in await it.bind()

        assert (it.codes, it.used(), it.released) == (["unknown", "refused"], 1, 0)


async def test_a_retry_on_another_node_waits_until_the_first_is_settled() -> None:
    async with scene(t4_node(), t4_node("u4"), waiting()) as it:
        it.api.script.append((Verdict.UNKNOWN, "timed out"))
        await it.bind()

        assert await it.bind(node_name="u4") == "gpusched: an earlier bind of this pod to t4 is not settled yet"
        assert (it.used("t4"), it.used("u4"), len(it.api.binds)) == (1, 0, 1)

        it.now = 60.0
        assert await it.bind(node_name="u4") == ""
        assert (it.used("t4"), it.used("u4"), it.codes[-1]) == (0, 1, "bound")


async def test_a_read_that_began_before_a_new_attempt_releases_nothing() -> None:
    async with scene(t4_node(), waiting()) as it:
        it.api.script.append((Verdict.UNKNOWN, "timed out"))
        await it.bind()
        it.now = 61.0
        it.api.get_gate = asyncio.Event()
        settling = asyncio.create_task(it.binder.settle())
        await asyncio.sleep(0)

        it.now = 62.0
        it.api.script.append((Verdict.UNKNOWN, "timed out"))
        await it.bind()
        it.api.get_gate.set()
        await settling

        assert (it.used(), it.released) == (1, 0)
