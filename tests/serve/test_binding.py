"""Every way in which a bind can end, and what becomes of its reservation."""

import asyncio
from collections.abc import Callable

import msgspec
import pytest

from gpusched.serve.promise import Verdict
from gpusched.state.events import Gone, Kind
from gpusched.wire.decision import Decision
from tests.build import Tree, node, t4_node
from tests.fakes.binding_api import FakeBindingApi
from tests.placement.scene import see
from tests.serve.binding_scene import bound_to, scene, waiting

pytestmark = pytest.mark.anyio


async def test_success_is_confirmed_and_holds_the_slot_until_the_watch_shows_it() -> None:
    async with scene(t4_node(), waiting()) as it:
        assert await it.bind() == ""

        assert it.api.binds == [("p", "uid-p", "t4")]
        assert (it.codes, it.used(), it.open) == (["bound"], 1, 1)
        assert it.decisions[0] == Decision("bind", "team-a", "p", "uid-p", code="bound", node="t4")

        see(it.cluster, bound_to(waiting(), "t4"))
        await it.binder.settle()

        assert (it.used(), it.open, it.released) == (1, 0, 0)


@pytest.mark.parametrize(
    ("trees", "node_name", "error", "code"),
    [
        ([t4_node()], "t4", "gpusched: not enough free GPU slots", "free-replicas"),
        ([t4_node(gpus=4)], "nowhere", "gpusched: node nowhere is not known", "unknown-node"),
        ([node("t4", gpus=None)], "t4", "gpusched: node does not offer the GPU resource", "no-resource"),
    ],
)
async def test_a_refused_check_sends_nothing(trees: list[Tree], node_name: str, error: str, code: str) -> None:
    async with scene(*trees, waiting(gpus=2)) as it:
        assert await it.bind(node_name=node_name) == error
        assert (it.codes, it.api.binds, it.open) == ([code], [], 0)


async def test_refused_releases_at_once_and_once() -> None:
    async with scene(t4_node(), waiting()) as it:
        it.api.script.append((Verdict.REFUSED, 'admission webhook "x" denied the request'))

        error = await it.bind()

        assert error == 'gpusched: the pod was not bound: admission webhook "x" denied the request'
        assert (it.codes, it.used(), it.open, it.released) == (["refused"], 0, 0, 1)
        await it.binder.settle()
        assert it.released == 1


async def test_conflict_with_this_very_node_is_success() -> None:
    async with scene(t4_node(), waiting()) as it:
        it.api.pods["team-a/p"] = bound_to(waiting(), "t4")

        assert await it.bind() == ""
        assert (it.codes, it.used(), it.api.reads) == (["bound"], 1, 1)


@pytest.mark.parametrize(
    ("shown", "error", "code"),
    [
        (bound_to(waiting(), "other"), "gpusched: the pod is on node other already", "conflict"),
        (waiting() | {"status": {"phase": "Succeeded"}}, "gpusched: busy", "gone"),
        (None, "gpusched: busy", "gone"),
        (waiting(), "gpusched: busy", "conflict"),
    ],
)
async def test_other_conflicts_release(shown: Tree | None, error: str, code: str) -> None:
    async with scene(t4_node(), waiting()) as it:
        it.api.script.append((Verdict.CONFLICT, "busy"))
        it.api.pods = {} if shown is None else {"team-a/p": shown}

        assert await it.bind() == error
        assert (it.codes, it.used(), it.released) == ([code], 0, 1)


async def test_conflict_with_a_recreated_pod_releases() -> None:
    async with scene(t4_node(), waiting()) as it:
        it.api.pods["team-a/p"]["metadata"]["uid"] = "another"

        assert "Precondition failed" in await it.bind()
        assert (it.codes, it.used()) == (["gone"], 0)


async def test_of_binds_that_race_for_one_slot_exactly_one_wins() -> None:
    names = [f"p{index}" for index in range(20)]
    async with scene(t4_node(), *(waiting(name) for name in names)) as it:
        errors = await asyncio.gather(*(it.bind(name) for name in names))

        assert sorted(errors) == ["", *["gpusched: not enough free GPU slots"] * 19]
        assert (it.used(), len(it.api.binds)) == (1, 1)


