"""Wakes pending pods that kube-scheduler would not try again by itself; runs on the leader alone.

No change of a Namespace or of gpusched's configuration is an event for kube-scheduler, and of one that is it may hear
before gpusched does. An annotation on a pending pod
is, for that pod alone.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection
from typing import Final

from gpusched.core.pod import Pod
from gpusched.obs.logging import Log
from gpusched.obs.metrics import Metrics
from gpusched.state.cluster import Cluster

Annotate = Callable[[Pod], Awaitable[str | None]]
"""Write a new value into the pod's wake annotation. The text says why it did not work; a pod that is gone is done."""

#: Seconds for an administrator's further annotations before pods are woken for the first.
_GATHER: Final = 0.2
#: Seconds between two rounds.
_PAUSE: Final = 2.0
#: Seconds between two rounds for slots that became free: binds may fail one after the other, for a reason that lasts.
_FREE_PAUSE: Final = 10.0
_AT_ONCE: Final = 8


class Waker:
    """Takes notes of pods that may fit by now."""

    def __init__(
        self, cluster: Cluster, annotate: Annotate, metrics: Metrics, log: Log, clock: Callable[[], float]
    ) -> None:
        self._cluster = cluster
        self._annotate = annotate
        self._metrics = metrics
        self._log = log
        self._clock = clock
        self._free_from = float("-inf")
        self._namespaces: set[str] = set()
        self._keys: set[str] = set()
        self._everywhere = False
        self._later = False
        self._touched = asyncio.Event()

    def touch(self, namespace: str) -> None:
        """The policy or quota of a namespace changed."""
        self._namespaces.add(namespace)
        self._touched.set()

    def touch_pods(self, keys: Collection[str]) -> None:
        """These pods may fit by now."""
        self._keys.update(keys)
        self._touched.set()

    def touch_all(self) -> None:
        """The configuration changed."""
        self._everywhere = True
        self._touched.set()

    def touch_free(self) -> None:
        """Slots became free that no object tells of: a promise was taken back."""
        wait = self._free_from - self._clock()
        if wait <= 0:
            self._free_from = self._clock() + _FREE_PAUSE
            self.touch_all()
        elif not self._later:
            self._later = True
            asyncio.get_running_loop().call_later(wait, self._touch_later)

    def _touch_later(self) -> None:
        self._later = False
        self.touch_free()

    async def run(self) -> None:
        """Wake until cancelled."""
        while True:
            await self._touched.wait()
            await asyncio.sleep(_GATHER)
            await self.work()
            await asyncio.sleep(_PAUSE)

    async def work(self) -> int:
        """Wake the pending pods noted; returns their number."""
        self._touched.clear()
        namespaces, self._namespaces = self._namespaces, set()
        keys, self._keys = self._keys, set()
        everywhere, self._everywhere = self._everywhere, False
        pods = [
            record.pod
            for record in self._cluster.pods.values()
            if _waits(record.pod) and (everywhere or record.pod.namespace in namespaces or record.key in keys)
        ]
        for start in range(0, len(pods), _AT_ONCE):
            await asyncio.gather(*(self._one(pod) for pod in pods[start : start + _AT_ONCE]))
        if pods:
            self._log.info("pending pods woken", pods=len(pods), namespaces="all" if everywhere else sorted(namespaces))
        return len(pods)

    async def _one(self, pod: Pod) -> None:
        problem = await self._annotate(pod)
        self._metrics.pods_woken.labels("failed" if problem else "done").inc()
        if problem:
            self._log.warning("pod not woken", namespace=pod.namespace, pod=pod.name, problem=problem)


def _waits(pod: Pod) -> bool:
    """Gated pods are not in the scheduler's queue; they are tried when their gates are gone."""
    return not (pod.spec.node_name or pod.spec.gates or pod.deleting)
