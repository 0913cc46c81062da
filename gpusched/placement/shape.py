"""What was found of nodes for one request holds for all that ask the same: the pods of one controller do."""

from typing import Final

import msgspec

from gpusched.core.codes import Reason
from gpusched.placement.request import Request
from gpusched.policy.resolution import Resolution
from gpusched.state.cluster import Cluster

#: Shapes of requests kept, and nodes that differ kept for each: beyond this the memory starts anew.
_SHAPES: Final = 256
_NODES: Final = 4096
_encode: Final = msgspec.msgpack.Encoder().encode


class RankKey(msgspec.Struct, frozen=True, order=True):
    """How well a node suits a pod, compared field by field; less is better.

    `family` is the place in the order of preference. `divided` counts resources of which one container asks for several
    slots that are parts of GPUs: a CUDA process uses one MIG device, and shares of one GPU are no more than one of them
    (NVIDIA MIG User Guide, k8s-device-plugin). `unknown` counts resources of unknown memory. `waste_gib` is
    visible memory beyond what is asked, in whole GiB, since equal cards report slightly unequal sizes. `opened` counts
    GPUs in use for the first time, `load` and `free` say how full the pool will be, both turned round to spread.
    `waste_mib` settles the rest.
    """

    family: int = 0
    divided: int = 0
    unknown: int = 0
    waste_gib: int = 0
    opened: int = 0
    load: float = 0.0
    free: int = 0
    waste_mib: int = 0


class Shape:
    """By the signature of a node: why it does not take such a pod, quota and the pod's own promise aside, and its rank.

    Both follow from the signature, the demand, and what holds for the pod; a `Resolution` is made anew whenever the
    policy or the configuration changes.
    """

    __slots__ = ("ranks", "reasons", "resolution")

    def __init__(self, resolution: Resolution) -> None:
        self.resolution = resolution
        self.reasons: dict[str, Reason | None] = {}
        self.ranks: dict[str, RankKey] = {}


def shape_of(request: Request, cluster: Cluster) -> Shape:
    """What was kept for requests like this one."""
    try:
        # The shape holds the resolution, so that no other can come to have its identity.
        key = (id(request.resolution), request.time_slicing_single, _encode(request.demand))
    except OverflowError:
        # A number of slots beyond 64 bits: containers that each ask for as many as Kubernetes can count.
        return Shape(request.resolution)
    shape = cluster.shapes.get(key)
    if not isinstance(shape, Shape):
        if len(cluster.shapes) >= _SHAPES:
            cluster.shapes.clear()
        shape = cluster.shapes[key] = Shape(request.resolution)
    for kept in (shape.reasons, shape.ranks):
        if len(kept) >= _NODES:
            kept.clear()
    return shape
