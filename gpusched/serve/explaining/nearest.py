"""PURE. What its GPUs say of every node of the live cluster, and which nodes come nearest to taking a pod.

gpusched follows GPU pods alone. What else a node lacks is found out of a few, of which all pods are then read.
"""

from collections.abc import Iterable, Iterator, Mapping
from heapq import nsmallest
from itertools import chain, zip_longest
from typing import Final, NamedTuple

from gpusched.core.claims import largest_possible_claim
from gpusched.core.codes import Reason
from gpusched.core.usage import QuotaUse
from gpusched.placement import fit
from gpusched.placement.request import Request
from gpusched.simulate.admit import Candidate
from gpusched.simulate.evaluate import static_verdict
from gpusched.simulate.reasons.explain import DISTANCE, told_reason
from gpusched.state.cluster import Cluster
from gpusched.state.node_state import NodeState

#: Nodes of which all pods are read for one explanation, and nodes of one reason that they are chosen from.
SAMPLE: Final = 24
_CHOICE: Final = 200
_NO_ROOM: Final = (False, False, 0, 0)

Room = tuple[bool, bool, int, int]
"""Sorts nodes of one reason: those of the right kind first, then by memory left for a claim, if any, and free slots."""


class Verdict(NamedTuple):
    """Why a node does not take the pod, None where its GPUs would; and how near it comes, less being nearer."""

    reason: Reason | None
    room: Room


def judged(candidate: Candidate, cluster: Cluster, use: QuotaUse | None) -> Iterator[tuple[str, Verdict]]:
    """Every node with what its own object and its GPUs say, one after the other so that a caller may pause. `use` is
    that of the pod's quota.
    """
    request = candidate.request
    rooms: dict[str, Room] = {}
    for name, state in list(cluster.nodes.items()):
        reason = static_verdict(candidate, state) or _short(candidate, state)
        if request is None:
            yield name, Verdict(reason, _NO_ROOM)
            continue
        reason = reason or fit.static_reason(request, state.node) or _taken(request, state, cluster, use)
        reason = reason and told_reason(reason, candidate, state)
        if state.signature not in rooms:
            rooms[state.signature] = _room(request, state, cluster)
        yield name, Verdict(reason, rooms[state.signature])


def _short(candidate: Candidate, state: NodeState) -> Reason | None:
    """kube-scheduler's own view of resources, as far as it is known here; it judges them before it asks an extender."""
    offered = state.node.object.allocatable
    own = None if candidate.request is None else state.holders.get(candidate.request.uid)
    for resource, amount in candidate.requests.items():
        held = 0 if own is None else own.slots.get(resource, 0)
        free = offered.get(resource, 0) - state.use(resource).used + held
        if amount > free and resource not in state.node.dra_resources:
            return Reason.NATIVE_RESOURCES
    return None


def _taken(request: Request, state: NodeState, cluster: Cluster, use: QuotaUse | None) -> Reason | None:
    use_of = fit.use_without(state, frozenset({request.uid})) if request.uid in state.holders else state.use
    return fit.left_reason(request, state.node, use_of, cluster.config, use)


def _room(request: Request, state: NodeState, cluster: Cluster) -> Room:
    config, free, left = cluster.config, [], []
    for resource, slots in request.demand.slots.items():
        pool = state.node.pool(resource)
        if pool is not None and pool.slots:
            used = state.use(resource)
            free.append(pool.slots - used.used)
            left.append(largest_possible_claim(pool, used, slots, config.claim_reserve, config.claim_above_slot) or 0)
    offers = len(free) == len(request.demand.slots)
    kind = offers and fit.pools_reason(request, state.node) is None
    claims = request.demand.claim_mib is not None
    return not offers, not kind, -min(left, default=0) if claims else 0, -min(free, default=0)


def sample(found: Mapping[str, Verdict], cluster: Cluster) -> list[str]:
    """The nodes to look at closely: those whose GPUs would do, then some of each reason, near and unlike ones first."""
    by_reason: dict[Reason | None, list[str]] = {}
    for name, verdict in found.items():
        by_reason.setdefault(verdict.reason, []).append(name)
    by_nearness = {
        reason: _unlike_first(nsmallest(_CHOICE, names, key=lambda name: (found[name].room, name)), cluster)
        for reason, names in by_reason.items()
    }
    others = [by_nearness[reason] for reason in DISTANCE if reason in by_nearness]
    in_turn = [name for row in zip_longest(*others) for name in row if name is not None]
    return list(chain(by_nearness.get(None, ()), in_turn))[:SAMPLE]


def _unlike_first(names: Iterable[str], cluster: Cluster) -> list[str]:
    first: dict[object, str] = {}
    rest = []
    for name in names:
        state = cluster.nodes.get(name)
        likeness = None if state is None else (state.kind, state.signature, state.node.object.taints)
        if first.setdefault(likeness, name) != name:
            rest.append(name)
    return [*first.values(), *rest]
