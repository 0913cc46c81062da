"""Finds the smallest change that makes a pod fit, by trying: what is suggested has been seen to work."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, combinations, islice
from typing import Final, NamedTuple

import msgspec

from gpusched.core.codes import Reason
from gpusched.core.names import PREFIX
from gpusched.native.resources import missing
from gpusched.placement.fit import live_reason, static_reason
from gpusched.simulate.admit import Candidate
from gpusched.simulate.expand import PlannedPod
from gpusched.simulate.remedies.amount_changes import amount_text
from gpusched.simulate.remedies.change import Change, Loss
from gpusched.simulate.remedies.changes import pod_changes, renamed
from gpusched.simulate.remedies.daemon_template import template_change
from gpusched.simulate.remedies.offer import Offer, offer_to
from gpusched.simulate.remedies.siblings import are_siblings, fewer_replicas
from gpusched.simulate.remedies.trials import Advice, Trials
from gpusched.simulate.remedies.waiting import Release, release_that_fits
from gpusched.simulate.world import World
from gpusched.state.events import NamespaceObject, Upsert
from gpusched.state.node_state import NodeState

#: Pairs of changes tried when no single one fits; each costs one pass over the nodes.
_PAIRS: Final = 60
#: Changes tried together with waiting when nothing else fits.
_WAITED: Final = 16


class _Case(NamedTuple):
    """A pod that waits and what is known about it: nodes by the reason for which they refuse it."""

    planned: PlannedPod
    candidate: Candidate
    by_reason: Mapping[Reason, list[NodeState]]
    world: World
    trials: Trials
    offer: Offer


def suggest(
    planned: PlannedPod, candidate: Candidate, by_reason: Mapping[Reason, list[NodeState]], world: World
) -> Advice:
    """What costs the user least, without a final period: a slip mended, then what others do or time brings, then
    changes of the pod, then those of the policy. What gives the pod other hardware than it asks for comes last.
    """
    if not world.cluster.nodes:
        return Advice("the cluster has no nodes")
    offer = offer_to(candidate, by_reason, world)
    case = _Case(planned, candidate, by_reason, world, Trials(planned, candidate, world), offer)
    slips = list(renamed(planned.tree, candidate, world))
    changes = sorted(pod_changes(planned.tree, candidate, offer, world), key=lambda change: change.loss)
    for advice in chain(_in_order(case, slips, changes), _together(case, [*slips, *changes])):
        return _sentence(advice)
    if slips:
        end = "" if world.elsewhere else "; no node has room for that now"
        return _sentence(Advice(slips[0].text + end))
    where = f" on the {len(world.cluster.nodes)} nearest nodes" if world.elsewhere else ""
    return Advice(f"No small change fits{where}; {_new_node(candidate, offer)}")


def recreated_fits(planned: PlannedPod, candidate: Candidate, world: World) -> bool:
    """Whether some node would take the pod if it were created anew without any change."""
    return Trials(planned, candidate, world).taker(planned.tree) is not None


def _sentence(advice: Advice) -> Advice:
    return Advice(advice.text[0].upper() + advice.text[1:], advice.node)


def _in_order(case: _Case, slips: list[Change], changes: list[Change]) -> Iterator[Advice]:
    """Single measures that help, the one that costs the user least first."""
    made = case.trials.made
    yield from _found(made(change) for change in slips)
    template = template_change(case.candidate, case.planned.pinned, case.world)
    if template is not None:
        yield Advice(template, case.planned.pinned)
    gentle = [change for change in changes if change.loss < Loss.OTHER]
    # Who cannot wait takes less of the same.
    less_first = sorted(gentle, key=lambda change: change.loss not in {Loss.CLAIM, Loss.LESS})
    release = release_that_fits(case.candidate, case.by_reason, case.world)
    by_hand = _by_hand(case, release)
    for advice in _in_time(case, release):
        yield _either(advice, chain(_apart(made(change) for change in less_first), by_hand))
    for advice in _found(made(change) for change in gentle if change.loss is Loss.NOTHING):
        yield _either(advice, by_hand)
    for advice in by_hand:
        yield _either(advice, chain(_apart(made(change) for change in less_first), by_hand))
    yield from _apart(made(change) for change in gentle)
    yield from _policy_changes(case)
    others = (made(change) for change in changes if change.loss is Loss.OTHER)
    for advice in chain(_apart(others), _found(made(change) for change in changes)):
        milder = next(_apart(case.trials.later(change) for change in gentle[:_WAITED]), None)
        yield advice if milder is None else _either(milder, iter((advice,)))


def _either(advice: Advice, others: Iterator[Advice]) -> Advice:
    """The advice with the first of the others, if any."""
    other = next(others, None)
    if other is None:
        return advice
    return Advice(f"{advice.text}; or {other.text[0].lower()}{other.text[1:]}", advice.node)


def _found(advices: Iterable[Advice | None]) -> Iterator[Advice]:
    return (advice for advice in advices if advice is not None)


def _apart(advices: Iterable[Advice | None]) -> Iterator[Advice]:
    """Those by which no container gets several slots of shared GPUs."""
    return (advice for advice in _found(advices) if not advice.crowds)


def _in_time(case: _Case, release: Release | None) -> Iterator[Advice]:
    """What passes while the pod stays as it is: a pod that goes, a partitioning that ends, a pod that ends."""
    if release is not None and release.going:
        yield Advice(f"Wait: {release.text}", release.node)
    changing = _changing(case)
    if changing is not None:
        yield Advice(f"Wait until the GPUs of {changing} are reconfigured", changing)
    if release is not None and not release.rules:
        yield Advice(f"Wait: {release.text}", release.node)


def _by_hand(case: _Case, release: Release | None) -> Iterator[Advice]:
    """What somebody has to do while the pod stays as it is: uncordon a node, end a pod that rules keep it away from, or
    run fewer of its siblings.
    """
    if Reason.NATIVE_UNSCHEDULABLE in case.by_reason:
        cordoned = case.trials.uncordoned(case.planned.tree)
        if cordoned is not None:
            yield Advice(f"Uncordon {cordoned.node.name}", cordoned.node.name)
    if release is not None and release.rules and not release.going:
        yield Advice(f"Wait: {release.text}", release.node)
    pod = case.candidate.pod
    lasting = are_siblings(pod, pod)
    crowded = release_that_fits(case.candidate, case.by_reason, case.world, siblings=True) if lasting else None
    if crowded is not None and crowded.crowded:
        yield Advice(fewer_replicas(pod, case.world), crowded.node)


def _changing(case: _Case) -> str | None:
    """A node that lacks nothing but the end of its reconfiguration, during which it may offer no GPU at all."""
    candidate, world = case.candidate, case.world
    request = candidate.request
    if request is None:
        return None
    for state in case.by_reason.get(Reason.RECONFIGURING, ()):
        if live_reason(request, state, world.cluster) is None:
            return state.node.name
    for state in case.by_reason.get(Reason.NATIVE_RESOURCES, ()):
        gone = {name for name in request.demand.slots if not state.node.object.allocatable.get(name)}
        if gone and static_reason(request, state.node) is Reason.RECONFIGURING:
            native = world.ledger.node(state.node.name)
            if gone.issuperset(missing(candidate.requests, native)):
                return state.node.name
    return None


def _policy_changes(case: _Case) -> Iterator[Advice]:
    """Keys of the namespace's policy without which the pod would fit. The policy is put back after each try."""
    if case.candidate.request is None:
        return
    name, cluster = case.planned.manifest.namespace, case.world.cluster
    standing = cluster.namespace_object(name)
    if standing is None:
        return
    for key in sorted(standing.annotations):
        if key == PREFIX + "mode":
            continue
        without = {other: value for other, value in standing.annotations.items() if other != key}
        mode = {PREFIX + "mode": "enforce"} if PREFIX + "mode" not in without else {}
        try:
            cluster.apply(Upsert(NamespaceObject(name, standing.labels, without | mode)))
            taker = case.trials.taker(case.planned.tree)
        finally:
            cluster.apply(Upsert(standing))
        if taker is not None:
            text = f"An admin may widen {key} of namespace {name} (now {standing.annotations[key]})"
            yield Advice(text, taker.node.name)


def _together(case: _Case, changes: list[Change]) -> Iterator[Advice]:
    """Measures that help together: a change and waiting, then two changes, and those and waiting."""
    made, later = case.trials.made, case.trials.later
    mild = [change for change in changes[:_WAITED] if change.loss < Loss.KIND]
    yield from _found(later(change) for change in mild)
    pairs = list(_pairs(case, changes))
    yield from (Advice(pair.text) for pair in pairs if made(pair) is not None)
    yield from _found(later(change) for change in changes[:_WAITED] if change not in mild)
    yield from _found(later(pair) for pair in pairs)


def _pairs(case: _Case, changes: list[Change]) -> Iterator[Change]:
    """Two changes of the pod in one: the second is made on the outcome of the first."""
    for first, second in islice(combinations(changes, 2), _PAIRS):
        for both in pod_changes(first.tree, case.candidate, case.offer, case.world):
            if both.text == second.text:
                text = f"{first.text} and {second.text}"
                yield msgspec.structs.replace(both, text=text, loss=max(first.loss, second.loss))


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
