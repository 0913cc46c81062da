"""What the leader alone does, and from when on it may: one replica answers the extender, labels nodes, lifts gates."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from gpusched.obs.logging import Log
from gpusched.obs.metrics import Metrics

_RETRY: Final = 2.0

Duty = Callable[[], Awaitable[None]]


class Leadership:
    """Runs terms: after `started` the preparations, then the duties until `stopped`.

    A predecessor that vanished may have bindings under way which nobody remembers, so before its first answer a new
    leader waits until they can no longer be carried out (`quiet`), and then lists pods anew.
    """

    def __init__(
        self,
        holds: Callable[[], bool],
        relist: Callable[[], Awaitable[None]],
        duties: Sequence[Duty],
        metrics: Metrics,
        log: Log,
        quiet: Callable[[], Awaitable[None]],
    ) -> None:
        self._holds = holds
        self._relist = relist
        self._duties = tuple(duties)
        self._metrics = metrics
        self._log = log
        self._quiet = quiet
        self._prepared = False
        self._predecessor = ""
        self._started = asyncio.Event()
        self._stopped = asyncio.Event()
        self._label_due = asyncio.Event()
        metrics.leader.set(0)

    @property
    def ready(self) -> bool:
        """Whether this replica may answer the extender right now."""
        return self._prepared and self._holds()

    def closed(self) -> str | None:
        """Why it may not, in words."""
        if not self._holds():
            return "this replica does not lead"
        if not self._prepared:
            return "this replica has just become the leader and waits for bindings of the former one to be done"
        return None

    def start(self, predecessor: str = "") -> None:
        """The Lease was won; `predecessor` is who held it and did not give it back."""
        self._predecessor = predecessor
        self._stopped.clear()
        self._started.set()
        self._label_due.set()

    def stop(self) -> None:
        """The Lease was lost."""
        self._started.clear()
        self._stopped.set()
        self._label_due.set()

    async def run(self) -> None:
        """Serve term after term until cancelled."""
        while True:
            await self._started.wait()
            self._log.info("leading", predecessor=self._predecessor)
            async with asyncio.TaskGroup() as term:
                serving = term.create_task(self._serve(), name="term")
                await self._stopped.wait()
                serving.cancel()
            self._log.info("no longer leading")

    async def keep_label(self, label: Callable[[bool], Awaitable[str | None]]) -> None:
        """Keep the label of gpusched's own pod in step with leadership, until cancelled."""
        shown: bool | None = None
        while True:
            self._label_due.clear()
            wanted = self._started.is_set()
            if wanted != shown:
                problem = await label(wanted)
                if problem is not None:
                    self._log.warning("leader label not written", problem=problem)
                    await asyncio.sleep(_RETRY)
                    continue
                shown = wanted
            if not self._label_due.is_set():
                await self._label_due.wait()

    async def _serve(self) -> None:
        await self._quiet()
        await self._relist()
        self._prepared = True
        self._metrics.leader.set(1)
        try:
            async with asyncio.TaskGroup() as duties:
                for duty in self._duties:
                    duties.create_task(_until_cancelled(duty))
        finally:
            self._prepared = False
            self._metrics.leader.set(0)


async def _until_cancelled(duty: Duty) -> None:
    await duty()
