"""What a pod could wait for: the fewest running pods of one node whose end would make room."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import combinations
from typing import Final

from gpusched.core.codes import Reason
from gpusched.core.pod import Pod
from gpusched.native.ledger import pod_key
from gpusched.native.node import BoundPod
from gpusched.simulate.admit import Candidate
from gpusched.simulate.evaluate import verdict
from gpusched.simulate.world import World
from gpusched.state.events import key_of
from gpusched.state.node_state import NodeState

#: Shortages that pass when a pod ends.
_PASSING: Final = (Reason.MEMORY_CLAIM, Reason.FREE_REPLICAS, Reason.NATIVE_RESOURCES, Reason.QUOTA)
#: Bounds of the search: nodes looked at, and sets of pods tried on each.
_NODES: Final = 3
_SETS: Final = 80


def release_that_fits(candidate: Candidate, by_reason: Mapping[Reason, list[NodeState]], world: World) -> str | None:
    """The pods to wait for, such as `pod team-a/nb-3 on t4-02 holds it`; None when none would help."""
    short = [state for reason in _PASSING for state in by_reason.get(reason, ())]
    states = [state for state in short if _large_enough(state, candidate)][:_NODES]
    best: tuple[Pod, ...] | None = None
    where = ""
    for state in states:
        found = _smallest(candidate, state, world)
        if found is not None and (best is None or len(found) < len(best)):
            best, where = found, state.node.name
    return _text(best, where, world) if best is not None else None


def _large_enough(state: NodeState, candidate: Candidate) -> bool:
    """Whether the node, if it were empty, had what the pod requests."""
    offered = state.node.object.allocatable
    asked = candidate.requests.items()
    return all(offered.get(name, 0) >= amount or name in state.node.dra_resources for name, amount in asked)


def _smallest(candidate: Candidate, state: NodeState, world: World) -> tuple[Pod, ...] | None:
    ending = [bound for bound in world.ledger.node(state.node.name).bound.values() if _may_end(bound.pod)]
    asked = candidate.request.demand.slots if candidate.request is not None else {}
    ending.sort(key=lambda bound: (asked.keys().isdisjoint(bound.requests), _order(bound.pod)))
    for tried, group in enumerate(_groups(ending)):
        if tried >= _SETS:
            return None
        with _without(group, state.node.name, world):
            fits = verdict(candidate, state, world) is None
        if fits:
            return tuple(bound.pod for bound in group)
    return None


def _may_end(pod: Pod) -> bool:
    """Pods of DaemonSets and static pods stay for as long as their node does."""
    return not pod.mirror and (pod.owner is None or pod.owner.kind not in {"DaemonSet", "Node"})


def _order(pod: Pod) -> tuple[int, str, str]:
    return pod.spec.priority, pod.namespace, pod.name


def _groups(ending: list[BoundPod]) -> Iterator[tuple[BoundPod, ...]]:
    for size in range(1, len(ending) + 1):
        yield from combinations(ending, size)


@contextmanager
def _without(group: tuple[BoundPod, ...], node_name: str, world: World) -> Iterator[None]:
    """Both books without these pods of a node; put back at the end, whatever happens."""
    with world.cluster.without([key_of(bound.pod) for bound in group]):
        try:
            for bound in group:
                world.ledger.remove(pod_key(bound.pod))
            yield
        finally:
            for bound in group:
                world.ledger.add(bound.pod, bound.requests, node_name)


def _text(group: tuple[Pod, ...], node: str, world: World) -> str:
    known = [f"{pod.namespace}/{pod.name}" for pod in group if world.may_name(pod.namespace)]
    others = len(group) - len(known[:3])
    if not known:
        return f"a pod of another namespace on {node} holds it" if others == 1 else f"{others} pods on {node} hold it"
    more = f" and {others} more" if others else ""
    names = ", ".join(known[:3])
    return f"pod {names} on {node} holds it" if len(group) == 1 else f"pods {names}{more} on {node} hold it"
