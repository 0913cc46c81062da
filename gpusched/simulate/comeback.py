"""Whether a running pod would find a node again if it were made anew: its own place counts as free."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from gpusched.core.codes import Reason
from gpusched.native.ledger import pod_key
from gpusched.policy.resolution import Resolution
from gpusched.simulate.admit import Candidate
from gpusched.simulate.evaluate import verdict
from gpusched.simulate.explain import DISTANCE
from gpusched.simulate.world import World
from gpusched.state.events import key_of


class Lost(msgspec.Struct, frozen=True):
    """Why no node would take the pod: the reason of the node that it runs on, and all of them in words."""

    code: Reason
    message: str


def lost(candidate: Candidate, resolution: Resolution, node_name: str, world: World) -> Lost | None:
    """What keeps a pod that runs on a node from coming back under these rules; None when some node would take it."""
    request = candidate.request
    if request is not None:
        candidate = msgspec.structs.replace(candidate, request=msgspec.structs.replace(request, resolution=resolution))
    counts: Counter[Reason] = Counter()
    first: Reason | None = None
    # Its own node first: most pods would go back there.
    names = sorted(world.cluster.nodes, key=lambda name: (name != node_name, name))
    with _taken_out(candidate, node_name, world):
        for name in names:
            reason = verdict(candidate, world.cluster.nodes[name], world)
            if reason is None:
                return None
            counts[reason] += 1
            first = first or reason
    if first is None:
        return None
    ordered = sorted(counts, key=lambda reason: (-counts[reason], DISTANCE.index(reason)))
    words = ", ".join(f"{counts[reason]} {'node' if counts[reason] == 1 else 'nodes'} {reason}" for reason in ordered)
    return Lost(first, f"would not come back after a restart: {words}")


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
