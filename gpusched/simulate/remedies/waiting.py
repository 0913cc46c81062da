"""What a pod could wait for: the fewest pods of one node whose end would make room."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Final, NamedTuple

import msgspec

from gpusched.core.codes import Reason
from gpusched.core.pod import Pod
from gpusched.native.ledger import pod_key
from gpusched.native.node import NativeNode
from gpusched.native.resources import missing
from gpusched.native.term import selects, term_matches
from gpusched.placement import fit
from gpusched.simulate.admit import Candidate
from gpusched.simulate.evaluate import verdict
from gpusched.simulate.remedies.siblings import are_siblings
from gpusched.simulate.world import World
from gpusched.state.events import key_of
from gpusched.state.node_state import NodeState

#: What passes when a pod ends: shortages, then rules about other pods.
PASSING: Final = (
    Reason.MEMORY_CLAIM,
    Reason.FREE_REPLICAS,
    Reason.NATIVE_RESOURCES,
    Reason.QUOTA,
    Reason.NATIVE_SPREAD,
    Reason.NATIVE_POD_AFFINITY,
)
_RULES: Final = frozenset({Reason.NATIVE_SPREAD, Reason.NATIVE_POD_AFFINITY})
#: Nodes looked at: so many where a pod is going already, and so many others.
_NODES: Final = 3
#: Pods that rules speak of which are looked at: nobody waits for the end of more.
_AROUND: Final = 16
#: Pods named.
_NAMED: Final = 3


class Release(msgspec.Struct, frozen=True):
    """Pods to wait for, in words such as `pod team-a/nb-3 on t4-02 holds it`; `going` where all are being deleted,
    `crowded` where some are siblings of the pod, `rules` where not what they hold but rules about pods are in the way.
    """

    text: str
    node: str
    going: bool
    crowded: bool
    rules: bool


class _Bound(NamedTuple):
    """A pod on a node."""

    pod: Pod
    requests: Mapping[str, int]
    node: str


def release_that_fits(
    candidate: Candidate, by_reason: Mapping[Reason, list[NodeState]], world: World, *, siblings: bool = False
) -> Release | None:
    """The pods to wait for, those that are going already before others, then the fewest; None when none would help.

    `siblings` of the pod, which its controller replaces when they end, count where that is asked for alone.
    """
    best: tuple[bool, int] | None = None
    release: Release | None = None
    for reason, state in _promising(candidate, by_reason, world):
        group = _smallest(candidate, state, world, siblings=siblings, rules=reason in _RULES)
        found = not _going(group), len(group)
        if group and (best is None or found < best):
            crowded = any(are_siblings(candidate.pod, item.pod) for item in group)
            text = _text(group, world, rules=reason in _RULES)
            best, release = found, Release(text, state.node.name, _going(group), crowded, reason in _RULES)
    return release


def _going(group: Iterable[_Bound]) -> bool:
    return all(item.pod.deleting for item in group)


def _promising(
    candidate: Candidate, by_reason: Mapping[Reason, list[NodeState]], world: World
) -> Iterator[tuple[Reason, NodeState]]:
    """The first nodes by name that would do if they were empty: of those with pods that go, and of the others."""
    left = {True: _NODES, False: _NODES}
    for reason in PASSING:
        for state in by_reason.get(reason, ()):
            if not any(left.values()):
                return
            if not large_enough(state, candidate):
                continue
            going = any(bound.pod.deleting for bound in world.ledger.node(state.node.name).bound.values())
            if left[going]:
                left[going] -= 1
                yield reason, state


def large_enough(state: NodeState, candidate: Candidate) -> bool:
    """Whether the node, if it were empty, had what the pod requests, and is what it may run on."""
    offered, served = state.node.object.allocatable, state.node.dra_resources
    if any(offered.get(name, 0) < amount and name not in served for name, amount in candidate.requests.items()):
        return False
    return candidate.request is None or fit.static_reason(candidate.request, state.node) is None


def _smallest(candidate: Candidate, state: NodeState, world: World, *, siblings: bool, rules: bool) -> Sequence[_Bound]:
    """Pods without which the node takes the pod, and none of which may stay; empty where it never does."""
    native = world.ledger.node(state.node.name)
    lacking = missing(candidate.requests, native, state.node.dra_resources)
    names = lacking or list(candidate.request.demand.slots if candidate.request is not None else ())

    def held(item: _Bound) -> list[int]:
        return [item.requests.get(name, 0) for name in names]

    def fits(group: Sequence[_Bound]) -> bool:
        with _without(group, world):
            return verdict(candidate, state, world) is None

    def may_end(item: _Bound) -> bool:
        return _may_end(item.pod) and (siblings or not are_siblings(candidate.pod, item.pod))

    ending = list(filter(may_end, _on(native)))
    found = _spoken_of(candidate.pod, state, world) if rules else (item for item in ending if any(held(item)))
    holders = sorted(filter(may_end, islice(found, _AROUND) if rules else found), key=_order)
    going = [item for item in holders if item.pod.deleting]
    groups = (going, *([item] for item in holders), holders, ending)
    kept = next((group for group in groups if group and fits(group)), [])
    kept = list(reversed(kept))
    # The largest are tried last, so that few pods are left.
    for item in sorted(kept, key=lambda item: (item.pod.deleting, held(item), -item.pod.spec.priority)):
        without = [other for other in kept if other is not item]
        if without and fits(without):
            kept = without
    return list(reversed(kept))


def _on(native: NativeNode) -> Iterator[_Bound]:
    return (_Bound(bound.pod, bound.requests, native.name) for bound in native.bound.values())


def _spoken_of(pod: Pod, state: NodeState, world: World) -> Iterator[_Bound]:
    """Pods that spread or anti-affinity of the pod count where the node is, or whose anti-affinity speaks of it."""
    here, labels = state.node.object.labels, world.ledger.namespace_labels
    for node in world.ledger.nodes.values():
        there = node.object.labels
        for item in _on(node):
            terms = [term for term in pod.spec.pod_anti_affinity if term_matches(term, pod.namespace, item.pod, labels)]
            rules = [rule for rule in pod.spec.spread if selects(rule.selector, item.pod.labels)]
            keys = {term.topology_key for term in terms}
            keys.update(rule.topology_key for rule in rules if item.pod.namespace == pod.namespace)
            for term in item.pod.spec.pod_anti_affinity:
                if term_matches(term, item.pod.namespace, pod, labels):
                    keys.add(term.topology_key)
            if any(key in here and here[key] == there.get(key) for key in keys):
                yield item


def _may_end(pod: Pod) -> bool:
    """Pods of DaemonSets and static pods stay for as long as their node does."""
    return not pod.mirror and (pod.owner is None or pod.owner.kind not in {"DaemonSet", "Node"})


def _order(item: _Bound) -> tuple[int, str, str]:
    return item.pod.spec.priority, item.pod.namespace, item.pod.name


@contextmanager
def _without(group: Sequence[_Bound], world: World) -> Iterator[None]:
    """Both books without these pods; put back at the end, whatever happens."""
    with world.cluster.without([key_of(item.pod) for item in group]):
        try:
            for item in group:
                world.ledger.remove(pod_key(item.pod))
            yield
        finally:
            for item in group:
                world.ledger.add(item.pod, item.requests, item.node)


def _text(group: Sequence[_Bound], world: World, *, rules: bool) -> str:
    pods = [item.pod for item in group]
    known = [f"{pod.namespace}/{pod.name}" for pod in pods if world.may_name(pod.namespace)]
    nodes = {item.node for item in group}
    where = f" on {nodes.pop()}" if len(nodes) == 1 else ""
    alone = len(group) == 1
    if _going(group):
        verb = "is going" if alone else "are going"
    elif rules:
        verb = "keeps it away" if alone else "keep it away"
    else:
        verb = "holds it" if alone else "hold it"
    if not known:
        who = "a pod of another namespace" if alone else f"{len(group)} pods"
        return f"{who}{where} {verb}"
    others = len(group) - len(known[:_NAMED])
    more = f" and {others} more" if others else ""
    return f"pod{'' if alone else 's'} {', '.join(known[:_NAMED])}{more}{where} {verb}"
