"""Pods refused on a state that kube-scheduler was ahead of are woken; those that it asks about again are not."""

import asyncio
from collections.abc import Collection

import pytest

from gpusched.serve.overtaken import Overtaken
from gpusched.wire.decision import Decision

pytestmark = pytest.mark.anyio


class Scene:
    def __init__(self) -> None:
        self.now = 100.0
        self.woken: list[list[str]] = []
        self.told = asyncio.Event()
        self.overtaken = Overtaken(self._wake, lambda: self.now)

    def _wake(self, keys: Collection[str]) -> None:
        self.woken.append(sorted(keys))
        self.told.set()

    def refused(self, *keys: str) -> None:
        for key in keys:
            self.overtaken.asked(Decision("filter", uid=key, code="memory-claim", asked=3))

    def fits(self, key: str) -> None:
        self.overtaken.asked(Decision("filter", uid=key, code="fits", asked=3, kept=1))

    async def room(self) -> None:
        self.overtaken.made_room()
        self.overtaken.settle()


async def test_a_pod_refused_right_before_is_woken_once() -> None:
    scene = Scene()
    scene.refused("a", "b")
    scene.fits("c")
    await scene.room()
    await scene.room()
    assert scene.woken == [["a", "b"]]


async def test_a_pod_asked_about_since_is_left_alone() -> None:
    scene = Scene()
    scene.refused("a", "b", "c")
    scene.overtaken.made_room()
    scene.refused("a")
    scene.fits("b")
    scene.overtaken.settle()
    assert scene.woken == [["c"]]


async def test_an_old_refusal_missed_nothing() -> None:
    scene = Scene()
    scene.refused("a")
    scene.now += 2.5
    await scene.room()
    assert scene.woken == []


async def test_it_settles_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpusched.serve.overtaken._GRACE", 0.0)
    scene = Scene()
    scene.refused("a")
    scene.overtaken.made_room()
    scene.overtaken.made_room()
    await asyncio.wait_for(scene.told.wait(), 5)
    assert scene.woken == [["a"]]


async def test_only_so_many_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpusched.serve.overtaken._REMEMBERED", 2)
    scene = Scene()
    scene.refused("a", "b", "c")
    scene.overtaken.asked(Decision("filter", code="unreadable"))
    await scene.room()
    assert scene.woken == [["b", "c"]]
