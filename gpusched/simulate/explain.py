"""Why no node takes a pod: reasons counted over nodes, in words about this pod, and the smallest change that fits."""

from collections import Counter
from collections.abc import Mapping, Sequence

import msgspec

from gpusched.core.claims import largest_possible_claim
from gpusched.core.codes import REASON_TEXT, Reason
from gpusched.core.quantity import format_mib
from gpusched.native.affinity import node_affinity_reason
from gpusched.native.resources import missing
from gpusched.native.taints import untolerated
from gpusched.placement import fit
from gpusched.policy.model import Policy
from gpusched.simulate.admit import Candidate
from gpusched.simulate.alike import Alike
from gpusched.simulate.evaluate import verdict
from gpusched.simulate.expand import PlannedPod
from gpusched.simulate.remedy import suggest
from gpusched.simulate.result import ReasonView, UnschedulableView
from gpusched.simulate.world import World
from gpusched.state.node_state import NodeState

#: Reasons from the nearest to a fit to the farthest: the first ones pass with time or less, the last ones never.
DISTANCE: Sequence[Reason] = (
    Reason.MEMORY_CLAIM,
    Reason.FREE_REPLICAS,
    Reason.NATIVE_RESOURCES,
    Reason.QUOTA,
    Reason.RECONFIGURING,
    Reason.NATIVE_SPREAD,
    Reason.NATIVE_POD_AFFINITY,
    Reason.SHARED_SINGLE,
    Reason.FACTS_UNKNOWN,
    Reason.NATIVE_UNSCHEDULABLE,
    Reason.NATIVE_TAINT,
    Reason.MEMORY,
    Reason.VERSION,
    Reason.SHARING,
    Reason.PRODUCT,
    Reason.FAMILY,
    Reason.NODE_SELECTOR,
    Reason.NATIVE_AFFINITY,
    Reason.NO_RESOURCE,
)
#: Live reasons that kube-scheduler's own filters do not have, in words.
_UNSEEN: Mapping[Reason, str] = {Reason.MEMORY_CLAIM: "memory claims", Reason.QUOTA: "quotas"}


class Explanation(msgspec.Struct, frozen=True):
    """All that `why` prints about a pod that no node takes."""

    view: UnschedulableView
    examples: Mapping[str, str]
    nearest: str | None = None
    nearest_lacks: str = ""
    #: Why no autoscaler will add a node, where that is certain.
    scaling: str = ""


def verdicts(planned: PlannedPod, candidate: Candidate, world: World) -> list[tuple[NodeState, Reason | None]]:
    """The verdict of every node that the pod could be meant for, by node name."""
    groups = [[world.cluster.nodes[planned.pinned]]] if planned.pinned else Alike(world).groups(candidate)
    judged: list[tuple[NodeState, Reason | None]] = []
    for group in groups:
        reason = verdict(candidate, group[0], world)
        judged += [(state, reason) for state in group]
    return sorted(judged, key=lambda item: item[0].node.name)


def explain(planned: PlannedPod, candidate: Candidate, world: World) -> UnschedulableView:
    """Reasons and suggestion, as `simulate` prints them."""
    return explain_fully(planned, candidate, world).view


def explain_fully(planned: PlannedPod, candidate: Candidate, world: World) -> Explanation:
    """Reasons with an example node each, the nearest node and what it lacks, and the suggestion."""
    judged = [(state, reason) for state, reason in verdicts(planned, candidate, world) if reason is not None]
    counts = Counter(reason for _, reason in judged)
    by_reason = {reason: [state for state, found in judged if found is reason] for reason in counts}
    reasons = tuple(
        ReasonView(code=reason.value, message=message(reason, candidate, by_reason[reason], world), nodes=count)
        for reason, count in sorted(counts.items(), key=lambda item: (-item[1], DISTANCE.index(item[0])))
    )
    suggestion = suggest(planned, candidate, by_reason, world)
    nearest = _nearest(by_reason, candidate, world)
    return Explanation(
        view=UnschedulableView(reasons=reasons, suggestion=suggestion),
        examples={reason.value: states[0].node.name for reason, states in by_reason.items()},
        nearest=nearest[1].node.name if nearest else None,
        nearest_lacks=message(nearest[0], candidate, [nearest[1]], world) if nearest else "",
        scaling=_scaling(by_reason),
    )


def _scaling(by_reason: Mapping[Reason, list[NodeState]]) -> str:
    """Autoscalers ask kube-scheduler's own filters, and add nothing while a node passes them."""
    for reason, what in _UNSEEN.items():
        if reason in by_reason:
            node = by_reason[reason][0].node.name
            return f"an autoscaler will not help: it sees free slots on {node} and knows nothing of {what}"
    return ""


def with_suggestion(explanation: Explanation, suggestion: str) -> Explanation:
    """The same with another suggestion."""
    view = msgspec.structs.replace(explanation.view, suggestion=suggestion)
    return msgspec.structs.replace(explanation, view=view)


def _nearest(
    by_reason: Mapping[Reason, list[NodeState]], candidate: Candidate, world: World
) -> tuple[Reason, NodeState] | None:
    """The node that is worth most to the pod: one of the right kind before one that has room but is of another."""

    def distance(item: tuple[Reason, NodeState]) -> tuple[bool, bool, int, int]:
        reason, state = item
        left = _claim_left(candidate, state, world) or 0 if reason is Reason.MEMORY_CLAIM else 0
        return not _offers(candidate, state), not _meets_rules(candidate, state), DISTANCE.index(reason), -left

    judged = ((reason, state) for reason, states in by_reason.items() for state in states)
    return min(judged, key=lambda item: (distance(item), item[1].node.name), default=None)


