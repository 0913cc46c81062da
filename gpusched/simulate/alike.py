"""Nodes that a pod cannot tell apart: one verdict serves them all."""

from collections.abc import Iterator

from gpusched.native.filter import needs_full_view
from gpusched.native.node import NativeNode
from gpusched.simulate.admit import Candidate
from gpusched.simulate.world import World
from gpusched.state.node_state import NodeState


class Likenesses:
    """Numbers nodes: equal for nodes that differ in nothing but their name, their labels and which pods they hold."""

    def __init__(self) -> None:
        self._numbers: dict[object, int] = {}
        self._known: dict[str, tuple[tuple[int, int], int]] = {}

    def number(self, state: NodeState, native: NativeNode) -> int:
        """The number of a node as it is now."""
        version = (state.version, native.version)
        known = self._known.get(state.node.name)
        if known is None or known[0] != version:
            number = self._numbers.setdefault(_offer(state, native), len(self._numbers))
            known = self._known[state.node.name] = version, number
        return known[1]


def _offer(state: NodeState, native: NativeNode) -> object:
    seen = state.node.object
    free = tuple(sorted(native.free.items()))
    ports = tuple(sorted((port, tuple(sorted(addresses))) for port, addresses in native.ports.items()))
    return (
        state.kind,
        state.signature,
        free,
        native.pods - native.pod_limit,
        native.pod_limit > 0,
        ports,
        seen.taints,
        seen.unschedulable,
        state.node.dra_resources,
    )


class Alike:
    """Groups the nodes of one cluster for one pod after the other."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._likenesses = Likenesses()

    def groups(self, candidate: Candidate) -> list[list[NodeState]]:
        """Every node once, nodes of one group alike for the pod, by name.

        A pod that looks at other pods, or names nodes, can tell each node from the others.
        """
        nodes = self._world.cluster.nodes
        states = [nodes[name] for name in sorted(nodes)]
        if _tells_apart(candidate, self._world):
            return [[state] for state in states]
        keys = tuple(sorted(set(_labels_asked(candidate))))
        groups: dict[object, list[NodeState]] = {}
        for state in states:
            groups.setdefault(self._key(candidate, keys, state), []).append(state)
        return list(groups.values())

    def key(self, candidate: Candidate, node_name: str) -> object:
        """Equal for nodes of one group, and for one node at two times when nothing about it has changed."""
        state = self._world.cluster.nodes.get(node_name)
        if state is None or _tells_apart(candidate, self._world):
            return node_name, self._world.ledger.version
        return self._key(candidate, tuple(sorted(set(_labels_asked(candidate)))), state)

    def _key(self, candidate: Candidate, keys: tuple[str, ...], state: NodeState) -> object:
        native = self._world.ledger.node(state.node.name)
        labels = state.node.object.labels
        held = candidate.request is not None and candidate.request.uid in state.holders
        return self._likenesses.number(state, native), tuple(labels.get(key) for key in keys), held


def _tells_apart(candidate: Candidate, world: World) -> bool:
    terms = candidate.pod.spec.node_affinity or ()
    named = bool(candidate.pod.spec.node_name) or any(term.fields for term in terms)
    return named or needs_full_view(candidate.pod, world.ledger)


def _labels_asked(candidate: Candidate) -> Iterator[str]:
    for spec in (candidate.pod.spec, candidate.plain):
        yield from spec.node_selector
        for term in spec.node_affinity or ():
            yield from (part.key for part in term.expressions)
    if candidate.request is not None:
        yield from (part.key for part in candidate.request.resolution.constraints.node_selector)