async def test_two_binds_of_one_pod_are_one() -> None:
    async with scene(t4_node(), waiting()) as it:
        it.api.bind_gate = asyncio.Event()
        both = asyncio.gather(it.bind(), it.bind())
        await asyncio.sleep(0.01)
        it.api.bind_gate.set()

        assert await both == ["", ""]
        assert len(it.api.binds) == 1


async def test_a_slow_bind_is_answered_in_time_and_goes_on() -> None:
    async with scene(t4_node(), waiting()) as it:
        it.api.bind_gate = asyncio.Event()

        error = await it.bind()
        assert error == "gpusched: the API server has not confirmed the binding yet; its slots stay reserved"
        assert it.used() == 1

        it.api.bind_gate.set()
        await it.binder.finish()
        assert it.api.pods["team-a/p"]["spec"]["nodeName"] == "t4"
        assert await it.bind() == ""


@pytest.mark.parametrize("gpus", ["0", None])
async def test_a_pod_without_demand_is_bound_without_a_promise(gpus: str | None) -> None:
    async with scene(t4_node(), waiting(gpus=gpus)) as it:
        assert await it.bind() == ""
        assert (it.open, it.used(), it.codes) == (0, 0, ["bound"])


async def test_a_pod_that_the_watch_has_not_brought_is_read() -> None:
    async with scene(t4_node(), waiting(gpus=1), seen=False) as it:
        assert await it.bind() == ""
        assert (it.used(), it.api.reads) == (1, 1)

        it.api.pods.clear()
        await it.binder.settle()
        assert (it.used(), it.released) == (0, 1)


@pytest.mark.parametrize(
    ("change", "error", "code"),
    [
        (lambda api: api.pods.clear(), "gone, finished or replaced", "gone"),
        (lambda api: setattr(api, "unreachable", True), "the API server did not answer", "unreachable"),
        (lambda api: setattr(api, "get_gate", asyncio.Event()), "did not answer in time", "unreachable"),
        (lambda api: bound_to(api.pods["team-a/p"], "other"), "on node other already", "conflict"),
    ],
)
async def test_an_unseen_pod_that_cannot_be_bound(
    change: Callable[[FakeBindingApi], object], error: str, code: str
) -> None:
    async with scene(t4_node(), waiting(), seen=False) as it:
        change(it.api)

        assert error in await it.bind()
        assert (it.codes, it.api.binds, it.used()) == ([code], [], 0)


async def test_a_pod_seen_bound_needs_no_second_binding() -> None:
    async with scene(t4_node(), bound_to(waiting(), "t4")) as it:
        assert await it.bind() == ""
        assert await it.bind(node_name="u4") == "gpusched: the pod is on node t4 already"
        assert it.api.binds == []


async def test_a_pod_that_goes_takes_its_promise_along() -> None:
    async with scene(t4_node(), waiting()) as it:
        await it.bind()
        it.cluster.apply(Gone(Kind.POD, "uid-p"))
        await it.binder.settle()

        assert (it.used(), it.open, it.released) == (0, 0, 0)


async def test_who_no_longer_leads_promises_nothing() -> None:
    async with scene(t4_node(), waiting()) as it:
        it.leading = False

        assert await it.bind() == "gpusched: another replica leads by now"
        assert (it.codes, it.api.binds, it.used()) == (["standby"], [], 0)


@pytest.mark.parametrize(
    "body",
    [b"", b"null", b"[]", b"{", b"\xff", b'{"PodName": 1}', b"{}", b'{"PodName":"p","PodNamespace":"n","PodUID":"u"}'],
)
async def test_what_cannot_be_read_is_an_error(body: bytes) -> None:
    async with scene(t4_node()) as it:
        answer = msgspec.json.decode(await it.binder.answer(body))

        assert "gpusched cannot read the request" in answer["Error"]
        assert it.codes == ["unreadable"]
