"""Tells why pending pods wait: each kind of pod once in a while, one after the other, beside everything else."""

import asyncio
import time
from collections.abc import Callable
from typing import Final

import msgspec

from gpusched.serve.explaining.explainer import Explainer, likeness
from gpusched.serve.pieces import in_pieces
from gpusched.serve.telling.refusal import refusal
from gpusched.serve.telling.told import EventReason, Told, about_pod
from gpusched.state.cluster import Cluster
from gpusched.state.pods import PodRecord

#: Seconds that a pod waits before anything is said: kube-scheduler needs a moment for the next one in its queue.
_YOUNG: Final = 10.0
#: Seconds until a pod that still waits is looked at again, provided that anything changed.
_AGAIN: Final = 30.0
#: How many times as long as an explanation took nothing is done before the next one.
_REST: Final = 4.0


class _Look(msgspec.Struct):
    """When a pod was first seen waiting, and the last explanation: when, at which generation of the cluster."""

    first: float
    at: float = float("-inf")
    generation: int = -1
    text: str | None = None


class Pending:
    """Tells of the pods that have waited for some time."""

    def __init__(self, cluster: Cluster, explainer: Explainer, told: Told, clock: Callable[[], float]) -> None:
        self._cluster = cluster
        self._explainer = explainer
        self._told = told
        self._clock = clock
        self._looks: dict[str, _Look] = {}

    def forget(self) -> None:
        """Begin anew."""
        self._looks.clear()

    async def work(self) -> None:
        """Look at every pod that is due. Pods that differ in nothing but their name are explained once."""
        now = self._clock()
        waiting = [record async for record in in_pieces(list(self._cluster.pods.values())) if self._waits(record)]
        self._looks = {record.key: self._looks.get(record.key) or _Look(now) for record in waiting}
        known: dict[bytes, tuple[int, str | None]] = {}
        async for record in in_pieces(waiting):
            look = self._looks[record.key]
            if self._due(look, now):
                look.at = now
                look.generation, look.text = await self._once(record, known)
            current = self._cluster.pods.get(record.key)
            if look.text is not None and current is not None and self._waits(current):
                # Whoever may read events of the namespace may read this, so that pods of others have no names in it.
                self._told.tell(about_pod(record.pod, EventReason.UNSCHEDULABLE, look.text))

    async def _once(self, record: PodRecord, known: dict[bytes, tuple[int, str | None]]) -> tuple[int, str | None]:
        kind = likeness(record.pod)
        if kind not in known:
            began = time.perf_counter()
            found = await self._explainer.attempt(record.pod)
            known[kind] = (-1, None) if found is None else (found.generation, refusal(found.discreet))
            await asyncio.sleep(_REST * (time.perf_counter() - began))
        return known[kind]

    def _waits(self, record: PodRecord) -> bool:
        pod = record.pod
        return not (pod.spec.gates or pod.deleting or self._cluster.node_of(record.key))

    def _due(self, look: _Look, now: float) -> bool:
        changed = look.text is None or look.generation != self._cluster.generation
        return now - look.first >= _YOUNG and changed and now - look.at >= _AGAIN
