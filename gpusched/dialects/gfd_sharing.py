"""GPU Feature Discovery's words on sharing: strategy and replicas, in every release's way of saying them."""

from typing import Final

import msgspec

from gpusched.core.pool import Sharing

_STRATEGIES: Final = {"none": Sharing.NONE, "time-slicing": Sharing.TIME_SLICING, "mps": Sharing.MPS}


class SharingWord(msgspec.Struct, frozen=True):
    """Sharing and replicas per device as the labels have them; None where they do not tell."""

    sharing: Sharing | None = None
    replicas: int | None = None
    unknown: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()


def sharing_word(strategy: str | None, replicas: int | None, product: str) -> SharingWord:
    """Read the three labels that tell of sharing.

    `replicas` is per device, 0 means that nothing is shared (all GPUs in MIG mode). Releases before v0.15.0 have no
    strategy and no MPS: there more than one replica is time-slicing. An empty strategy (MIG-INVALID) is unknown.
    """
    per_device = None if replicas is None else max(replicas, 1)
    if strategy is None:
        return SharingWord(_inferred(per_device, product), per_device)
    sharing = _STRATEGIES.get(strategy.strip().lower())
    if sharing is None:
        notes = (f"sharing: unknown strategy {strategy!r}",) if strategy.strip() else ()
        return SharingWord(None, per_device, frozenset({"sharing"}), notes)
    if sharing is Sharing.NONE and per_device is not None and per_device > 1:
        note = f"sharing: strategy none contradicts {per_device} replicas"
        return SharingWord(None, None, frozenset({"sharing", "replicas"}), (note,))
    return SharingWord(sharing, 1 if sharing is Sharing.NONE else per_device)


def _inferred(replicas: int | None, product: str) -> Sharing | None:
    if replicas is None:
        return Sharing.TIME_SLICING if product.strip().lower().endswith("-shared") else None
    return Sharing.TIME_SLICING if replicas > 1 else Sharing.NONE
