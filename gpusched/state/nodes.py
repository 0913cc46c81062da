"""The books of nodes: their states, which products they offer, and which of them a node selector leaves out."""

import re
from collections import Counter
from collections.abc import Mapping
from itertools import count
from typing import Final

import msgspec

from gpusched.core.node import Node, NodeObject
from gpusched.state.gather import pool_kind
from gpusched.state.node_state import NodeState
from gpusched.state.selection import Selection

#: Shared texts and kinds kept in memory; beyond this the memory starts anew, since both come from users.
_MEMO_LIMIT: Final = 50_000
_ZONE: Final = "topology.kubernetes.io/zone"
#: What stands for itself within a JSON string.
_PLAIN: Final = re.compile(r"[ !#-\[\]-~]+")


class NodeBooks:
    """Keeps one state for each node. `signatures` are those of the states, for questions about thousands of nodes, and
    one object where they are equal; `zones` are those of the nodes that are in one. `products` are those of all pools
    with slots, the same set until they change.
    """

    def __init__(self) -> None:
        self.states: dict[str, NodeState] = {}
        self.signatures: dict[str, str] = {}
        self.zones: dict[str, str] = {}
        self.products: frozenset[str] = frozenset()
        self.selection = Selection(self.states)
        self._odd_names: set[str] = set()
        self._scattered = 0
        self._alike: dict[str, str] = {}
        self._offered: Counter[str] = Counter()
        self._kinds: dict[object, int] = {}
        self._numbers = count()
        self._texts: dict[str, str] = {}

    def with_shared_texts(self, seen: NodeObject) -> NodeObject:
        """The node with texts that other nodes have too held in memory once: labels are most of what a node weighs."""
        if len(self._texts) >= _MEMO_LIMIT:
            # Some labels change by the minute (time stamps): what is remembered must not grow with time.
            self._texts.clear()
        share = self._texts.setdefault
        labels = {share(key, key): share(value, value) for key, value in seen.labels.items()}
        return msgspec.structs.replace(
            seen, labels=labels, allocatable=self._shared(seen.allocatable), capacity=self._shared(seen.capacity)
        )

    @property
    def plain_names(self) -> bool:
        """Whether no node has a name that JSON has to escape; an API server takes none that has."""
        return not self._odd_names

    def put(self, node: Node) -> None:
        """Take over what a node is now; who holds its slots stays."""
        kind = self._kind_of((tuple(pool_kind(pool) for pool in node.pools), node.dialects, node.dra_resources))
        state = self.states.get(node.name)
        before = None if state is None else state.node
        if state is None:
            self.states[node.name] = NodeState(node, kind, self._sign)
            if not _PLAIN.fullmatch(node.name):
                self._odd_names.add(node.name)
            self._gather_names()
        else:
            state.set_node(node, kind)
        if before is None or before.object.labels != node.object.labels:
            self.selection.look_again(node.name)
            self._place(node)
        self._offer(_products(before), _products(node))

    def drop(self, name: str) -> None:
        """Forget a node; nothing happens when it is not known."""
        state = self.states.pop(name, None)
        if state is not None:
            del self.signatures[name]
            self.zones.pop(name, None)
            self._odd_names.discard(name)
            self.selection.look_again(name)
            self._offer(_products(state.node), [])

    def _place(self, node: Node) -> None:
        self.zones.pop(node.name, None)
        if _ZONE in node.object.labels:
            self.zones[node.name] = node.object.labels[_ZONE]

    def _sign(self, name: str, signature: str) -> None:
        if len(self._alike) >= _MEMO_LIMIT:
            self._alike.clear()
        self.signatures[name] = self._alike.setdefault(signature, signature)

    def _gather_names(self) -> None:
        """Lay the keys of `signatures` side by side once many are new: looking all up then takes a third less time."""
        self._scattered += 1
        if 2 * self._scattered > len(self.signatures):
            self._scattered = 0
            copied = {"".join((name[:1], name[1:])): signature for name, signature in self.signatures.items()}
            self.signatures.clear()
            self.signatures.update(copied)

    def _offer(self, gone: list[str], come: list[str]) -> None:
        if gone != come:
            self._offered.update(come)
            self._offered.subtract(gone)
            self._offered = +self._offered
            if self._offered.keys() != self.products:
                self.products = frozenset(self._offered)

    def _shared(self, amounts: Mapping[str, int]) -> dict[str, int]:
        share = self._texts.setdefault
        return {share(name, name): amount for name, amount in amounts.items()}

    def _kind_of(self, identity: object) -> int:
        if len(self._kinds) >= _MEMO_LIMIT:
            self._kinds.clear()
        return self._kinds.setdefault(identity, next(self._numbers))


def _products(node: Node | None) -> list[str]:
    return [] if node is None else [pool.product for pool in node.pools if pool.slots and pool.product]
