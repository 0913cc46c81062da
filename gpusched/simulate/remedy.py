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
from gpusched.simulate.change import Change
from gpusched.simulate.changes import pod_changes
from gpusched.simulate.evaluate import verdict
from gpusched.simulate.expand import PlannedPod
from gpusched.simulate.tree_edit import put, tolerate
from gpusched.simulate.waiting import release_that_fits
from gpusched.simulate.world import World
from gpusched.state.events import NamespaceObject, Upsert
from gpusched.state.node_state import NodeState

#: Pairs of changes tried when no single one fits; each costs one pass over the nodes.
_PAIRS: Final = 60


def suggest(
    planned: PlannedPod, candidate: Candidate, by_reason: Mapping[Reason, list[NodeState]], world: World
) -> str:
    """One sentence without a final period: of the pod, else of nodes or policy, else what to wait for.

    What gives the pod other hardware than it asks for comes last.
    """
    if not world.cluster.nodes:
        return "the cluster has no nodes"
    changes = sorted(pod_changes(planned.tree, candidate, by_reason, world), key=lambda change: change.radical)
    gentle = [change for change in changes if not change.radical]
    for change in gentle:
        if _fits(planned, change.tree, candidate, world):
            return _sentence(change.text)
    for text in _by_others(planned, candidate, by_reason, world):
        return text
    for change in changes[len(gentle) :]:
        if _fits(planned, change.tree, candidate, world):
            return _sentence(change.text)
    for first, second in _pairs(planned, candidate, by_reason, changes, world):
        return _sentence(f"{first.text} and {second.text}")
    return _nothing_fits(candidate)


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:]


def _fits(planned: PlannedPod, tree: Mapping[str, object], waiting: Candidate, world: World) -> bool:
    """Whether the changed pod is admitted and some node takes it. It stays the pod that the quota may count already."""
    known = put(tree, ("metadata", "uid"), waiting.pod.uid)
    candidate = admit(msgspec.structs.replace(planned, tree=known), world).candidate
    if candidate is None:
        return False
    if planned.pinned:
        candidate = msgspec.structs.replace(candidate, pod=daemon_pod(candidate.pod, planned.pinned))
    names = [planned.pinned] if planned.pinned else list(world.cluster.nodes)
    return any(verdict(candidate, world.cluster.nodes[name], world) is None for name in names)


def _by_others(
    planned: PlannedPod, candidate: Candidate, by_reason: Mapping[Reason, list[NodeState]], world: World
) -> Iterator[str]:
    """What others can do: uncordon a node, end a pod, change the namespace's policy."""
    cordoned = by_reason.get(Reason.NATIVE_UNSCHEDULABLE, [])
    if cordoned and _fits(planned, tolerate(planned.tree, UNSCHEDULABLE_TAINT), candidate, world):
        yield f"Uncordon {cordoned[0].node.name}"
    released = release_that_fits(candidate, by_reason, world)
    if released is not None:
        yield f"Wait: {released}"
    yield from _policy_changes(planned, candidate, world)


def _policy_changes(planned: PlannedPod, candidate: Candidate, world: World) -> Iterator[str]:
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
            fits = _fits(planned, planned.tree, candidate, world)
        finally:
            world.cluster.apply(Upsert(standing))
        if fits:
            yield f"An admin may widen {key} of namespace {name} (now {standing.annotations[key]})"


def _pairs(
    planned: PlannedPod,
    candidate: Candidate,
    by_reason: Mapping[Reason, list[NodeState]],
    changes: list[Change],
    world: World,
) -> Iterator[tuple[Change, Change]]:
    """Two changes of the pod that fit together: the second is made on the outcome of the first."""
    for tried, (first, second) in enumerate(combinations(changes, 2)):
        if tried >= _PAIRS:
            return
        for both in pod_changes(first.tree, candidate, by_reason, world):
            if both.text == second.text and _fits(planned, both.tree, candidate, world):
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
