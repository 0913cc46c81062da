"""Facts that follow from a model name in a cloud's label: the catalogue's, marked nominal."""

from typing import Final

from gpusched.core.catalogue import device_memory_mib, find
from gpusched.core.products import normalise
from gpusched.dialects.partial import Partial, Rank

_MEMORY: Final = frozenset({"gpu_memory_mib"})


def priced(source: str, resource: str, raw: str, *, memory_mib: int | None = None, rank: Rank = Rank.CLOUD) -> Partial:
    """Product, family and nominal memory of a model in any spelling; `memory_mib` is the cloud's own figure, if any."""
    product = normalise(raw) or None
    card = find(product) if product else None
    return Partial(
        source,
        rank,
        resource,
        product=product,
        family=card.family if card else None,
        gpu_memory_mib=memory_mib or (device_memory_mib(product) if product else None),
        nominal=_MEMORY,
    )


def vendor_of(raw: str, default: str = "nvidia") -> str:
    """The vendor of a model name, NVIDIA where the catalogue does not know it."""
    card = find(raw)
    return card.vendor if card else default
