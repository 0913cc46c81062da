"""Nodes sorted into classes: one look at a class decides for all its nodes what does not depend on their use."""

from collections.abc import Mapping
from typing import Final

from gpusched.core.node import Node
from gpusched.native.ledger import NativeLedger
from gpusched.native.node import NativeNode
from gpusched.state.cluster import Cluster
from gpusched.state.node_state import NodeState

#: Sets of label keys that classes are kept for; beyond this the memory starts anew, since they come from users.
_KEPT: Final = 64


class NodeClass:
    """Nodes, by name, that differ in nothing but their name, their number of slots, their use, and labels nobody asks
    for.
    """

    __slots__ = ("_at", "_most", "_natives", "_room", "_versions", "states")

    def __init__(self) -> None:
        self.states: list[NodeState] = []
        self._natives: list[NativeNode] = []
        self._at = self._versions = -1
        self._most: dict[str, int] = {}
        self._room = False

    def add(self, state: NodeState, native: NativeNode) -> None:
        """Take in the next node by name, with its native books."""
        self.states.append(state)
        self._natives.append(native)

    def lacks(self, requests: Mapping[str, int], at: int) -> bool:
        """Whether each node has too little left of something, for certain. `at` is the version of the native books."""
        if at != self._at:
            self._look_again()
            self._at = at
        served = self.states[0].node.dra_resources
        most = self._most
        return not self._room or any(
            amount > most.get(name, 0) and amount > 0 and name not in served for name, amount in requests.items()
        )

    def _look_again(self) -> None:
        """What the best node for each resource has left. Versions only grow: their sum tells of any change."""
        versions = sum(native.version for native in self._natives)
        if versions == self._versions:
            return
        self._versions = versions
        self._room = any(len(native.bound) < native.pod_limit for native in self._natives)
        most: dict[str, int] = {}
        for native in self._natives:
            for name, amount in native.free.items():
                if amount > most.get(name, 0):
                    most[name] = amount
        self._most = most


class NodeClasses:
    """The classes of the nodes of one cluster, kept for as long as the nodes stay what they are."""

    def __init__(self) -> None:
        self._at: tuple[object, ...] = ()
        self._nodes: list[tuple[NodeState, Node]] = []
        self._ledger: NativeLedger | None = None
        self._alike: list[tuple[NodeState, object]] = []
        self._kept: dict[tuple[str, ...], list[NodeClass]] = {}

    def of(self, keys: tuple[str, ...], cluster: Cluster, ledger: NativeLedger) -> list[NodeClass]:
        """The classes for a pod to which labels with these keys matter, in the order of their first nodes."""
        at = (cluster, cluster.generation, ledger)
        if at != self._at:
            self._look_again(cluster, ledger)
            self._at = at
        found = self._kept.get(keys)
        if found is None:
            if len(self._kept) >= _KEPT:
                self._kept.clear()
            found = self._kept[keys] = self._sorted(keys, ledger)
        return found

    def _look_again(self, cluster: Cluster, ledger: NativeLedger) -> None:
        nodes = [(state, state.node) for state in cluster.nodes.values()]
        if ledger is self._ledger and nodes == self._nodes:
            return
        self._nodes, self._ledger = nodes, ledger
        self._alike = [(state, _offer(state)) for state, _ in sorted(nodes, key=lambda item: item[1].name)]
        self._kept.clear()

    def _sorted(self, keys: tuple[str, ...], ledger: NativeLedger) -> list[NodeClass]:
        classes: dict[object, NodeClass] = {}
        for state, offer in self._alike:
            label = state.node.object.labels.get
            node_class = classes.setdefault((offer, tuple(map(label, keys))), NodeClass())
            node_class.add(state, ledger.node(state.node.name))
        return list(classes.values())


def single(state: NodeState, ledger: NativeLedger) -> NodeClass:
    """The class of one node, for pods that tell it from all others."""
    alone = NodeClass()
    alone.add(state, ledger.node(state.node.name))
    return alone


def _offer(state: NodeState) -> object:
    """What nodes of one class have in common, labels aside; `kind` covers their pools but for slots and devices."""
    seen = state.node.object
    offered = tuple(pool.resource for pool in state.node.pools if pool.slots)
    return state.kind, offered, state.node.dra_resources, seen.taints, seen.unschedulable
