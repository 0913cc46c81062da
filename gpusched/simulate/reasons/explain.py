"""Why no node takes a pod: reasons counted over nodes, in words about this pod, and the smallest change that fits."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

import msgspec

from gpusched.core.codes import Reason
from gpusched.core.pod import Toleration
from gpusched.native.taints import UNSCHEDULABLE_TAINT, untolerated
from gpusched.native.term import looks_around
from gpusched.placement import fit
from gpusched.simulate.admit import Candidate
from gpusched.simulate.evaluate import verdict
from gpusched.simulate.expand import PlannedPod
from gpusched.simulate.reasons.obstacle import Obstacle
from gpusched.simulate.reasons.shortage import never_offered
from gpusched.simulate.reasons.survey import Finding, survey
from gpusched.simulate.reasons.wording import claim_left, message
from gpusched.simulate.remedies.changes import is_meant
from gpusched.simulate.remedies.remedy import suggest
from gpusched.simulate.remedies.waiting import PASSING, large_enough
from gpusched.simulate.result import ReasonView, UnschedulableView
from gpusched.simulate.world import World
from gpusched.state.node_state import NodeState

#: Reasons from the nearest to a fit to the farthest: the first ones pass with time or less, the last ones never.
DISTANCE: Sequence[Reason] = (
    Reason.NATIVE_OTHER,
    Reason.MEMORY_CLAIM,
    Reason.FREE_REPLICAS,
    Reason.NATIVE_RESOURCES,
    Reason.QUOTA,
    Reason.RECONFIGURING,
    Reason.NATIVE_SPREAD,
    Reason.NATIVE_POD_AFFINITY,
    Reason.SHARED_SINGLE,
    Reason.FACTS_UNKNOWN,
    Reason.NATIVE_TAINT,
    Reason.NATIVE_UNSCHEDULABLE,
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


_Distance = tuple[bool, bool, int, bool, int, str]

#: Reasons of which it matters too what else the node holds.
_BY_USE: Final = frozenset({Reason.MEMORY_CLAIM, Reason.NATIVE_UNSCHEDULABLE})


class Explanation(msgspec.Struct, frozen=True):
    """All that `why` prints about a pod that no node takes."""

    view: UnschedulableView
    examples: Mapping[str, str]
    nearest: str | None = None
    nearest_lacks: str = ""
    #: Why no autoscaler will add a node, where that is certain.
    scaling: str = ""
    #: Nodes of which it is unknown whether they take the pod.
    open: int = 0
    #: What was not looked at, and may keep the pod from a node after the change that is suggested.
    caveats: tuple[str, ...] = ()


def verdicts(planned: PlannedPod, candidate: Candidate, world: World) -> list[tuple[NodeState, Reason | None]]:
    """The verdict of every node that the pod could be meant for, by node name."""
    found = survey(candidate, world, planned.pinned)
    judged = [(state, reason) for reason, states, _ in found for state in states]
    return sorted(judged, key=lambda item: item[0].node.name)


def explain_fully(planned: PlannedPod, candidate: Candidate, world: World) -> Explanation:
    """Reasons with an example node each, the nearest node and what it lacks, and the suggestion."""
    found = list(survey(candidate, world, planned.pinned))
    by_reason = _by_reason(found)
    groups = _Groups(found, candidate, world)
    advice = suggest(planned, candidate, by_reason, world)
    near = groups.of_node(advice.node) or groups.nearest()
    return Explanation(
        view=UnschedulableView(reasons=groups.views(), suggestion=advice.text),
        examples=groups.examples(),
        nearest=near[1].node.name if near else None,
        nearest_lacks=_lacks(near[0], near[1], candidate, world) if near else "",
        scaling=_scaling(by_reason),
        open=sum(reason is None for reason in world.elsewhere.values()),
        caveats=tuple(_caveats(candidate, world)),
    )


def explain_besides(
    planned: PlannedPod, candidate: Candidate, world: World, obstacle: Obstacle, taker: str = ""
) -> Explanation:
    """The same of a pod that `taker` and perhaps other nodes would take were it not for the obstacle; without a taker
    the obstacle alone, which holds on every node.
    """
    code = Reason.NATIVE_OTHER.value
    everywhere = sorted({*world.cluster.nodes, *world.elsewhere})
    if not taker:
        view = UnschedulableView((ReasonView(code, obstacle.cause, len(everywhere)),), obstacle.change)
        return Explanation(view, {code: next(iter(everywhere), "")})
    found = list(survey(candidate, world, planned.pinned))
    groups = _Groups(found, candidate, world)
    reasons = groups.views()
    takers = len(everywhere) - sum(reason.nodes for reason in reasons)
    return Explanation(
        view=UnschedulableView((ReasonView(code, obstacle.cause, takers), *reasons), obstacle.change),
        examples={code: taker, **groups.examples()},
        nearest=taker,
        nearest_lacks=obstacle.cause,
    )


def never_taken(planned: PlannedPod, candidate: Candidate, world: World) -> str:
    """Why no node would take a pod, whatever the quota says and whichever pods end; empty where one might."""
    if candidate.request is None or None in world.elsewhere.values():
        return ""
    resolution = msgspec.structs.replace(candidate.request.resolution, quota=None, quota_memory_mib=None)
    request = msgspec.structs.replace(candidate.request, resolution=resolution)
    candidate = msgspec.structs.replace(candidate, request=request)
    found = list(survey(candidate, world, planned.pinned))
    for number, (reason, states, node_class) in enumerate(found):
        if reason is None or (reason in PASSING and any(large_enough(state, candidate) for state in states)):
            return ""
        if reason in PASSING:
            # What ends with other pods is not the cause.
            lasting = fit.static_reason(request, states[0].node) or reason
            found[number] = Finding(lasting, states, node_class)
    reasons = _Groups(found, candidate, world).views()
    return reasons[0].message if reasons else ""


class _Groups:
    """The nodes that refuse a pod, by what is said of them."""

    def __init__(self, found: list[Finding], candidate: Candidate, world: World) -> None:
        self._candidate = candidate
        self._world = world
        self._told: dict[Reason, list[NodeState]] = {}
        # The first by name of nodes that are as far: of one class and reason, where that matters with as much left too.
        first: dict[object, tuple[Reason, NodeState]] = {}
        for reason, states, node_class in found:
            if reason is not None:
                for state in states:
                    told = told_reason(reason, candidate, state)
                    self._told.setdefault(told, []).append(state)
                    left = state.signature if told in _BY_USE else ""
                    first.setdefault((id(node_class), told, left), (told, state))
        self._nearest = _nearest(first.values(), candidate, world)
        for those in self._told.values():
            those.sort(key=lambda state: state.node.name)
        self._names = {reason: [state.node.name for state in states] for reason, states in self._told.items()}
        for name, elsewhere in world.elsewhere.items():
            if elsewhere is not None:
                self._names.setdefault(elsewhere, []).append(name)

    def nearest(self) -> tuple[Reason, NodeState] | None:
        """The node nearest to a fit, and its reason."""
        reason = min(self._nearest, key=self._distance, default=None)
        return None if reason is None else (reason, self._nearest[reason][1])

    def of_node(self, name: str) -> tuple[Reason, NodeState] | None:
        """The node that the suggestion is about, so that both speak of one."""
        states = ((reason, state) for reason, group in self._told.items() for state in group)
        return next((item for item in states if item[1].node.name == name), None)

    def views(self) -> tuple[ReasonView, ...]:
        """The reasons, those of nearer nodes before those of farther ones."""
        ordered = sorted(self._names, key=self._distance)
        return tuple(ReasonView(reason.value, self._message(reason), len(self._names[reason])) for reason in ordered)

    def examples(self) -> dict[str, str]:
        """A node of each reason."""
        return {reason.value: names[0] for reason, names in self._names.items()}

    def _distance(self, reason: Reason) -> _Distance:
        return self._nearest[reason][0] if reason in self._nearest else _far(reason)

    def _message(self, reason: Reason) -> str:
        """One node that stands for several must not be described by its name or by what it alone has left."""
        states = self._told.get(reason, [])
        known = states if len(states) == len(self._names[reason]) else [*states, *states[:1]]
        return message(reason, self._candidate, known, self._world)


def _caveats(candidate: Candidate, world: World) -> Iterator[str]:
    spec = candidate.pod.spec
    if spec.unmodelled:
        yield f"{' and '.join(spec.unmodelled)} are not modelled"
    if world.elsewhere and looks_around(spec):
        yield "pods without a GPU on other nodes were not looked at"


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


def _by_reason(found: list[Finding]) -> dict[Reason, list[NodeState]]:
    """Nodes by name."""
    by_reason: dict[Reason, list[NodeState]] = {}
    for reason, states, _ in found:
        if reason is not None:
            by_reason.setdefault(reason, []).extend(states)
    for states in by_reason.values():
        states.sort(key=lambda state: state.node.name)
    return by_reason


def told_reason(reason: Reason, candidate: Candidate, state: NodeState) -> Reason:
    """What is said of a node: one without any of a GPU resource lacks that, whatever else refuses the pod first."""
    if candidate.request is None or not never_offered(candidate, state):
        return reason
    changing = fit.static_reason(candidate.request, state.node) is Reason.RECONFIGURING
    return Reason.RECONFIGURING if changing else Reason.NO_RESOURCE


def _nearest(
    judged: Iterable[tuple[Reason, NodeState]], candidate: Candidate, world: World
) -> dict[Reason, tuple[_Distance, NodeState]]:
    """Of each reason the node that is worth most to the pod: one of the right kind before one that has room but is of
    another.
    """
    nearest: dict[Reason, tuple[_Distance, NodeState]] = {}
    for reason, state in judged:
        left = claim_left(candidate, state, world) or 0 if reason is Reason.MEMORY_CLAIM else 0
        misfit = not _meets_rules(candidate, state)
        besides = _besides(reason, candidate, state, world)
        distance = (
            not _offers(candidate, state),
            misfit,
            DISTANCE.index(besides or reason),
            besides is not None,
            -left,
            state.node.name,
        )
        if reason not in nearest or distance < nearest[reason][0]:
            nearest[reason] = distance, state
    return nearest


def _besides(reason: Reason, candidate: Candidate, state: NodeState, world: World) -> Reason | None:
    """What is in the way of a node besides the reason: all that a cordoned one would lack if it were not, and for
    taints that nobody tolerates somebody has to act just as for that.
    """
    spec = candidate.pod.spec
    if reason is Reason.NATIVE_TAINT:
        taint = untolerated(spec.tolerations, state.node.object.taints)
        return Reason.NATIVE_UNSCHEDULABLE if taint is not None and is_meant(taint, candidate, world) else None
    if reason is not Reason.NATIVE_UNSCHEDULABLE:
        return None
    cordon = Toleration(UNSCHEDULABLE_TAINT.key, effect=UNSCHEDULABLE_TAINT.effect)
    tolerant = msgspec.structs.replace(spec, tolerations=(*spec.tolerations, cordon))
    pod = msgspec.structs.replace(candidate.pod, spec=tolerant)
    return verdict(msgspec.structs.replace(candidate, pod=pod), state, world)


def _lacks(reason: Reason, state: NodeState, candidate: Candidate, world: World) -> str:
    """All that the node lacks, in words."""
    found = [reason]
    if reason is Reason.NATIVE_UNSCHEDULABLE:
        besides = _besides(reason, candidate, state, world)
        found += [besides] if besides is not None else []
    return "; besides, ".join(message(item, candidate, [state], world) for item in found)


def _far(reason: Reason) -> _Distance:
    """The distance of nodes that are not at hand."""
    return reason is Reason.NO_RESOURCE, True, DISTANCE.index(reason), False, 0, ""


def _offers(candidate: Candidate, state: NodeState) -> bool:
    """Whether the node has any of each GPU resource that the pod asks for, in use or not."""
    if candidate.request is None:
        return True
    offered = {pool.resource for pool in state.node.pools if pool.slots} | state.node.dra_resources
    return candidate.request.demand.slots.keys() <= offered


def _meets_rules(candidate: Candidate, state: NodeState) -> bool:
    return candidate.request is None or fit.static_reason(candidate.request, state.node) is None
