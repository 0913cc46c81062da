"""What nodes that refuse a pod could give to a changed one, gathered once for all changes that are tried."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import msgspec

from gpusched.core.claims import largest_possible_claim
from gpusched.core.codes import Reason
from gpusched.core.node import Taint
from gpusched.core.usage import PoolUse
from gpusched.native.resources import missing
from gpusched.native.taints import untolerated
from gpusched.placement.fit import static_reason
from gpusched.simulate.admit import Candidate
from gpusched.simulate.world import World
from gpusched.state.node_state import NodeState

#: What pods share a node by, besides devices.
SHARED: Final = ("cpu", "memory", "ephemeral-storage")
#: Rooms kept, the nearest to what the pod asks for first.
_ROOMS: Final = 8
#: What is free of each shared resource that a node has too little of; cpu in milli-cores, the others in bytes.
Room = Mapping[str, int]


class Offer(msgspec.Struct, frozen=True):
    """The most of everything. `claim_mib` is per slot, where claims alone are in the way, `claim_empty_mib` of nodes
    that hold nothing; `slots` are those of the largest node, used or not, by GPU resource asked for; `rooms` are of
    nodes that lack shared resources alone. `small` are shared resources that no node with such GPUs has enough of, even
    when it is empty. `taints` keep nodes away.
    """

    claim_mib: int
    claim_empty_mib: int
    taints: tuple[Taint, ...]
    slots: Mapping[str, int]
    rooms: tuple[Room, ...]
    small: tuple[str, ...]


def offer_to(candidate: Candidate, by_reason: Mapping[Reason, list[NodeState]], world: World) -> Offer:
    """The offer of these nodes, each of which refuses the pod for its reason."""
    asked = candidate.request.demand.slots if candidate.request is not None else {}
    states = [state for group in by_reason.values() for state in group]
    return Offer(
        claim_mib=_claim(asked, by_reason.get(Reason.MEMORY_CLAIM, []), world),
        claim_empty_mib=_claim(asked, _fitting(candidate, states), world, empty=True),
        taints=_taints(candidate, by_reason.get(Reason.NATIVE_TAINT, [])),
        slots={
            resource: max((state.node.object.allocatable.get(resource, 0) for state in states), default=0)
            for resource in asked
        },
        rooms=tuple(_rooms(candidate.requests, by_reason.get(Reason.NATIVE_RESOURCES, ()), world))[:_ROOMS],
        small=tuple(_small(candidate, states)),
    )


def _rooms(requests: Mapping[str, int], states: Iterable[NodeState], world: World) -> list[Room]:
    found: dict[tuple[tuple[str, int], ...], None] = {}
    for state in states:
        native = world.ledger.node(state.node.name)
        short = missing(requests, native, state.node.dra_resources)
        if short and all(name in SHARED and native.free.get(name, 0) > 0 for name in short):
            found.setdefault(tuple((name, native.free[name]) for name in short))
    return sorted(map(dict, found), key=lambda room: (len(room), -min(room[name] / requests[name] for name in room)))


def _small(candidate: Candidate, states: list[NodeState]) -> Iterator[str]:
    asked = candidate.request.demand.slots.keys() if candidate.request is not None else set()
    fitting = [state.node.object.allocatable for state in states if asked <= _offered(state)]
    for name in SHARED:
        wanted = candidate.requests.get(name, 0)
        if fitting and all(allocatable.get(name, 0) < wanted for allocatable in fitting):
            yield name


def _offered(state: NodeState) -> frozenset[str]:
    return frozenset(pool.resource for pool in state.node.pools if pool.slots) | state.node.dra_resources


def _fitting(candidate: Candidate, states: list[NodeState]) -> list[NodeState]:
    """The nodes whose GPUs are of the right kind, in use or not."""
    request = candidate.request
    return [state for state in states if request is not None and static_reason(request, state.node) is None]


def _claim(asked: Mapping[str, int], states: list[NodeState], world: World, *, empty: bool = False) -> int:
    """The largest claim per slot that some node would take, now or if nothing were held there."""
    config = world.cluster.config
    possible = [
        largest_possible_claim(
            pool,
            PoolUse() if empty else state.use(resource),
            min(slots, pool.slots) if empty else slots,
            config.claim_reserve,
            config.claim_above_slot,
        )
        for state in {state.signature: state for state in states}.values()
        for resource, slots in asked.items()
        if (pool := state.node.pool(resource)) is not None
    ]
    return max((amount for amount in possible if amount), default=0)


def _taints(candidate: Candidate, states: list[NodeState]) -> tuple[Taint, ...]:
    alike = {state.node.object.taints for state in states}
    found = {untolerated(candidate.pod.spec.tolerations, taints) for taints in alike}
    present = [taint for taint in found if taint is not None]
    return tuple(sorted(present, key=lambda taint: (taint.key, taint.value, taint.effect)))
