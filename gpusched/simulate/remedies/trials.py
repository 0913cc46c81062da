"""Tries changes of one pod on a cluster: what is suggested has been seen to work."""

from collections.abc import Mapping
from contextlib import nullcontext
from typing import Final

import msgspec

from gpusched.core.codes import Reason
from gpusched.native.daemonset import daemon_pod
from gpusched.native.taints import UNSCHEDULABLE_TAINT
from gpusched.simulate.admit import Candidate, admit
from gpusched.simulate.expand import PlannedPod
from gpusched.simulate.placer import Placer
from gpusched.simulate.reasons.survey import survey
from gpusched.simulate.remedies.change import Change
from gpusched.simulate.remedies.siblings import without_anti_affinity
from gpusched.simulate.remedies.substitutes import slot_memory
from gpusched.simulate.remedies.waiting import release_that_fits
from gpusched.simulate.tree_edit import put, tolerate
from gpusched.simulate.world import World
from gpusched.state.node_state import NodeState

#: Nodes asked for one suggestion at most: what is not found by then is not looked for.
_VERDICTS: Final = 100_000


class Advice(msgspec.Struct, frozen=True):
    """What to do, as a sentence without a final period, and the node that it is about or that would take the pod.

    `crowds` where a container would get several slots of shared GPUs, which may be parts of one.
    """

    text: str
    node: str = ""
    crowds: bool = False


class Trials:
    """Tries changes of one pod on the cluster until the budget is spent."""

    def __init__(self, planned: PlannedPod, waiting: Candidate, world: World) -> None:
        self._planned = planned
        self._pod = waiting.pod
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
        return None if candidate is None else self._taker(candidate, best=best)

    def _taker(self, candidate: Candidate, *, best: bool) -> NodeState | None:
        state = self._first(candidate)
        name = Placer(self._world).choose(candidate, None, self._planned.pinned) if best and state is not None else None
        return state if name is None else self._world.cluster.nodes[name]

    def later(self, change: Change) -> Advice | None:
        """What to say of a change after which the pod fits once others end, or a node is uncordoned; None where it does
        not even then.
        """
        candidate = self._changed(change.tree)
        if candidate is None:
            return None
        by_reason: dict[Reason, list[NodeState]] = {}
        for found in survey(candidate, self._world, self._planned.pinned):
            self._left -= 1
            if found.reason is not None:
                by_reason.setdefault(found.reason, []).extend(found.states)
        release = release_that_fits(candidate, by_reason, self._world)
        if release is not None:
            state, measure = self._world.cluster.nodes[release.node], f"wait: {release.text}"
        else:
            cordoned = Reason.NATIVE_UNSCHEDULABLE in by_reason
            found_state = self.uncordoned(change.tree) if cordoned else None
            if found_state is None:
                return None
            state, measure = found_state, f"uncordon {found_state.node.name}"
        words = self._words(change, state)
        if words is None:
            return None
        return Advice(f"{words} and {measure}", state.node.name, _crowds(change.resource, candidate, state))

    def uncordoned(self, tree: Mapping[str, object]) -> NodeState | None:
        """Some cordoned node that would take the changed pod if it were not."""
        return self.taker(tolerate(tree, UNSCHEDULABLE_TAINT))

    def _changed(self, tree: Mapping[str, object]) -> Candidate | None:
        """The changed pod as the scheduler meets it; None where it is refused, or nothing more is tried."""
        if self.over:
            return None
        known = put(tree, ("metadata", "uid"), self._pod.uid)
        candidate = admit(msgspec.structs.replace(self._planned, tree=known), self._world).candidate
        if candidate is None or not self._planned.pinned:
            return candidate
        return msgspec.structs.replace(candidate, pod=daemon_pod(candidate.pod, self._planned.pinned))

    def made(self, change: Change) -> Advice | None:
        """What to say of a change, with what the pod would get by it; None where it does not fit."""
        with without_anti_affinity(self._pod, self._world) if change.shared else nullcontext():
            candidate = self._changed(change.tree)
            state = None if candidate is None else self._taker(candidate, best=bool(change.resource))
        words = None if state is None else self._words(change, state)
        if candidate is None or state is None or words is None:
            return None
        return Advice(words, state.node.name, _crowds(change.resource, candidate, state))

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


def _crowds(resource: str, candidate: Candidate, state: NodeState) -> bool:
    """Whether a container of the pod would get several slots of the resource on this node's shared GPUs."""
    pool, request = state.node.pool(resource), candidate.request
    return pool is not None and pool.shared and request is not None and request.demand.largest_container(resource) > 1
