"""The books of one node: what its bound pods use of it, and what is left."""

from collections.abc import Mapping

import msgspec

from gpusched.core.node import NodeObject
from gpusched.core.pod import Pod
from gpusched.native.ports import PortBook, host_ports


class BoundPod(msgspec.Struct, frozen=True):
    """A pod on a node with its effective requests: cpu in milli-cores, everything else in base units."""

    pod: Pod
    requests: Mapping[str, int]


class NativeNode:
    """A node and its bound pods. Only the ledger changes it; `version` grows with every change.

    `used` sums the requests, `free` is allocatable minus used (negative when over-committed; a resource that the node
    does not offer is missing unless a bound pod asks for it). `pod_limit` is allocatable `pods`, 0 when absent, as in
    pkg/scheduler/framework/types.go.
    """

    __slots__ = ("bound", "free", "object", "pod_limit", "ports", "used", "version")

    def __init__(self, node: NodeObject) -> None:
        self.object = node
        self.bound: dict[str, BoundPod] = {}
        self.used: dict[str, int] = {}
        self.free: dict[str, int] = dict(node.allocatable)
        self.pod_limit = node.allocatable.get("pods", 0)
        self.ports: PortBook = {}
        self.version = 0

    @property
    def name(self) -> str:
        """The node's name."""
        return self.object.name

    @property
    def pods(self) -> int:
        """Number of bound pods."""
        return len(self.bound)

    def add(self, key: str, bound: BoundPod) -> None:
        """Book a pod under a key that is not yet in use."""
        self.bound[key] = bound
        self._count(bound, 1)
        for protocol, ip, port in host_ports(bound.pod):
            self.ports.setdefault((protocol, port), []).append(ip)

    def remove(self, key: str) -> None:
        """Undo `add`. KeyError when nothing is booked under the key."""
        bound = self.bound.pop(key)
        self._count(bound, -1)
        for protocol, ip, port in host_ports(bound.pod):
            holders = self.ports[protocol, port]
            holders.remove(ip)
            if not holders:
                del self.ports[protocol, port]

    def _count(self, bound: BoundPod, sign: int) -> None:
        used, free = self.used, self.free
        for name, amount in bound.requests.items():
            if amount > 0:
                used[name] = used.get(name, 0) + sign * amount
                free[name] = free.get(name, 0) - sign * amount
        self.version += 1
