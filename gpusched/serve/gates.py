"""Lifts the quota gate of pods that may go; runs on the leader alone."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Final

from gpusched.core.pod import Pod
from gpusched.obs.logging import Log
from gpusched.obs.metrics import Metrics
from gpusched.placement.quota import liftable
from gpusched.state.cluster import Cluster

RemoveGate = Callable[[Pod], Awaitable[str | None]]
"""Take the quota gate off a pod. The text says why it did not work; a pod that is gone or has none counts as done."""

#: Seconds for further events to come in before the line is walked.
_GATHER: Final = 0.1
#: Seconds without another pod of an owner after which all are there: controllers create them one by one.
_SETTLED: Final = 1.0
#: How many times as long as a walk took nothing is done before the next one.
_REST: Final = 9.0
#: Seconds until a pod whose gate could not be lifted is tried again.
_PAUSE: Final = 5.0


class Gates:
    """Walks the line of gated pods after each change. Lifting is idempotent, so that a pod whose change has not come
    back by the watch is merely left out the next time.
    """

    def __init__(
        self, cluster: Cluster, remove: RemoveGate, metrics: Metrics, log: Log, clock: Callable[[], float]
    ) -> None:
        self._cluster = cluster
        self._remove = remove
        self._metrics = metrics
        self._log = log
        self._clock = clock
        self._changed = asyncio.Event()
        #: Keys of pods lifted or tried, with the time before which they are not tried again.
        self._not_before: dict[str, float] = {}
        #: Keys of the gated pods, with the time at which they were first seen.
        self._since: dict[str, float] = {}
        self._pause = _PAUSE
        #: Seconds that the last walk took, without the answers of the API server.
        self._walked = 0.0

    def touch(self) -> None:
        """Something changed."""
        self._changed.set()

    async def run(self) -> None:
        """Lift until cancelled."""
        while True:
            await self.work()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._pause):
                    await self._changed.wait()
            # A long line takes long to walk; the rest of the service gets most of the time all the same.
            await asyncio.sleep(max(_GATHER, _REST * self._walked))

    async def work(self) -> None:
        """Lift the gates that may go now, in order, as long as nothing fails that an earlier pod waits for."""
        self._changed.clear()
        now = self._clock()
        self._not_before = {key: time for key, time in self._not_before.items() if time > now}
        self._since = {record.key: self._since.get(record.key, now) for record in self._cluster.gated()}
        young = {key for key, since in self._since.items() if now - since < _SETTLED}
        self._pause = _SETTLED if young else _PAUSE
        self._walked = 0.0
        if not self._since:
            return
        keys = liftable(self._cluster, young)
        self._walked = self._clock() - now
        for key in keys:
            record = self._cluster.pods.get(key)
            if record is None or key in self._not_before:
                continue
            self._not_before[key] = now + _PAUSE
            pod = record.pod
            problem = await self._remove(pod)
            self._metrics.gates_lifted.labels("failed" if problem else "done").inc()
            if problem:
                self._log.warning("quota gate not lifted", namespace=pod.namespace, pod=pod.name, problem=problem)
            else:
                self._log.info("quota gate lifted", namespace=pod.namespace, pod=pod.name, uid=pod.uid)
