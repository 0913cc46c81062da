"""What a pod could wait for: the fewest pods of one node whose end would make room."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final

import msgspec

from gpusched.core.codes import Reason
from gpusched.core.pod import Pod
from gpusched.native.ledger import pod_key
from gpusched.native.node import BoundPod
from gpusched.native.resources import missing
from gpusched.placement import fit
from gpusched.simulate.admit import Candidate
from gpusched.simulate.evaluate import verdict
from gpusched.simulate.world import World
from gpusched.state.events import key_of
from gpusched.state.node_state import NodeState

#: Shortages that pass when a pod ends.
_PASSING: Final = (Reason.MEMORY_CLAIM, Reason.FREE_REPLICAS, Reason.NATIVE_RESOURCES, Reason.QUOTA)
#: Nodes looked at: so many where a pod is going already, and so many others.
_NODES: Final = 3
#: Pods named.
_NAMED: Final = 3


class Release(msgspec.Struct, frozen=True):
    """Pods to wait for, in words such as `pod team-a/nb-3 on t4-02 holds it`; `going` where all are being deleted."""

    text: str
    node: str
    going: bool


def release_that_fits(
    candidate: Candidate, by_reason: Mapping[Reason, list[NodeState]], world: World
) -> Release | None:
    """The pods to wait for, those that are going already before others, then the fewest; None when none would help."""
    best: tuple[bool, int, str, Sequence[Pod]] | None = None
    for state in _promising(candidate, by_reason, world):
        group = _smallest(candidate, state, world)
        if group:
            found = (not _going(group), len(group), state.node.name, group)
            if best is None or found[:2] < best[:2]:
                best = found
    if best is None:
        return None
    _, _, node, pods = best
    return Release(_text(pods, node, world), node, _going(pods))


def _going(pods: Iterable[Pod]) -> bool:
    return all(pod.deleting for pod in pods)


def _promising(candidate: Candidate, by_reason: Mapping[Reason, list[NodeState]], world: World) -> Iterator[NodeState]:
    """The first nodes by name that would do if they were empty: of those with pods that go, and of the others."""
    left = {True: _NODES, False: _NODES}
    for reason in _PASSING:
        for state in by_reason.get(reason, ()):
            if not any(left.values()):
                return
            if not _large_enough(state, candidate):
                continue
            going = any(bound.pod.deleting for bound in world.ledger.node(state.node.name).bound.values())
            if left[going]:
                left[going] -= 1
                yield state


def _large_enough(state: NodeState, candidate: Candidate) -> bool:
    """Whether the node, if it were empty, had what the pod requests, and is what it may run on."""
    offered, served = state.node.object.allocatable, state.node.dra_resources
    if any(offered.get(name, 0) < amount and name not in served for name, amount in candidate.requests.items()):
        return False
    return candidate.request is None or fit.static_reason(candidate.request, state.node) is None


def _smallest(candidate: Candidate, state: NodeState, world: World) -> Sequence[Pod]:
    """Pods of the node without which it takes the pod, and none of which may stay; empty where it never does."""
    native = world.ledger.node(state.node.name)
    ending = [bound for bound in native.bound.values() if _may_end(bound.pod)]
    lacking = missing(candidate.requests, native, state.node.dra_resources)
    names = lacking or list(candidate.request.demand.slots if candidate.request is not None else ())

    def held(bound: BoundPod) -> list[int]:
        return [bound.requests.get(name, 0) for name in names]

    def fits(group: Sequence[BoundPod]) -> bool:
        with _without(group, state.node.name, world):
            return verdict(candidate, state, world) is None

    holders = sorted((bound for bound in ending if any(held(bound))), key=lambda bound: _order(bound.pod))
    going = [bound for bound in holders if bound.pod.deleting]
    groups = (going, *([bound] for bound in holders), holders, ending)
    kept = next((group for group in groups if group and fits(group)), [])
    kept = list(reversed(kept))
    # The largest are tried last, so that few pods are left.
    for bound in sorted(kept, key=lambda bound: (bound.pod.deleting, held(bound), -bound.pod.spec.priority)):
        without = [other for other in kept if other is not bound]
        if without and fits(without):
            kept = without
    return [bound.pod for bound in reversed(kept)]


def _may_end(pod: Pod) -> bool:
    """Pods of DaemonSets and static pods stay for as long as their node does."""
    return not pod.mirror and (pod.owner is None or pod.owner.kind not in {"DaemonSet", "Node"})


def _order(pod: Pod) -> tuple[int, str, str]:
    return pod.spec.priority, pod.namespace, pod.name


@contextmanager
def _without(group: Sequence[BoundPod], node_name: str, world: World) -> Iterator[None]:
    """Both books without these pods of a node; put back at the end, whatever happens."""
    with world.cluster.without([key_of(bound.pod) for bound in group]):
        try:
            for bound in group:
                world.ledger.remove(pod_key(bound.pod))
            yield
        finally:
            for bound in group:
                world.ledger.add(bound.pod, bound.requests, node_name)


def _text(group: Sequence[Pod], node: str, world: World) -> str:
    known = [f"{pod.namespace}/{pod.name}" for pod in group if world.may_name(pod.namespace)]
    alone = len(group) == 1
    verb = ("is going" if alone else "are going") if _going(group) else ("holds it" if alone else "hold it")
    if not known:
        who = "a pod of another namespace" if alone else f"{len(group)} pods"
        return f"{who} on {node} {verb}"
    others = len(group) - len(known[:_NAMED])
    more = f" and {others} more" if others else ""
    return f"pod{'' if alone else 's'} {', '.join(known[:_NAMED])}{more} on {node} {verb}"
