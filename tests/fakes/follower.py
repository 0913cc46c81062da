"""A reflector at work on a server, and the cache that it fills."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Self

from gpusched.core.read_cluster import read_node
from gpusched.kube.reflector import Reflector
from gpusched.kube.session import Session
from gpusched.kube.source import Source
from gpusched.state.events import Event, Gone, Kind, Seen, Upsert, key_of
from tests.fakes.apiserver import NODES, ApiServer
from tests.fakes.timing import SimulatedTime, eventually

NODE_SOURCE = Source(Kind.NODE, (NODES,), read_node)


class Follower:
    """`cache` is what the events add up to; `events` are all of them."""

    def __init__(
        self,
        server: ApiServer,
        session: Session,
        source: Source = NODE_SOURCE,
        *,
        time: SimulatedTime | None = None,
        idle_timeout: float = 5.0,
    ) -> None:
        self.server = server
        self.time = time or SimulatedTime()
        self.cache: dict[str, Seen] = {}
        self.events: list[Event] = []
        self.reflector = Reflector(session, source, self._apply, idle_timeout=idle_timeout, timing=self.time.timing())
        self._source = source

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Self]:
        task = asyncio.create_task(self.reflector.run())
        try:
            yield self
        finally:
            failed = task.done()
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
            assert not failed

    def expected(self) -> dict[str, Seen]:
        """What the cache must be: every object of the server, read."""
        collection = next(path for path in self._source.paths if path in self.server.objects)
        records = (self._source.reader(tree, []) for tree in self.server.objects[collection].values())
        return {key_of(seen): seen for seen in records if seen is not None}

    async def settled(self) -> None:
        """Wait until the cache is what the server has."""
        await eventually(lambda: self.cache == self.expected())

    async def watching(self) -> None:
        """Wait for an open watch."""
        await eventually(lambda: any(not watcher.hung for watcher in self.server.watchers))

    async def check(self) -> None:
        """Once all faults are over the cache equals the server's state, and goes on doing so."""
        await eventually(lambda: not self.server.troubled)
        await self.watching()
        await self.settled()
        self.server.put(NODES, {"metadata": {"name": "after-all"}})
        await self.settled()
        assert "after-all" in self.cache

    def _apply(self, event: Event) -> None:
        self.events.append(event)
        match event:
            case Upsert(seen=seen):
                self.cache[key_of(seen)] = seen
            case Gone(kind=kind, key=key):
                assert kind is self.reflector.kind
                del self.cache[key]


def named(name: str, **labels: str) -> dict[str, object]:
    """A node tree with labels."""
    return {"metadata": {"name": name, "labels": labels}}
