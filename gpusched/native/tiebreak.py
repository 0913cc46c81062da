"""A deterministic preference among nodes that are equal otherwise."""

from collections.abc import Mapping

from gpusched.native.node import NativeNode


def least_allocated(node: NativeNode, requests: Mapping[str, int]) -> int:
    """How empty the node would be with the pod on it, 0 to 100: the mean of cpu and memory in whole points.

    Follows pkg/scheduler/framework/plugins/noderesources/least_allocated.go without the amounts that kube-scheduler
    assumes for containers that request nothing. A resource the node does not offer does not count.
    """
    points = counted = 0
    for name in ("cpu", "memory"):
        total = node.object.allocatable.get(name, 0)
        if total <= 0:
            continue
        counted += 1
        left = total - node.used.get(name, 0) - requests.get(name, 0)
        points += max(left, 0) * 100 // total
    return points // counted if counted else 0
