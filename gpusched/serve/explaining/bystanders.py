"""Reads the pods without a GPU of a few nodes, which are not followed, and keeps them for a moment."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from gpusched.core.demand import mentions_gpu
from gpusched.core.pod import Pod
from gpusched.state.cluster import Cluster

PodsOn = Callable[[str], Awaitable[tuple[Pod, ...] | None]]
"""All unfinished pods of a node; None when they could not be read."""

#: Seconds for which the pods read of a node are good enough.
_FRESH: Final = 10.0
#: Nodes asked about at the same time.
_AT_ONCE: Final = 8


class Bystanders:
    """What runs beside GPU pods, by node."""

    def __init__(self, cluster: Cluster, pods_on: PodsOn, clock: Callable[[], float]) -> None:
        self._cluster = cluster
        self._pods_on = pods_on
        self._clock = clock
        self._nodes: dict[str, tuple[float, tuple[Pod, ...]]] = {}

    async def read(self, names: Sequence[str]) -> list[Pod] | None:
        """Pods without a GPU on these nodes; None when those of one could not be read."""
        oldest = self._clock() - _FRESH
        self._nodes = {name: read for name, read in self._nodes.items() if read[0] > oldest}
        found = {name: self._nodes[name][1] for name in names if name in self._nodes}
        missing = [name for name in names if name not in found]
        for start in range(0, len(missing), _AT_ONCE):
            part = missing[start : start + _AT_ONCE]
            for name, pods in zip(part, await asyncio.gather(*map(self._pods_on, part)), strict=True):
                if pods is None:
                    return None
                # Those with a GPU are followed: what was read a moment ago says nothing about them.
                found[name] = tuple(pod for pod in pods if not mentions_gpu(pod, self._cluster.resources))
                self._nodes[name] = self._clock(), found[name]
        return [pod for name in names for pod in found[name]]
