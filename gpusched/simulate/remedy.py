"""Finds the smallest change that makes a pod fit, by trying: what is suggested has been seen to work."""

from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Final

import msgspec

from gpusched.core.codes import Reason
from gpusched.core.names import PREFIX
from gpusched.core.quantity import format_mib
from gpusched.native.daemonset import daemon_pod
from gpusched.native.taints import UNSCHEDULABLE_TAINT
from gpusched.simulate.admit import Candidate, admit
from gpusched.simulate.alike import Alike
from gpusched.simulate.change import Change
from gpusched.simulate.changes import pod_changes, renamed
from gpusched.simulate.evaluate import verdict
from gpusched.simulate.expand import PlannedPod
from gpusched.simulate.tree_edit import put, tolerate
from gpusched.simulate.waiting import release_that_fits
from gpusched.simulate.world import World
from gpusched.state.events import NamespaceObject, Upsert
from gpusched.state.node_state import NodeState

#: Pairs of changes tried when no single one fits; each costs one pass over the nodes.
_PAIRS: Final = 60
#: Nodes asked for one suggestion at most: what is not found by then is not looked for.
_VERDICTS: Final = 100_000


class _Trials:
    """Tries changes of one pod on the cluster until the budget is spent."""

    def __init__(self, planned: PlannedPod, waiting: Candidate, world: World) -> None:
        self._planned = planned
        self._uid = waiting.pod.uid
        self._world = world
        self._alike = Alike(world)
        self._left = _VERDICTS

    @property
    def over(self) -> bool:
        """Whether nothing more is tried."""
        return self._left <= 0

    def fits(self, tree: Mapping[str, object]) -> bool:
        """Whether the changed pod is admitted and some node takes it.

        It stays the pod that the quota may count already. False where the budget is spent before a node is found.
        """
        if self.over:
            return False
        known = put(tree, ("metadata", "uid"), self._uid)
        candidate = admit(msgspec.structs.replace(self._planned, tree=known), self._world).candidate
        return candidate is not None and any(self._takes(state, candidate) for state in self._states(candidate))

    def _states(self, candidate: Candidate) -> list[NodeState]:
        if self._planned.pinned:
            return [self._world.cluster.nodes[self._planned.pinned]]
        return [group[0] for group in self._alike.groups(candidate)]

    def _takes(self, state: NodeState, candidate: Candidate) -> bool:
        self._left -= 1
        if self._left < 0:
            return False
        if self._planned.pinned:
            candidate = msgspec.structs.replace(candidate, pod=daemon_pod(candidate.pod, self._planned.pinned))
        return verdict(candidate, state, self._world) is None


def suggest(
    planned: PlannedPod, candidate: Candidate, by_reason: Mapping[Reason, list[NodeState]], world: World
) -> str:
    """One sentence without a final period: of the pod, else of nodes or policy, else what to wait for.

    What gives the pod other hardware than it asks for comes last.
    """
    if not world.cluster.nodes:
        return "the cluster has no nodes"
    trials = _Trials(planned, candidate, world)
    few = _one_of_each(candidate, by_reason, world)
    slips = list(renamed(planned.tree, candidate, world))
    changes = sorted(pod_changes(planned.tree, candidate, few, world), key=lambda change: change.radical)
    gentle = [*slips, *(change for change in changes if not change.radical)]
    for change in gentle:
        if trials.fits(change.tree):
            return _sentence(change.text)
    for text in _by_others(planned, candidate, by_reason, world, trials):
        return text
    for change in changes:
        if change.radical and trials.fits(change.tree):
            return _sentence(change.text)
    for first, second in _pairs(candidate, few, [*slips, *changes], world, trials):
        return _sentence(f"{first.text} and {second.text}")
    return f"{_sentence(slips[0].text)}; no node has room for that now" if slips else _nothing_fits(candidate)


def recreated_fits(planned: PlannedPod, candidate: Candidate, world: World) -> bool:
    """Whether some node would take the pod if it were created anew without any change."""
    return _Trials(planned, candidate, world).fits(planned.tree)


def _one_of_each(
    candidate: Candidate, by_reason: Mapping[Reason, list[NodeState]], world: World
) -> dict[Reason, list[NodeState]]:
    """The first of the nodes that are alike for the pod: further ones would suggest the same."""
    first = {group[0].node.name for group in Alike(world).groups(candidate)}
    return {
        reason: [state for state in states if state.node.name in first] or states[:1]
        for reason, states in by_reason.items()
    }


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:]


def _by_others(
    planned: PlannedPod,
    candidate: Candidate,
    by_reason: Mapping[Reason, list[NodeState]],
    world: World,
    trials: _Trials,
) -> Iterator[str]:
    """What others can do: uncordon a node, end a pod, change the namespace's policy."""
    cordoned = by_reason.get(Reason.NATIVE_UNSCHEDULABLE, [])
    if cordoned and trials.fits(tolerate(planned.tree, UNSCHEDULABLE_TAINT)):
        yield f"Uncordon {cordoned[0].node.name}"
    released = release_that_fits(candidate, by_reason, world)
    if released is not None:
        yield f"Wait: {released}"
    yield from _policy_changes(planned, candidate, world, trials)


def _policy_changes(planned: PlannedPod, candidate: Candidate, world: World, trials: _Trials) -> Iterator[str]:
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
            fits = trials.fits(planned.tree)
        finally:
            world.cluster.apply(Upsert(standing))
        if fits:
            yield f"An admin may widen {key} of namespace {name} (now {standing.annotations[key]})"


def _pairs(
    candidate: Candidate,
    by_reason: Mapping[Reason, list[NodeState]],
    changes: list[Change],
    world: World,
    trials: _Trials,
) -> Iterator[tuple[Change, Change]]:
    """Two changes of the pod that fit together: the second is made on the outcome of the first."""
    for tried, (first, second) in enumerate(combinations(changes, 2)):
        if tried >= _PAIRS or trials.over:
            return
        for both in pod_changes(first.tree, candidate, by_reason, world):
            if both.text == second.text and trials.fits(both.tree):
                yield first, second


def _nothing_fits(candidate: Candidate) -> str:
    """What a new node would have to offer: every device asked for, or else the processors and memory."""
    asked = {name: count for name, count in candidate.requests.items() if "/" in name and count}
    if asked:
        offer = ", ".join(f"{name}: {count}" for name, count in sorted(asked.items()))
        return f"No small change fits; add a node that offers {offer} and meets the pod's rules"
    cpu, memory = (candidate.requests.get(name, 0) for name in ("cpu", "memory"))
    parts = [f"{cpu}m cpu" if cpu else "", f"{format_mib(memory >> 20)} memory" if memory >> 20 else ""]
    room = " and ".join(part for part in parts if part)
    return f"No small change fits; add a node {f'with {room} free ' if room else ''}that meets the pod's rules"
