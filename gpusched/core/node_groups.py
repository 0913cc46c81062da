"""Nodes that offer the same, kept together, so that a question about all nodes is asked once per kind of node."""

from collections.abc import Hashable, Iterable
from typing import Final

import msgspec

from gpusched.core.names import PREFIX
from gpusched.core.node import Node
from gpusched.core.pool import Pool

#: Pods ask for few different sets of labels; a cluster where each asks for its own must not fill the memory.
_MEMO_LIMIT: Final = 256


class NodeGroup:
    """Nodes with equal pools (notes and sources aside), taints and DRA resources; names and labels differ.

    Whether a node has been labelled by gpusched is equal too.
    """

    __slots__ = ("_by_keys", "_by_name", "nodes")

    def __init__(self, nodes: Iterable[Node]) -> None:
        self.nodes = tuple(nodes)
        self._by_name: dict[str, Node] = {}
        self._by_keys: dict[tuple[str, ...], tuple[Node, ...]] = {}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NodeGroup) and self.nodes == other.nodes

    def __hash__(self) -> int:
        return hash(tuple(node.name for node in self.nodes))

    def distinct(self, keys: tuple[str, ...]) -> tuple[Node, ...]:
        """One node for each combination of values that these labels have; found once per set of keys."""
        if not keys:
            return self.nodes[:1]
        found = self._by_keys.get(keys)
        if found is None:
            if len(self._by_keys) >= _MEMO_LIMIT:
                self._by_keys.clear()
            nodes: dict[Hashable, Node] = {}
            for node in self.nodes:
                nodes.setdefault(tuple(node.object.labels.get(key) for key in keys), node)
            found = self._by_keys[keys] = tuple(nodes.values())
        return found

    def named(self, names: Iterable[str]) -> tuple[Node, ...]:
        """The nodes of the group with one of these names."""
        if not self._by_name:
            self._by_name = {node.name: node for node in self.nodes}
        return tuple(self._by_name[name] for name in sorted(names) if name in self._by_name)


def grouped(nodes: Iterable[Node]) -> tuple[NodeGroup, ...]:
    """The groups of these nodes, in the order of their first nodes."""
    groups: dict[Hashable, list[Node]] = {}
    for node in nodes:
        groups.setdefault(offer(node), []).append(node)
    return tuple(map(NodeGroup, groups.values()))


def offer(node: Node) -> Hashable:
    """What nodes of one group have in common."""
    seen = node.object
    labelled = f"{PREFIX}vendor" in seen.labels
    return tuple(map(_bare, node.pools)), seen.taints, seen.unschedulable, node.dra_resources, labelled


def _bare(pool: Pool) -> Pool:
    return msgspec.structs.replace(pool, provenance=(), notes=())
