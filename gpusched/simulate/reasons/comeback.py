"""Whether a running pod would find a node again if it were made anew: its own place counts as free."""

from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from gpusched.core.codes import Reason
from gpusched.native.ledger import pod_key
from gpusched.policy.resolution import Resolution
from gpusched.simulate.admit import Candidate
from gpusched.simulate.evaluate import verdict
from gpusched.simulate.reasons.alike import Alike
from gpusched.simulate.reasons.explain import DISTANCE
from gpusched.simulate.reasons.survey import survey
from gpusched.simulate.reasons.wording import message
from gpusched.simulate.world import World
from gpusched.state.events import key_of
from gpusched.state.node_state import NodeState


class Lost(msgspec.Struct, frozen=True):
    """Why no node would take the pod: the reason of the node that it runs on, and all of them in words."""

    code: Reason
    message: str


class Comebacks:
    """Answers for one pod after the other. Pods of one likeness on nodes alike for them share the answer."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._alike = Alike(world)
        self._answers: dict[object, Lost | None] = {}

    def lost(self, candidate: Candidate, resolution: Resolution, node_name: str, likeness: object) -> Lost | None:
        """What keeps a pod that runs on a node from coming back under these rules; None when some node would take it.

        `likeness` is equal for pods that differ in nothing but their name, under the same rules.
        """
        request = candidate.request
        if request is not None:
            request = msgspec.structs.replace(request, resolution=resolution)
            candidate = msgspec.structs.replace(candidate, request=request)
        with _taken_out(candidate, node_name, self._world):
            state = self._world.cluster.nodes.get(node_name)
            own = verdict(candidate, state, self._world) if state is not None else None
            # Most pods would go back to their own node.
            if state is not None and own is None:
                return None
            key = (likeness, self._alike.key(candidate, node_name))
            if key not in self._answers:
                self._answers[key] = self._elsewhere(candidate, own)
            return self._answers[key]

    def _elsewhere(self, candidate: Candidate, own: Reason | None) -> Lost | None:
        states: dict[Reason, list[NodeState]] = {}
        for found in survey(candidate, self._world):
            if found.reason is None:
                return None
            states.setdefault(found.reason, []).extend(found.states)
        first = own or next(iter(states), None)
        if first is None:
            return None
        ordered = sorted(states, key=lambda item: (item != first, -len(states[item]), DISTANCE.index(item)))
        words = "; ".join(
            f"{message(item, candidate, states[item], self._world)} ({_nodes(len(states[item]))})" for item in ordered
        )
        return Lost(first, f"would not come back after a restart: {words}")


def _nodes(nodes: int) -> str:
    return f"{nodes} node" if nodes == 1 else f"{nodes} nodes"


@contextmanager
def _taken_out(candidate: Candidate, node_name: str, world: World) -> Iterator[None]:
    pod, node = candidate.pod, world.ledger.nodes.get(node_name)
    bound = node.bound.get(pod_key(pod)) if node is not None else None
    with world.cluster.without([key_of(pod)]):
        world.ledger.remove(pod_key(pod))
        try:
            yield
        finally:
            if bound is not None:
                world.ledger.add(bound.pod, bound.requests, node_name)
