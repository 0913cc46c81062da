"""Who holds the slots of a node: one record per GPU pod, and the use of one pool that follows from them."""

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from gpusched.core.pool import Pool


class Holder(msgspec.Struct, frozen=True, gc=False):
    """A GPU pod on a node (bound, or reserved by bind). `outside` marks pods bound round gpusched."""

    namespace: str
    name: str
    slots: Mapping[str, int]
    claim_mib: int | None = None
    outside: bool = False
    priority: int = 0
    deleting: bool = False


class QuotaUse(msgspec.Struct, frozen=True):
    """What one namespace holds: slots per family, slots whose family is not known yet, and memory in MiB.

    Memory is the sum of claims, a slot's part of its device where unclaimed; `unknown_memory` counts slots without
    a figure.
    """

    families: Mapping[str, int] = {}
    unknown: int = 0
    memory_mib: int = 0
    unknown_memory: int = 0

    @property
    def total(self) -> int:
        """Slots over all families."""
        return sum(self.families.values()) + self.unknown


#: Slots of one pod that are listed one by one: a pod bound by its own word may name any number, whatever the node has.
_MOST_ENTRIES: Final = 10_000


class PoolUse(msgspec.Struct, frozen=True, gc=False):
    """Use of one pool. `claims` are the claims in MiB per slot as written, in falling order, one entry a slot, of
    holders that made one; `outside` are those among them of pods bound round gpusched; `unclaimed` counts the other
    used slots.
    """

    used: int = 0
    claims: tuple[int, ...] = ()
    unclaimed: int = 0
    outside: tuple[int, ...] = ()


def pool_use(pool: Pool, holders: Iterable[Holder]) -> PoolUse:
    """Sum up the holders of one pool."""
    used = unclaimed = 0
    claims: list[int] = []
    outside: list[int] = []
    for holder in holders:
        slots = holder.slots.get(pool.resource, 0)
        if not slots:
            continue
        used += slots
        if holder.claim_mib is None:
            unclaimed += slots
            continue
        each = [holder.claim_mib] * min(slots, _MOST_ENTRIES)
        claims += each
        if holder.outside:
            outside += each
    return PoolUse(
        used=used,
        claims=tuple(sorted(claims, reverse=True)),
        unclaimed=unclaimed,
        outside=tuple(sorted(outside, reverse=True)),
    )