def _offers(candidate: Candidate, state: NodeState) -> bool:
    """Whether the node has any of each GPU resource that the pod asks for, in use or not."""
    if candidate.request is None:
        return True
    offered = {pool.resource for pool in state.node.pools if pool.slots} | state.node.dra_resources
    return candidate.request.demand.slots.keys() <= offered


def _meets_rules(candidate: Candidate, state: NodeState) -> bool:
    return candidate.request is None or fit.static_reason(candidate.request, state.node) is None


def message(reason: Reason, candidate: Candidate, states: list[NodeState], world: World) -> str:
    """The reason in words about this pod and these nodes; falls back on the constant text."""
    if reason is Reason.NATIVE_TAINT:
        return _taint_message(candidate, states)
    if reason is Reason.NATIVE_RESOURCES:
        return _resource_message(candidate, states, world)
    if reason is Reason.NATIVE_AFFINITY:
        return _affinity_message(candidate, states)
    if reason is Reason.NATIVE_UNSCHEDULABLE:
        return f"{states[0].node.name} is cordoned" if len(states) == 1 else "nodes are cordoned"
    if reason is Reason.MEMORY_CLAIM and len(states) == 1:
        return _claim_message(candidate, states[0], world)
    return _policy_message(reason, candidate) or REASON_TEXT[reason]


def _taint_message(candidate: Candidate, states: list[NodeState]) -> str:
    counts: Counter[str] = Counter()
    for state in states:
        taint = untolerated(candidate.pod.spec.tolerations, state.node.object.taints)
        if taint is not None:
            counts[f"{taint.key}={taint.value}:{taint.effect}" if taint.value else f"{taint.key}:{taint.effect}"] += 1
    return f"taint {', '.join(sorted(counts))} is not tolerated" if counts else REASON_TEXT[Reason.NATIVE_TAINT]


def _affinity_message(candidate: Candidate, states: list[NodeState]) -> str:
    """The entries of the node selector that some of these nodes lack, and whether the affinity speaks against any."""
    if all(node_affinity_reason(candidate.plain, state.node.object) is None for state in states):
        return "its affinity, lowered from an older policy, does not match"
    selector = sorted(candidate.pod.spec.node_selector.items())
    labels = [state.node.object.labels for state in states]
    lacking = [f"{key}={value}" for key, value in selector if any(own.get(key) != value for own in labels)]
    parts = [f"nodeSelector {', '.join(lacking)}"] if lacking else []
    if any(all(own.get(key) == value for key, value in selector) for own in labels):
        terms = candidate.plain.node_affinity or ()
        keys = sorted({part.key for term in terms for part in (*term.expressions, *term.fields)})
        parts.append(f"required node affinity{' on ' if keys else ''}{', '.join(keys)}")
    verb = "do" if len(parts) > 1 else "does"
    return f"{' and '.join(parts)} {verb} not match" if parts else REASON_TEXT[Reason.NATIVE_AFFINITY]


def _resource_message(candidate: Candidate, states: list[NodeState], world: World) -> str:
    counts: Counter[str] = Counter()
    for state in states:
        native = world.ledger.node(state.node.name)
        counts.update(missing(candidate.requests, native, state.node.dra_resources))
    return f"not enough {', '.join(sorted(counts))}" if counts else REASON_TEXT[Reason.NATIVE_RESOURCES]


def _claim_message(candidate: Candidate, state: NodeState, world: World) -> str:
    left = _claim_left(candidate, state, world)
    return REASON_TEXT[Reason.MEMORY_CLAIM] if left is None else f"{format_mib(left)} left for a claim per slot"


def _claim_left(candidate: Candidate, state: NodeState, world: World) -> int | None:
    """The largest claim per slot in MiB that the node could take of this pod; None where that means nothing."""
    slots_asked = candidate.request.demand.slots if candidate.request is not None else {}
    config = world.cluster.config
    left = [
        largest_possible_claim(pool, state.use(resource), slots, config.claim_reserve, config.claim_above_slot) or 0
        for resource, slots in slots_asked.items()
        if (pool := state.node.pool(resource)) is not None
    ]
    return min(left, default=None)


def _policy_message(reason: Reason, candidate: Candidate) -> str | None:
    """Who asks for what: the pod itself first, since he can change that, then the namespace or the configuration."""
    request = candidate.request
    if request is None:
        return None
    own = _written(reason, request.resolution.own.policy)
    if own is not None:
        return f"pod asks for {own}"
    for layer in request.resolution.layers:
        wanted = _written(reason, layer.policy)
        if wanted is not None:
            return f"{layer.name.removeprefix('namespace ')} allows {wanted}"
    return None


def _written(reason: Reason, policy: Policy) -> str | None:
    """What a policy says about the facts that a reason is about."""
    match reason:
        case Reason.FAMILY:
            return ", ".join(policy.families) if policy.families is not None else None
        case Reason.PRODUCT:
            return ", ".join(policy.products) if policy.products is not None else None
        case Reason.SHARING:
            return ", ".join(policy.sharing) if policy.sharing is not None else None
        case Reason.MEMORY:
            bounds = [
                f"at least {policy.min_memory.text}" if policy.min_memory else "",
                f"at most {policy.max_memory.text}" if policy.max_memory else "",
            ]
            return " and ".join(bound for bound in bounds if bound) or None
        case Reason.NODE_SELECTOR if policy.node_selector:
            return f"nodes with {','.join(str(item) for item in policy.node_selector)}"
        case _:
            return None
