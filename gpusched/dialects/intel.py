"""Intel's NFD rules and the labels of its plugin's fractional mode, which releases before 0.34 had.

Source: intel-device-plugins-for-kubernetes deployments/nfd and cmd/gpu_nfdhook. No current release labels memory.
"""

from collections.abc import Mapping
from typing import Final

from gpusched.core.catalogue import canonical_family, find
from gpusched.core.pool import Sharing
from gpusched.core.products import normalise
from gpusched.dialects.partial import Dialect, Partial, Rank, Reading, any_prefix
from gpusched.dialects.surface import Offer, Surface, positive

NAME: Final = "intel"
_PREFIX: Final = "gpu.intel.com/"
PRODUCT: Final = _PREFIX + "product"
FAMILY: Final = _PREFIX + "family"
COUNT: Final = _PREFIX + "device.count"
MEMORY_MAX: Final = _PREFIX + "memory.max"
MILLICORES: Final = _PREFIX + "millicores"


def present(labels: Mapping[str, str]) -> bool:
    """Whether Intel's labels are on the node."""
    return any_prefix(labels, _PREFIX)


def read(surface: Surface) -> Reading:
    """Facts about the Intel resources. `-shared-dev-num` multiplies slots without a label: the count betrays it."""
    labels = surface.labels
    if not present(labels):
        return Reading()
    offers = surface.of("intel")
    devices = _devices(labels)
    # A node of both drivers has no label that tells how many devices each one has.
    single = sum(1 for offer in offers if offer.capacity) == 1
    partials = tuple(_partial(labels, offer, devices if single else None) for offer in offers)
    return Reading(partials, promises=frozenset({"intel"}))


def _partial(labels: Mapping[str, str], offer: Offer, devices: int | None) -> Partial:
    product = normalise(labels.get(PRODUCT, "")) or None
    card = find(product) if product else None
    summed = positive(labels.get(MEMORY_MAX))
    all_devices = _devices(labels)
    measured = summed // all_devices // 2**20 or None if summed and all_devices else None
    sharing, replicas = _sharing(offer, devices)
    return Partial(
        NAME,
        Rank.VENDOR,
        offer.resource,
        family=_family(labels, card.family if card else None),
        product=product,
        sharing=sharing,
        replicas=replicas,
        gpu_memory_mib=measured or (card.memory_mib if card else None),
        count=devices,
        nominal=frozenset() if measured else frozenset({"gpu_memory_mib"}),
    )


def _sharing(offer: Offer, devices: int | None) -> tuple[Sharing | None, int | None]:
    if not devices or not offer.capacity or offer.capacity % devices:
        return None, None
    replicas = offer.capacity // devices
    return (Sharing.TIME_SLICING if replicas > 1 else Sharing.NONE), replicas


def _devices(labels: Mapping[str, str]) -> int | None:
    """Devices on the node: counted by NFD, or a thousand millicores each in the old mode."""
    counted = positive(labels.get(COUNT))
    millicores = positive(labels.get(MILLICORES))
    return counted or (millicores // 1000 or None if millicores else None)


def _family(labels: Mapping[str, str], by_product: str | None) -> str | None:
    return by_product or canonical_family(labels.get(FAMILY, ""))


INTEL: Final = Dialect(NAME, present, read)
