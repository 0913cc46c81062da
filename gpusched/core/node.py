"""A node: what kube-scheduler reads from it, and the GPU pools the dialects found on it."""

from collections.abc import Mapping
from typing import Final

import msgspec

from gpusched.core.pool import Pool

#: Taints of nodes whose kubelet does not report as ready, or not at all.
_UNREADY: Final = frozenset({"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"})


class Taint(msgspec.Struct, frozen=True, gc=False):
    """core/v1 Taint."""

    key: str
    value: str = ""
    effect: str = "NoSchedule"


class NodeObject(msgspec.Struct, frozen=True, gc=False):
    """The node as the API server has it, trimmed. Amounts: cpu in milli-cores, everything else in base units.

    `allocatable` and `capacity` hold every resource named in status; a negative amount is read as zero and reported
    as a fault by the reader.
    """

    name: str
    uid: str = ""
    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}
    taints: tuple[Taint, ...] = ()
    unschedulable: bool = False
    allocatable: Mapping[str, int] = {}
    capacity: Mapping[str, int] = {}

    @property
    def ready(self) -> bool:
        """Whether no taint says that the kubelet does not report as ready."""
        return not any(taint.key in _UNREADY for taint in self.taints)

    @property
    def in_service(self) -> bool:
        """Whether the node is ready and not cordoned."""
        return self.ready and not self.unschedulable


class Node(msgspec.Struct, frozen=True, gc=False):
    """A node with its inventory."""

    object: NodeObject
    #: One per GPU resource with a key in allocatable, sorted by resource name; slots may be 0.
    pools: tuple[Pool, ...] = ()
    #: Names of the dialects that found something, such as "gfd", "gke".
    dialects: frozenset[str] = frozenset()
    #: Short sentences about the node as a whole.
    notes: tuple[str, ...] = ()
    #: GPU resources the node serves through DRA (no allocatable): their slots are not ours to judge.
    dra_resources: frozenset[str] = frozenset()

    @property
    def name(self) -> str:
        """metadata.name."""
        return self.object.name

    def pool(self, resource: str) -> Pool | None:
        """The pool of a resource, None when the node has no such key in allocatable."""
        for pool in self.pools:
            if pool.resource == resource:
                return pool
        return None
