"""A reason in words about one pod and the nodes that give it: what is asked for, and what is there instead."""

from collections.abc import Sequence

from gpusched.core.claims import largest_possible_claim
from gpusched.core.codes import REASON_TEXT, Reason
from gpusched.core.quantity import format_mib
from gpusched.simulate.admit import Candidate
from gpusched.simulate.reasons import breach, mismatch
from gpusched.simulate.reasons.shortage import offer_text, shortage
from gpusched.simulate.world import World
from gpusched.state.node_state import NodeState


def message(reason: Reason, candidate: Candidate, states: Sequence[NodeState], world: World) -> str:
    """The reason in words; without nodes at hand, and where nothing more is known, the constant text."""
    native = _native(reason, candidate, states, world) if states else ""
    return native or _own(reason, candidate, states, world) or REASON_TEXT[reason]


def _native(reason: Reason, candidate: Candidate, states: Sequence[NodeState], world: World) -> str:
    match reason:
        case Reason.NATIVE_TAINT:
            return mismatch.taints(candidate, states)
        case Reason.NATIVE_RESOURCES:
            return shortage(candidate, states, world)
        case Reason.NATIVE_AFFINITY:
            return mismatch.node_affinity(candidate, states)
        case Reason.NATIVE_POD_AFFINITY:
            return mismatch.pod_affinity(candidate, states, world)
        case Reason.NATIVE_SPREAD:
            return mismatch.spread(candidate, states, world)
        case Reason.NATIVE_UNSCHEDULABLE:
            return f"{states[0].node.name} is cordoned" if len(states) == 1 else "nodes are cordoned"
        case _:
            return ""


def _own(reason: Reason, candidate: Candidate, states: Sequence[NodeState], world: World) -> str:
    request = candidate.request
    if request is None:
        return ""
    match reason:
        case Reason.NO_RESOURCE:
            return offer_text(candidate, states)
        case Reason.MEMORY_CLAIM:
            return _claim_message(candidate, states, world)
        case Reason.QUOTA:
            return breach.quota(request, states, world)
        case Reason.FACTS_UNKNOWN:
            return breach.unknown_fact(request, states, world)
        case _:
            return breach.breach(reason, request, states)


def _claim_message(candidate: Candidate, states: Sequence[NodeState], world: World) -> str:
    alike = {state.signature: state for state in states}
    left = [amount for state in alike.values() if (amount := claim_left(candidate, state, world)) is not None]
    most = "" if len(states) == 1 else "at most "
    return f"{most}{format_mib(max(left))} left for a claim per slot" if left else ""


def claim_left(candidate: Candidate, state: NodeState, world: World) -> int | None:
    """The largest claim per slot in MiB that the node could take of this pod; None where that means nothing."""
    slots_asked = candidate.request.demand.slots if candidate.request is not None else {}
    config = world.cluster.config
    left = [
        largest_possible_claim(pool, state.use(resource), slots, config.claim_reserve, config.claim_above_slot) or 0
        for resource, slots in slots_asked.items()
        if (pool := state.node.pool(resource)) is not None
    ]
    return min(left, default=None)
