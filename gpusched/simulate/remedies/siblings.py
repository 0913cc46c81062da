"""Other pods of a pod's workload: they do not end to make room for it, and they are made from the same template."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import msgspec

from gpusched.core.pod import Pod
from gpusched.native.node import BoundPod
from gpusched.simulate.owners import workload_of
from gpusched.simulate.world import World

#: Controllers that replace a pod which ends.
_LASTING: Final = frozenset({"Deployment", "ReplicaSet", "ReplicationController", "StatefulSet"})


def are_siblings(pod: Pod, other: Pod) -> bool:
    """Whether one controller keeps both running."""
    one, two = pod.owner, other.owner
    if one is None or two is None or one.kind not in _LASTING or pod.namespace != other.namespace:
        return False
    return (one.kind, one.name) == (two.kind, two.name)


def fewer_replicas(pod: Pod, world: World) -> str:
    """That its workload should be content with the pods that have a node."""
    workload = workload_of(pod, world.between)
    # Of nodes that are not at hand nobody knows how many it has.
    many = "fewer" if world.elsewhere else sum(1 for _ in _placed(pod, world))
    return f"Scale {workload} to {many} {'replica' if many == 1 else 'replicas'}"


@contextmanager
def without_anti_affinity(pod: Pod, world: World) -> Iterator[None]:
    """The siblings as they are once their template has no required anti-affinity; put back at the end."""
    placed = list(_placed(pod, world))
    try:
        for bound, node_name in placed:
            spec = msgspec.structs.replace(bound.pod.spec, pod_anti_affinity=())
            world.ledger.add(msgspec.structs.replace(bound.pod, spec=spec), bound.requests, node_name)
        yield
    finally:
        for bound, node_name in placed:
            world.ledger.add(bound.pod, bound.requests, node_name)


def _placed(pod: Pod, world: World) -> Iterator[tuple[BoundPod, str]]:
    """The siblings that have a node, with its name."""
    for node in world.ledger.nodes.values():
        for bound in node.bound.values():
            if are_siblings(pod, bound.pod):
                yield bound, node.name
