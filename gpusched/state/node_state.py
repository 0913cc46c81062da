"""One node of the cluster state: its inventory, who holds its slots, and the use that follows."""

from collections.abc import Callable, Mapping

from gpusched.core.node import Node
from gpusched.core.usage import Holder, PoolUse, pool_use

_UNUSED = PoolUse()


class NodeState:
    """Changed only by `Cluster`. `kind` is equal for nodes whose pools differ in nothing but slots and devices.

    `version` grows with every change, so that callers can keep answers per node. `signature` is equal for nodes of one
    cluster that offer the same and have the same left, so that one answer serves them all; labels are not in it. `sign`
    is told it with the node's name whenever it is found anew.
    """

    __slots__ = ("_holders", "_sign", "_uses", "kind", "node", "signature", "version")

    def __init__(self, node: Node, kind: int, sign: Callable[[str, str], None]) -> None:
        self.node = node
        self.kind = kind
        self.version = 0
        self._holders: dict[str, Holder] = {}
        self._uses: dict[str, PoolUse] = {}
        self._sign = sign
        self.signature = ""
        self._recount()

    @property
    def holders(self) -> Mapping[str, Holder]:
        """Holders by pod key."""
        return self._holders

    def use(self, resource: str) -> PoolUse:
        """Use of one pool; nothing is used of a resource that the node does not have."""
        return self._uses.get(resource, _UNUSED)

    def set_node(self, node: Node, kind: int) -> None:
        """Take over new facts; the holders stay."""
        self.node, self.kind = node, kind
        self._recount()

    def hold(self, key: str, holder: Holder) -> None:
        """Enter a holder, or replace what is known of it. Idempotent."""
        if self._holders.get(key) != holder:
            self._holders[key] = holder
            self._recount()

    def release(self, key: str) -> None:
        """Drop a holder; nothing happens when it is not there."""
        if self._holders.pop(key, None) is not None:
            self._recount()

    def _recount(self) -> None:
        self._uses = {pool.resource: pool_use(pool, self._holders.values()) for pool in self.node.pools}
        self.version += 1
        parts = [f"{self.kind}"]
        for pool in self.node.pools:
            use = self._uses[pool.resource]
            parts.append(f"{pool.slots}/{pool.devices}/{use.used}/{use.unclaimed}/{use.claims}/{use.outside}")
        self.signature = " ".join(parts)
        self._sign(self.node.name, self.signature)
