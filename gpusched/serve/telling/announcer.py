"""Tells people by events why pods wait and what is wrong with policies and nodes; runs on the leader alone.

It stands beside decisions, not in their way: it works in steps of a few milliseconds, tries changes on a copy in a
thread of its own, and rests for a multiple of the time that it took.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from gpusched.serve.pieces import in_pieces
from gpusched.serve.telling.pending import Pending
from gpusched.serve.telling.stale_policies import invalid_policies, quota_line, stale_pods
from gpusched.serve.telling.told import Told
from gpusched.serve.telling.unusable_nodes import UnusableNodes
from gpusched.state.cluster import Cluster

#: Seconds between two rounds.
_PAUSE: Final = 5.0
#: How many times as long as a round worked nothing is done before the next one.
_REST: Final = 20.0


class Announcer:
    """Goes round all that may be worth telling. `trusted` says whether the cache may be believed just now; `failed` is
    told of a fault in here, which must not end the process that decides.
    """

    def __init__(
        self,
        cluster: Cluster,
        pending: Pending,
        told: Told,
        trusted: Callable[[], bool],
        clock: Callable[[], float],
        failed: Callable[[], None],
    ) -> None:
        self._cluster = cluster
        self._pending = pending
        self._told = told
        self._trusted = trusted
        self._clock = clock
        self._failed = failed
        self._nodes = UnusableNodes()

    async def run(self) -> None:
        """Tell until cancelled. An earlier term's memory is of no use: others may have spoken since."""
        self._told.forget()
        self._pending.forget()
        self._nodes = UnusableNodes()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._repeat(self.work, _REST))
            tasks.create_task(self._repeat(self._pending.work, 0.0))

    async def work(self) -> None:
        """One round over Namespaces, nodes, and pods that need no explanation."""
        self._told.forget_past()
        for sayings in (
            invalid_policies(self._cluster),
            self._nodes.look(self._cluster, self._clock()),
            stale_pods(self._cluster),
            quota_line(self._cluster),
        ):
            async for saying in in_pieces(sayings):
                if saying is not None:
                    self._told.tell(saying)

    async def _repeat(self, work: Callable[[], Awaitable[None]], rest: float) -> None:
        while True:
            began = self._clock()
            try:
                if self._trusted():
                    await work()
            except Exception:  # noqa: BLE001 - logged with its trace by `failed`
                self._failed()
            await asyncio.sleep(max(_PAUSE, rest * (self._clock() - began)))
