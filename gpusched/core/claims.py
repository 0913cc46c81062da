"""Memory claims: the top-R rule, which holds on whichever device the kubelet puts a container.

A pool's devices have R slots each and M usable MiB, and the kubelet may put any R of the pool's slots on one device.
So no device is ever over M exactly when the R largest amounts of the pool sum up to at most M. An unclaimed slot on a
shared pool amounts to M // R, hence unclaimed pods always fit beside each other. A claim of a pod bound round gpusched
amounts to no less: nobody has checked what that pod will use.
"""

from collections import Counter
from collections.abc import Iterator
from itertools import accumulate
from typing import Final

import msgspec

from gpusched.core.codes import Reason
from gpusched.core.pool import Pool, Sharing
from gpusched.core.usage import PoolUse

#: What a driver keeps of a whole card for itself, in hundredths of a percent (0.43 % on an H200).
_EXCLUSIVE_RESERVE: Final = 50
_WHOLE: Final = 10_000


class _Device(msgspec.Struct, frozen=True, gc=False):
    """A shared device: `usable` MiB for `replicas` slots, `share` MiB for a slot that claims nothing."""

    usable: int
    replicas: int
    share: int


def usable_mib(pool: Pool, reserve: int) -> int | None:
    """MiB that claims on one device may fill; None when memory or sharing is unknown.

    `reserve` (hundredths of a percent) is kept free on shared devices. A MIG instance that is not shared has none.
    """
    memory = pool.device_memory_mib
    if memory is None or pool.sharing is None:
        return None
    if pool.shared:
        return memory * (_WHOLE - reserve) // _WHOLE
    return memory * (_WHOLE - _EXCLUSIVE_RESERVE) // _WHOLE if pool.sharing is Sharing.NONE else memory


def claim_reason(
    pool: Pool, use: PoolUse, slots: int, claim: int | None, *, reserve: int, above_slot: str
) -> Reason | None:
    """Why a pool's memory does not take `slots` more slots of `claim` MiB each; None when it does.

    `claim` None is a pod without a claim, which is looked at only beside holders that have one. `above_slot` (`never`,
    `single-gpu`, `allow`) says whether one claim may exceed a slot's part of a shared device. Free slots are not looked
    at.
    """
    if slots <= 0 or (claim is None and not use.claims):
        return None
    if not _may_share(pool):
        return None if claim is None else _exclusive_reason(pool, claim, reserve)
    device = _device(pool, reserve)
    if device is None:
        return Reason.FACTS_UNKNOWN
    if claim is not None and claim > device.share:
        reason = _above_slot_reason(pool, claim, above_slot)
        if reason is not None:
            return reason
    amount = device.share if claim is None else claim
    return None if amount <= _room(device, use, slots) else Reason.MEMORY_CLAIM


def largest_possible_claim(pool: Pool, use: PoolUse, slots: int, reserve: int, above_slot: str) -> int | None:
    """The largest claim in MiB per slot that `claim_reason` lets `slots` slots have; None when there is none."""
    if slots <= 0:
        return None
    if not _may_share(pool):
        return usable_mib(pool, reserve) or None
    device = _device(pool, reserve)
    if device is None:
        return None
    largest = _room(device, use, slots)
    if largest > device.share:
        largest = max(device.share, _cap_above_slot(pool, largest, above_slot))
    return largest if largest > 0 else None


def _may_share(pool: Pool) -> bool:
    """Whether several slots sit, or for all that is known might sit, on one device."""
    if pool.sharing is None or (pool.sharing is Sharing.MIG and pool.replicas is None):
        return True
    return pool.shared


def _exclusive_reason(pool: Pool, claim: int, reserve: int) -> Reason | None:
    usable = usable_mib(pool, reserve)
    if usable is None:
        return Reason.FACTS_UNKNOWN
    return None if claim <= usable else Reason.MEMORY_CLAIM


def _device(pool: Pool, reserve: int) -> _Device | None:
    usable = usable_mib(pool, reserve)
    if usable is None or not pool.replicas:
        return None
    return _Device(usable, pool.replicas, usable // pool.replicas)


def _above_slot_reason(pool: Pool, claim: int, above_slot: str) -> Reason | None:
    if above_slot == "single-gpu" and pool.devices is None:
        return Reason.FACTS_UNKNOWN
    return None if claim <= _cap_above_slot(pool, claim, above_slot) else Reason.MEMORY_CLAIM


def _cap_above_slot(pool: Pool, wanted: int, above_slot: str) -> int:
    """What of a claim above a slot's part may stand: all, nothing, and under MPS no more than a client can see."""
    allowed = above_slot == "allow" or (above_slot == "single-gpu" and pool.devices == 1)
    if not allowed:
        return 0
    return min(wanted, pool.visible_memory_mib or 0) if pool.sharing is Sharing.MPS else wanted


def _room(device: _Device, use: PoolUse, slots: int) -> int:
    """The largest amount that each of `slots` new slots may have; negative when the rule is broken already.

    The R largest amounts of old and new together are, for some j, j new ones and the R - j largest old ones; so each
    such choice bounds the new amount.
    """
    largest = list(_largest_held(device, use))
    # Beyond what is held and asked all amounts are zero, however many slots a device is said to have.
    replicas = min(device.replicas, len(largest) + slots)
    largest += [0] * (replicas - len(largest))
    sums = [0, *accumulate(largest)]
    if sums[replicas] > device.usable:
        return -1
    return min((device.usable - sums[replicas - new]) // new for new in range(1, min(slots, replicas) + 1))


def _largest_held(device: _Device, use: PoolUse) -> Iterator[int]:
    """The amounts of the R largest slots held, in falling order."""
    unclaimed = [device.share] * min(use.unclaimed, device.replicas)
    claims = use.claims[: device.replicas] if not use.outside else _with_outside_raised(device, use)
    yield from sorted([*claims, *unclaimed], reverse=True)[: device.replicas]


def _with_outside_raised(device: _Device, use: PoolUse) -> list[int]:
    inside = Counter(use.claims)
    inside.subtract(use.outside)
    return [*inside.elements(), *(max(claim, device.share) for claim in use.outside)]
