"""Explanations beside the decisions: one at a time on the copy, whatever becomes of those who asked."""

import asyncio
import threading
from typing import Any

import msgspec
import pytest

from gpusched.serve.view import explainer
from gpusched.serve.view.access import EVERYTHING
from gpusched.serve.view.why import WhyView
from gpusched.simulate.world import World
from tests.fakes.timing import eventually
from tests.serve.view.scene import Scene

pytestmark = pytest.mark.anyio


async def test_a_thread_that_nobody_waits_for_has_the_copy_for_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    scene = Scene()
    scene.wait("one", "team-a", gpus=2)
    scene.wait("other", "team-a", gpus=3)
    begun, go_on = threading.Event(), threading.Event()
    at_work: list[int] = []
    why_view = explainer.why_view

    def slow(tree: dict[str, object], world: World) -> WhyView:
        at_work.append(1)
        assert len(at_work) == 1
        begun.set()
        assert go_on.wait(30)
        answer = why_view(tree, world)
        at_work.pop()
        return answer

    monkeypatch.setattr(explainer, "why_view", slow)
    gone = asyncio.create_task(scene.view.why(EVERYTHING, "team-a", "one"))
    assert await asyncio.to_thread(begun.wait, 30)
    gone.cancel()
    await asyncio.wait({gone})
    later = asyncio.create_task(scene.view.why(EVERYTHING, "team-a", "other"))
    await eventually(lambda: scene.fetched == ["team-a/one", "team-a/other"])
    go_on.set()

    answer: Any = msgspec.json.decode(await later or b"")
    assert answer["why"]["name"] == "other"


async def test_a_fault_leaves_no_trace_on_the_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    scene = Scene()
    scene.lose("t4")
    scene.wait("mine", "team-a", gpus=2)
    why_view = explainer.why_view

    def failing(_tree: dict[str, object], world: World) -> WhyView:
        world.cluster.books.forget(next(iter(world.cluster.pods)))
        raise KeyError("a fault")

    monkeypatch.setattr(explainer, "why_view", failing)
    with pytest.raises(KeyError):
        await scene.view.why(EVERYTHING, "team-a", "mine")
    monkeypatch.setattr(explainer, "why_view", why_view)

    answer: Any = msgspec.json.decode(await scene.view.why(EVERYTHING, "team-a", "mine") or b"")
    assert answer["why"]["suggestion"] == "Wait: pod team-b/train on h100 holds it"


async def test_a_list_does_not_wait_for_an_explanation_of_somebody_else() -> None:
    scene = Scene()
    scene.wait("mine", "team-a", gpus=2)

    async with scene.explainer._turn:
        answer = msgspec.json.decode(await scene.view.pods(EVERYTHING))

    assert [pod["why"] for pod in answer["pods"]] == [None]
