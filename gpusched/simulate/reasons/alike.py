"""Nodes that a pod cannot tell apart as they are now: one verdict serves them all."""

from gpusched.native.filter import needs_full_view
from gpusched.native.node import NativeNode
from gpusched.simulate.admit import Candidate
from gpusched.simulate.reasons.survey import labels_asked, names_nodes
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
    """Tells the nodes of one cluster apart for one pod after the other."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._likenesses = Likenesses()

    def key(self, candidate: Candidate, node_name: str) -> object:
        """Equal for nodes that are alike for the pod, and for one node at two times when nothing about it has changed.

        A pod that looks at other pods, or names nodes, can tell each node from the others.
        """
        state = self._world.cluster.nodes.get(node_name)
        if state is None or names_nodes(candidate) or needs_full_view(candidate.pod, self._world.ledger):
            return node_name, self._world.ledger.version
        native = self._world.ledger.node(node_name)
        labels = state.node.object.labels
        held = candidate.request is not None and candidate.request.uid in state.holders
        return self._likenesses.number(state, native), tuple(map(labels.get, labels_asked(candidate))), held
