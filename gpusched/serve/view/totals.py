"""GPUs summed up by family: what there is, what is used, and what could be taken now."""

from collections.abc import Iterable, Iterator

import msgspec

from gpusched.core.families import family_title
from gpusched.core.pool import Pool
from gpusched.state.node_state import NodeState

UNKNOWN_FAMILY = "unknown"


class FamilyTotal(msgspec.Struct):
    """Slots and memory in MiB over all nodes. `closed` slots are neither used nor to be had: their node is cordoned or
    not ready, or the pool is blocked. `title` is the family as its vendor writes it. Memory counts GPUs
    (or MIG instances) whose memory is known.
    """

    family: str
    title: str = ""
    nodes: int = 0
    devices: int = 0
    slots: int = 0
    used: int = 0
    free: int = 0
    closed: int = 0
    memory_mib: int = 0
    claimed_mib: int = 0


def totals(found: Iterable[FamilyTotal]) -> list[FamilyTotal]:
    """One total a family, the one with the most slots first."""
    return sorted(found, key=lambda total: (-total.slots, total.family))


def sum_up(states: Iterable[NodeState], found: dict[str, FamilyTotal]) -> Iterator[None]:
    """Adds node by node to the totals by family."""
    for state in states:
        families = set()
        for pool in state.node.pools:
            name = pool.family or UNKNOWN_FAMILY
            total = found.setdefault(name, FamilyTotal(name, family_title(name)))
            _add(total, pool, state, shut=not state.node.object.in_service or pool.blocked is not None)
            families.add(name)
        for name in families:
            found[name].nodes += 1
        yield


def _add(total: FamilyTotal, pool: Pool, state: NodeState, *, shut: bool) -> None:
    use = state.use(pool.resource)
    left = max(0, pool.slots - use.used)
    total.devices += pool.devices or 0
    total.slots += pool.slots
    total.used += use.used
    total.free += 0 if shut else left
    total.closed += left if shut else 0
    total.memory_mib += (pool.device_memory_mib or 0) * (pool.devices or 0)
    total.claimed_mib += sum(use.claims)
