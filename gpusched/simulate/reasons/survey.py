"""Judges all nodes of a cluster for one pod, whole classes of nodes at once where their use does not matter."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gpusched.core.codes import Reason
from gpusched.native.filter import dynamic_reason
from gpusched.placement import fit
from gpusched.placement.allowance import quota_use_of
from gpusched.simulate.admit import Candidate
from gpusched.simulate.evaluate import static_verdict
from gpusched.simulate.node_classes import NodeClass, single
from gpusched.simulate.world import World
from gpusched.state.node_state import NodeState


class Finding(NamedTuple):
    """The verdict on some nodes of a class, by name; None where they take the pod."""

    reason: Reason | None
    states: Sequence[NodeState]
    node_class: NodeClass


def survey(candidate: Candidate, world: World, pinned: str = "") -> Iterator[Finding]:
    """Every node once, or only the one that a pod is `pinned` to; each verdict is that of `evaluate.verdict`.

    Nodes are judged as they are asked for, so that who looks for one that takes the pod may stop there.
    """
    judge = _Judge(candidate, world)
    for node_class in _classes(candidate, world, pinned):
        reason = static_verdict(candidate, node_class.states[0])
        if reason is None and node_class.lacks(candidate.requests, world.ledger.version):
            # Host ports, which are judged before, have the same reason.
            reason = Reason.NATIVE_RESOURCES
        if reason is not None:
            yield Finding(reason, node_class.states, node_class)
        else:
            for state, found in judge.live(node_class.states):
                yield Finding(found, (state,), node_class)


def some_node_takes(candidate: Candidate, world: World) -> bool:
    """Whether the pod need not wait."""
    return any(found.reason is None for found in survey(candidate, world))


def labels_asked(candidate: Candidate) -> tuple[str, ...]:
    """Keys of the node labels that decide about the pod, whatever else runs in the cluster."""
    keys: set[str] = set()
    for spec in (candidate.pod.spec, candidate.plain):
        keys.update(spec.node_selector)
        keys.update(part.key for term in spec.node_affinity or () for part in term.expressions)
    if candidate.request is not None:
        keys.update(part.key for part in candidate.request.resolution.constraints.node_selector)
    return tuple(sorted(keys))


def names_nodes(candidate: Candidate) -> bool:
    """Whether the pod speaks of nodes by name."""
    specs = (candidate.pod.spec, candidate.plain)
    return any(spec.node_name or any(term.fields for term in spec.node_affinity or ()) for spec in specs)


def _classes(candidate: Candidate, world: World, pinned: str) -> list[NodeClass]:
    nodes = world.cluster.nodes
    if pinned or names_nodes(candidate):
        return [single(nodes[name], world.ledger) for name in ([pinned] if pinned else sorted(nodes))]
    return world.node_classes.of(labels_asked(candidate), world.cluster, world.ledger)


class _Judge:
    """Judges by use, one node after the other. Nodes of one signature share what the extender says."""

    def __init__(self, candidate: Candidate, world: World) -> None:
        self._candidate = candidate
        self._world = world
        self._quota = quota_use_of(candidate.request, world.cluster) if candidate.request is not None else None
        self._known: dict[str, Reason | None] = {}

    def live(self, states: Sequence[NodeState]) -> Iterator[tuple[NodeState, Reason | None]]:
        """The live verdict on nodes of one class."""
        candidate, ledger = self._candidate, self._world.ledger
        request, node = candidate.request, states[0].node
        rule = fit.static_reason(request, node) if request is not None else None
        for state in states:
            native = ledger.node(state.node.name)
            reason = dynamic_reason(candidate.pod, candidate.requests, native, ledger, skip=node.dra_resources)
            yield state, reason or rule or self._left(state)

    def _left(self, state: NodeState) -> Reason | None:
        request, cluster = self._candidate.request, self._world.cluster
        if request is None:
            return None
        if request.uid in state.holders:
            return fit.live_reason(request, state, cluster)
        if state.signature not in self._known:
            self._known[state.signature] = fit.left_reason(request, state.node, state.use, cluster.config, self._quota)
        return self._known[state.signature]
