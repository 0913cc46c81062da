"""What a pod could wait for: the fewest running pods of one node whose end would make room."""

from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Final

from gpusched.core.codes import Reason
from gpusched.core.demand import native_requests
from gpusched.core.pod import Pod
from gpusched.native.ledger import pod_key
from gpusched.simulate.admit import Candidate
from gpusched.simulate.evaluate import verdict
from gpusched.simulate.world import World
from gpusched.state.events import Gone, Kind, Upsert, key_of
from gpusched.state.node_state import NodeState

#: Shortages that pass when a pod ends.
_PASSING: Final = (Reason.MEMORY_CLAIM, Reason.FREE_REPLICAS, Reason.NATIVE_RESOURCES, Reason.QUOTA)
#: Bounds of the search: nodes looked at, and sets of pods tried on each.
_NODES: Final = 3
_SETS: Final = 80


def release_that_fits(candidate: Candidate, by_reason: Mapping[Reason, list[NodeState]], world: World) -> str | None:
    """The pods to wait for, such as `pod team-a/nb-3 on t4-02 holds it`; None when none would help."""
    states = [state for reason in _PASSING for state in by_reason.get(reason, ())][:_NODES]
    best: tuple[Pod, ...] | None = None
    where = ""
    for state in states:
        found = _smallest(candidate, state, world)
        if found is not None and (best is None or len(found) < len(best)):
            best, where = found, state.node.name
    return _text(best, where) if best is not None else None


def _smallest(candidate: Candidate, state: NodeState, world: World) -> tuple[Pod, ...] | None:
    pods = [bound.pod for bound in world.ledger.node(state.node.name).bound.values()]
    pods.sort(key=lambda pod: (pod.spec.priority, pod.namespace, pod.name))
    for tried, group in enumerate(_groups(pods)):
        if tried >= _SETS:
            return None
        if _fits_without(candidate, state, group, world):
            return group
    return None


def _groups(pods: list[Pod]) -> Iterator[tuple[Pod, ...]]:
    for size in range(1, len(pods) + 1):
        yield from combinations(pods, size)


def _fits_without(candidate: Candidate, state: NodeState, group: tuple[Pod, ...], world: World) -> bool:
    """Take the pods out of the books, ask, and put them back."""
    for pod in group:
        world.ledger.remove(pod_key(pod))
        world.cluster.apply(Gone(Kind.POD, key_of(pod)))
    fits = verdict(candidate, state, world) is None
    for pod in group:
        world.ledger.add(pod, native_requests(pod), state.node.name)
        world.cluster.apply(Upsert(pod))
    return fits


def _text(group: tuple[Pod, ...], node: str) -> str:
    names = ", ".join(f"{pod.namespace}/{pod.name}" for pod in group[:3])
    more = f" and {len(group) - 3} more" if len(group) > 3 else ""
    return f"pod {names} on {node} holds it" if len(group) == 1 else f"pods {names}{more} on {node} hold it"
