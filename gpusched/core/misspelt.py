"""Resource names of a pod that were meant to be those of GPUs."""

from collections.abc import Iterable
from itertools import islice
from typing import Final

from gpusched.core.demand import mentions_gpu
from gpusched.core.pod import Pod
from gpusched.core.resources import GpuResources

#: Names that are compared: a pod may have thousands, and while they are judged nobody else is.
_MOST: Final = 200


def near_misses(names: Iterable[str], resources: GpuResources, present: frozenset[str]) -> dict[str, str]:
    """Those of the names, few enough of them, that are no GPU resource but were meant to be, each with the right one.

    `present` are the resources that nodes of the cluster offer.
    """
    unknown = islice((name for name in sorted(names) if resources.vendor(name) is None), _MOST)
    meant = {name: resources.nearest(name, present) for name in unknown}
    return {name: right for name, right in meant.items() if right is not None}


def names_of(pod: Pod) -> set[str]:
    """Every resource name that a pod asks for, whatever the amount."""
    names = {*pod.spec.pod_limits, *pod.spec.pod_requests}
    for container in pod.spec.containers:
        names.update(container.limits, container.requests)
    return names


def asks_for_gpu(pod: Pod, resources: GpuResources, present: frozenset[str]) -> bool:
    """Whether the pod asks for a GPU, or for something that was meant to be one. `present` as in `near_misses`."""
    return mentions_gpu(pod, resources) or bool(near_misses(names_of(pod), resources, present))
