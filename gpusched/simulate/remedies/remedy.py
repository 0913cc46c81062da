"""Finds the smallest change that makes a pod fit, by trying: what is suggested has been seen to work."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations
from typing import Final

import msgspec

from gpusched.core.codes import Reason
from gpusched.core.names import PREFIX
from gpusched.native.daemonset import daemon_pod
from gpusched.native.resources import missing
from gpusched.native.taints import UNSCHEDULABLE_TAINT
from gpusched.placement.fit import live_reason, static_reason
from gpusched.simulate.admit import Candidate, admit
from gpusched.simulate.expand import PlannedPod
from gpusched.simulate.placer import Placer
from gpusched.simulate.reasons.survey import survey
from gpusched.simulate.remedies.amount_changes import amount_text
from gpusched.simulate.remedies.change import Change, Loss
from gpusched.simulate.remedies.changes import pod_changes, renamed
from gpusched.simulate.remedies.daemon_template import template_change
from gpusched.simulate.remedies.offer import Offer, offer_to
from gpusched.simulate.remedies.substitutes import slot_memory
from gpusched.simulate.remedies.waiting import release_that_fits
from gpusched.simulate.tree_edit import put, tolerate
from gpusched.simulate.world import World
from gpusched.state.events import NamespaceObject, Upsert
from gpusched.state.node_state import NodeState

#: Pairs of changes tried when no single one fits; each costs one pass over the nodes.
_PAIRS: Final = 60
#: Changes tried together with waiting when nothing else fits.
_WAITED: Final = 16
#: Nodes asked for one suggestion at most: what is not found by then is not looked for.
_VERDICTS: Final = 100_000


class Advice(msgspec.Struct, frozen=True):
    """What to do, as a sentence without a final period, and the node that it is about or that would take the pod."""

    text: str
    node: str = ""


class _Trials:
    """Tries changes of one pod on the cluster until the budget is spent."""

    def __init__(self, planned: PlannedPod, waiting: Candidate, world: World) -> None:
        self._planned = planned
        self._uid = waiting.pod.uid
        self._asked = waiting.request.demand.slots if waiting.request is not None else {}
        self._world = world
        self._left = _VERDICTS

    @property
    def over(self) -> bool:
        """Whether nothing more is tried."""
        return self._left <= 0

    def taker(self, tree: Mapping[str, object], *, best: bool = False) -> NodeState | None:
        """Some node that takes the changed pod if it is admitted, or the one that the scheduler would choose.

        It stays the pod that the quota may count already. None where the budget is spent before a node is found.
        """
        candidate = self._changed(tree)
        if candidate is None:
            return None
        state = self._first(candidate)
        name = Placer(self._world).choose(candidate, None, self._planned.pinned) if best and state is not None else None
        return state if name is None else self._world.cluster.nodes[name]

    def waited(self, change: Change) -> Advice | None:
        """What to say of a change after which the pod fits once others end; None where it does not even then."""
        candidate = self._changed(change.tree)
        if candidate is None:
            return None
        by_reason: dict[Reason, list[NodeState]] = {}
        for found in survey(candidate, self._world, self._planned.pinned):
            self._left -= 1
            if found.reason is not None:
                by_reason.setdefault(found.reason, []).extend(found.states)
        release = release_that_fits(candidate, by_reason, self._world)
        words = None if release is None else self._words(change, self._world.cluster.nodes[release.node])
        return Advice(f"{words} and wait: {release.text}", release.node) if release is not None and words else None

    def _changed(self, tree: Mapping[str, object]) -> Candidate | None:
        """The changed pod as the scheduler meets it; None where it is refused, or nothing more is tried."""
        if self.over:
            return None
        known = put(tree, ("metadata", "uid"), self._uid)
        candidate = admit(msgspec.structs.replace(self._planned, tree=known), self._world).candidate
        if candidate is None or not self._planned.pinned:
            return candidate
        return msgspec.structs.replace(candidate, pod=daemon_pod(candidate.pod, self._planned.pinned))

    def made(self, change: Change) -> Advice | None:
        """What to say of a change, with what the pod would get by it; None where it does not fit."""
        state = self.taker(change.tree, best=bool(change.resource))
        words = None if state is None else self._words(change, state)
        return Advice(words, state.node.name) if state is not None and words is not None else None

    def _words(self, change: Change, state: NodeState) -> str | None:
        """The change and what the pod would get by it on this node; None where that is too little memory."""
        pool = state.node.pool(change.resource)
        if pool is None:
            return change.text + change.besides
        memory = slot_memory(pool)
        if memory is not None and memory < change.least_mib:
            return None
        each = f"{memory / 1024:.1f}Gi" if memory is not None else ""
        if pool.shared:
            gets = f" (shared slots of {state.node.name}{f', {each} each' if each else ''})"
        else:
            gets = f" ({each})" if each and change.resource not in self._asked else ""
        return change.text + gets + change.besides

    def _first(self, candidate: Candidate) -> NodeState | None:
        for found in survey(candidate, self._world, self._planned.pinned):
            if found.reason is None:
                return found.states[0]
            self._left -= 1
            if self.over:
                break
        return None


def suggest(
    planned: PlannedPod, candidate: Candidate, by_reason: Mapping[Reason, list[NodeState]], world: World
) -> Advice:
    """What costs the user least, without a final period: a slip mended, then what others do or time brings, then
    changes of the pod, then those of the policy. What gives the pod other hardware than it asks for comes last.
    """
    if not world.cluster.nodes:
        return Advice("the cluster has no nodes")
    trials = _Trials(planned, candidate, world)
    offer = offer_to(candidate, by_reason, world)
    slips = list(renamed(planned.tree, candidate, world))
    changes = sorted(pod_changes(planned.tree, candidate, offer, world), key=lambda change: change.loss)
    for advice in _in_order(planned, candidate, by_reason, world, trials, slips, changes):
        return _sentence(advice)
    for first, second in _pairs(candidate, offer, [*slips, *changes], world, trials):
        return _sentence(Advice(f"{first.text} and {second.text}"))
    for advice in _found(trials.waited(change) for change in [*slips, *changes][:_WAITED]):
        return _sentence(advice)
    if slips:
        end = "" if world.elsewhere else "; no node has room for that now"
        return _sentence(Advice(slips[0].text + end))
    where = f" on the {len(world.cluster.nodes)} nearest nodes" if world.elsewhere else ""
    return Advice(f"No small change fits{where}; {_new_node(candidate, offer)}")


def recreated_fits(planned: PlannedPod, candidate: Candidate, world: World) -> bool:
    """Whether some node would take the pod if it were created anew without any change."""
    return _Trials(planned, candidate, world).taker(planned.tree) is not None


def _sentence(advice: Advice) -> Advice:
    return Advice(advice.text[0].upper() + advice.text[1:], advice.node)


def _in_order(
    planned: PlannedPod,
    candidate: Candidate,
    by_reason: Mapping[Reason, list[NodeState]],
    world: World,
    trials: _Trials,
    slips: list[Change],
    changes: list[Change],
) -> Iterator[Advice]:
    """Single measures that help, the one that costs the user least first."""
    yield from _found(trials.made(change) for change in slips)
    template = template_change(candidate, planned.pinned, world)
    if template is not None:
        yield Advice(template, planned.pinned)
    gentle = [change for change in changes if change.loss < Loss.OTHER]
    for advice in _by_others(planned, candidate, by_reason, world, trials):
        # Who cannot wait takes less of the same.
        less_first = sorted(gentle, key=lambda change: change.loss not in {Loss.CLAIM, Loss.LESS})
        other = next(_found(trials.made(change) for change in less_first), None)
        yield advice if other is None else Advice(f"{advice.text}; or {other.text}", advice.node)
    yield from _found(trials.made(change) for change in gentle)
    yield from _policy_changes(planned, candidate, world, trials)
    yield from _found(trials.made(change) for change in changes if change.loss is Loss.OTHER)


def _found(advices: Iterable[Advice | None]) -> Iterator[Advice]:
    return (advice for advice in advices if advice is not None)


def _by_others(
    planned: PlannedPod,
    candidate: Candidate,
    by_reason: Mapping[Reason, list[NodeState]],
    world: World,
    trials: _Trials,
) -> Iterator[Advice]:
    """What passes or others can do while the pod stays as it is: a pod that goes, a node to uncordon, its
    partitioning, a pod to end.
    """
    release = release_that_fits(candidate, by_reason, world)
    if release is not None and release.going:
        yield Advice(f"Wait: {release.text}", release.node)
    if Reason.NATIVE_UNSCHEDULABLE in by_reason:
        cordoned = trials.taker(tolerate(planned.tree, UNSCHEDULABLE_TAINT))
        if cordoned is not None:
            yield Advice(f"Uncordon {cordoned.node.name}", cordoned.node.name)
    changing = _changing(candidate, by_reason, world)
    if changing is not None:
        yield Advice(f"Wait until the GPUs of {changing} are reconfigured", changing)
    if release is not None:
        yield Advice(f"Wait: {release.text}", release.node)


def _changing(candidate: Candidate, by_reason: Mapping[Reason, list[NodeState]], world: World) -> str | None:
    """A node that lacks nothing but the end of its reconfiguration, during which it may offer no GPU at all."""
    request = candidate.request
    if request is None:
        return None
    for state in by_reason.get(Reason.RECONFIGURING, ()):
        if live_reason(request, state, world.cluster) is None:
            return state.node.name
    for state in by_reason.get(Reason.NATIVE_RESOURCES, ()):
        gone = {name for name in request.demand.slots if not state.node.object.allocatable.get(name)}
        if gone and static_reason(request, state.node) is Reason.RECONFIGURING:
            native = world.ledger.node(state.node.name)
            if gone.issuperset(missing(candidate.requests, native)):
                return state.node.name
    return None


def _policy_changes(planned: PlannedPod, candidate: Candidate, world: World, trials: _Trials) -> Iterator[Advice]:
    """Keys of the namespace's policy without which the pod would fit. The policy is put back after each try."""
    if candidate.request is None:
        return
    name = planned.manifest.namespace
    standing = world.cluster.namespace_object(name)
    if standing is None:
        return
    for key in sorted(standing.annotations):
        if key == PREFIX + "mode":
            continue
        without = {other: value for other, value in standing.annotations.items() if other != key}
        mode = {PREFIX + "mode": "enforce"} if PREFIX + "mode" not in without else {}
        try:
            world.cluster.apply(Upsert(NamespaceObject(name, standing.labels, without | mode)))
            taker = trials.taker(planned.tree)
        finally:
            world.cluster.apply(Upsert(standing))
        if taker is not None:
            text = f"An admin may widen {key} of namespace {name} (now {standing.annotations[key]})"
            yield Advice(text, taker.node.name)


