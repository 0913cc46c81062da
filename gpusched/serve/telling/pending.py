"""Finds out why pending pods wait: each kind of pod once in a while, one after the other, beside everything else."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

import msgspec

from gpusched.core.demand import mentions_gpu
from gpusched.core.names import PREFIX
from gpusched.core.pod import Pod
from gpusched.serve.pieces import in_pieces
from gpusched.serve.telling.excerpt import excerpt_of
from gpusched.serve.telling.refusal import judged, refused, sample, told
from gpusched.serve.telling.told import EventReason, Told, about_pod
from gpusched.state.cluster import Cluster
from gpusched.state.pods import PodRecord

GetPod = Callable[[str, str], Awaitable[tuple[int, object]]]
"""The newest pod by namespace and name, with the HTTP status."""
PodsOn = Callable[[str], Awaitable[tuple[Pod, ...] | None]]
"""All unfinished pods of a node; None when they could not be read."""

#: Seconds that a pod waits before anything is said: kube-scheduler needs a moment for the next one in its queue.
_YOUNG: Final = 10.0
#: Seconds until a pod that still waits is looked at again, provided that anything changed.
_AGAIN: Final = 30.0
#: Seconds for which the pods read of a node are good enough.
_FRESH: Final = 10.0
#: How many times as long as an explanation took nothing is done before the next one.
_REST: Final = 4.0
#: Labels that tell pods of one controller apart (apps/v1 StatefulSet, batch/v1 Job).
_OWN_LABELS: Final = frozenset(
    {"statefulset.kubernetes.io/pod-name", "apps.kubernetes.io/pod-index", "batch.kubernetes.io/job-completion-index"}
)
_AT_ONCE: Final = 8


class _Look(msgspec.Struct):
    """When a pod was first seen waiting, and the last explanation: when, at which generation of the cluster."""

    first: float
    at: float = float("-inf")
    generation: int = -1
    text: str | None = None


class Pending:
    """Explains the pods that have waited for some time."""

    def __init__(
        self, cluster: Cluster, get_pod: GetPod, pods_on: PodsOn, told: Told, clock: Callable[[], float]
    ) -> None:
        self._cluster = cluster
        self._get_pod = get_pod
        self._pods_on = pods_on
        self._told = told
        self._clock = clock
        self._looks: dict[str, _Look] = {}
        self._nodes: dict[str, tuple[float, tuple[Pod, ...]]] = {}

    def forget(self) -> None:
        """Begin anew."""
        self._looks.clear()
        self._nodes.clear()

    async def work(self) -> None:
        """Look at every pod that is due. Pods that differ in nothing but their name are explained once."""
        now = self._clock()
        waiting = [record async for record in in_pieces(list(self._cluster.pods.values())) if self._waits(record)]
        self._looks = {record.key: self._looks.get(record.key) or _Look(now) for record in waiting}
        self._nodes = {name: read for name, read in self._nodes.items() if self._fresh(name)}
        known: dict[bytes, str | None] = {}
        async for record in in_pieces(waiting):
            look = self._looks[record.key]
            if self._due(look, now):
                look.at, look.generation = now, self._cluster.generation
                look.text = await self._once(record, known)
            current = self._cluster.pods.get(record.key)
            if look.text is not None and current is not None and self._waits(current):
                self._told.tell(about_pod(record.pod, EventReason.UNSCHEDULABLE, look.text))

    async def _once(self, record: PodRecord, known: dict[bytes, str | None]) -> str | None:
        likeness = _likeness(record.pod)
        if likeness not in known:
            began = time.perf_counter()
            known[likeness] = await self._explained(record)
            await asyncio.sleep(_REST * (time.perf_counter() - began))
        return known[likeness]

    def _waits(self, record: PodRecord) -> bool:
        pod = record.pod
        return not (pod.spec.gates or pod.deleting or self._cluster.node_of(record.key))

    def _due(self, look: _Look, now: float) -> bool:
        changed = look.text is None or look.generation != self._cluster.generation
        return now - look.first >= _YOUNG and changed and now - look.at >= _AGAIN

    async def _explained(self, record: PodRecord) -> str | None:
        pod, cluster = record.pod, self._cluster
        status, tree = await self._get_pod(pod.namespace, pod.name)
        if status != 200 or not isinstance(tree, Mapping) or record.key not in cluster.pods:
            return None
        waiting = refused(pod, tree, cluster)
        found = {name: reason async for name, reason in in_pieces(judged(waiting.candidate, cluster))}
        names = sample(found, cluster)
        others = await self._read(names)
        if others is None:
            return None
        return await asyncio.to_thread(told, waiting, found, excerpt_of(cluster, pod, names), others)

    def _fresh(self, name: str) -> bool:
        read = self._nodes.get(name)
        return read is not None and self._clock() - read[0] < _FRESH

    async def _read(self, names: list[str]) -> list[Pod] | None:
        """Pods without a GPU on these nodes; None when those of one could not be read."""
        missing = [name for name in names if not self._fresh(name)]
        for start in range(0, len(missing), _AT_ONCE):
            part = missing[start : start + _AT_ONCE]
            for name, pods in zip(part, await asyncio.gather(*map(self._pods_on, part)), strict=True):
                if pods is None:
                    return None
                self._nodes[name] = self._clock(), pods
        resources = self._cluster.resources
        # Those with a GPU are followed: what was read a moment ago says nothing about them.
        return [pod for name in names for pod in self._nodes[name][1] if not mentions_gpu(pod, resources)]


def _likeness(pod: Pod) -> bytes:
    """Equal for pods that every node treats alike."""
    own = {key: value for key, value in pod.annotations.items() if key.startswith(PREFIX)}
    labels = {key: value for key, value in pod.labels.items() if key not in _OWN_LABELS}
    return msgspec.json.encode((pod.namespace, labels, own, pod.spec), order="deterministic")
