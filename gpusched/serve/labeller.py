"""Writes the normalised labels on nodes; runs on the leader alone."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from gpusched.obs.logging import Log
from gpusched.obs.metrics import Metrics
from gpusched.serve.label_plan import LabelPlan
from gpusched.state.cluster import Cluster

PatchLabels = Callable[[str, Mapping[str, str | None]], Awaitable[str | None]]
"""Patch labels of a node by name. The text says why it did not work; a node that is gone counts as done."""

#: Requests to the API server at one time, when a whole cluster gets its first labels.
_AT_ONCE: Final = 8
#: Seconds between two looks at nodes whose patch failed or whose labels wait to be removed.
_PAUSE: Final = 5.0


class Labeller:
    """Takes notes of nodes that changed, and brings their labels up to date."""

    def __init__(
        self, cluster: Cluster, patch: PatchLabels, metrics: Metrics, log: Log, clock: Callable[[], float]
    ) -> None:
        self._cluster = cluster
        self._patch = patch
        self._metrics = metrics
        self._log = log
        self._clock = clock
        self._plan = LabelPlan(cluster.config.labels_keep_s)
        self._touched: set[str] = set()
        self._wake = asyncio.Event()

    def touch(self, name: str) -> None:
        """Look at this node soon."""
        self._touched.add(name)
        self._wake.set()

    async def run(self) -> None:
        """Label until cancelled. Every node is looked at first, since nobody took notes for an earlier leader."""
        self._touched.update(self._cluster.nodes)
        while True:
            # Before the work: who is touched while it waits for an answer is looked at next, not after a pause.
            self._wake.clear()
            await self.work()
            try:
                async with asyncio.timeout(_PAUSE):
                    await self._wake.wait()
            except TimeoutError:
                self._touched.update(self._plan.waiting())

    async def work(self) -> None:
        """Bring every touched node up to date; one that failed is touched again after a pause."""
        self._plan.keep = self._cluster.config.labels_keep_s
        names, self._touched = sorted(self._touched), set()
        for start in range(0, len(names), _AT_ONCE):
            await asyncio.gather(*(self._label(name) for name in names[start : start + _AT_ONCE]))

    async def _label(self, name: str) -> None:
        state = self._cluster.nodes.get(name)
        if state is None:
            self._plan.forget(name)
            return
        patch = self._plan.patch(state.node, self._clock())
        if not patch:
            return
        problem = await self._patch(name, patch)
        self._metrics.labels_patched.labels("failed" if problem else "done").inc()
        if problem:
            self._log.warning("node not labelled", node=name, problem=problem)
            asyncio.get_running_loop().call_later(_PAUSE, self.touch, name)
        else:
            self._log.info("node labelled", node=name, labels=dict(patch))