def _pairs(
    candidate: Candidate, offer: Offer, changes: list[Change], world: World, trials: _Trials
) -> Iterator[tuple[Change, Change]]:
    """Two changes of the pod that fit together: the second is made on the outcome of the first."""
    for tried, (first, second) in enumerate(combinations(changes, 2)):
        if tried >= _PAIRS or trials.over:
            return
        for both in pod_changes(first.tree, candidate, offer, world):
            if both.text == second.text and trials.made(both) is not None:
                yield first, second


def _new_node(candidate: Candidate, offer: Offer) -> str:
    """What a new node would have to offer: every device asked for, and what no node has enough of, or else the
    processors and memory.
    """
    asked = {name: count for name, count in candidate.requests.items() if "/" in name and count}
    wanted = offer.small if asked else ("cpu", "memory")
    amounts = [
        f"{amount_text(name, amount)} {name}"
        for name in wanted
        if (amount := candidate.requests.get(name, 0)) and not amount_text(name, amount).startswith("0")
    ]
    room = " and ".join(amounts)
    if asked:
        devices = ", ".join(f"{name}: {count}" for name, count in sorted(asked.items()))
        return f"add a node that offers {devices}{f' with {room} free' if room else ''} and meets the pod's rules"
    return f"add a node {f'with {room} free ' if room else ''}that meets the pod's rules"
