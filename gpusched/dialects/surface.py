"""What dialects look at: the labels of a node and the GPU resources it offers."""

from collections.abc import Mapping

import msgspec

from gpusched.core.node import NodeObject
from gpusched.core.resources import GpuResources, is_shared_name, mig_profile


class Offer(msgspec.Struct, frozen=True):
    """One GPU resource in allocatable. `profile` is the MIG profile in its name, `shared` whether the name says so."""

    resource: str
    vendor: str
    slots: int
    capacity: int
    profile: str | None = None
    shared: bool = False


class Surface(msgspec.Struct, frozen=True):
    """A node as dialects see it; offers are sorted by resource."""

    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    offers: tuple[Offer, ...]

    def of(self, vendor: str) -> tuple[Offer, ...]:
        """All offers of one vendor."""
        return tuple(offer for offer in self.offers if offer.vendor == vendor)

    def whole(self, vendor: str) -> tuple[Offer, ...]:
        """Offers of one vendor whose name is not that of a MIG profile."""
        return tuple(offer for offer in self.of(vendor) if offer.profile is None)

    def instances(self, vendor: str) -> tuple[Offer, ...]:
        """Offers of one vendor that name a MIG profile."""
        return tuple(offer for offer in self.of(vendor) if offer.profile is not None)


def surface_of(node: NodeObject, resources: GpuResources) -> Surface:
    """The node's labels with every GPU resource in allocatable; capacity is allocatable where it has no such key."""
    offers = []
    for resource in sorted(node.allocatable):
        vendor = resources.vendor(resource)
        if vendor is None:
            continue
        slots = max(node.allocatable[resource], 0)
        offers.append(
            Offer(
                resource=resource,
                vendor=vendor,
                slots=slots,
                capacity=max(node.capacity.get(resource, slots), 0),
                profile=mig_profile(resource),
                shared=is_shared_name(resource),
            )
        )
    return Surface(node.labels, node.annotations, tuple(offers))


def whole_number(text: str | None) -> int | None:
    """A label's value as a number; None when absent or anything but ASCII digits (at most 18)."""
    if text is None or not (text.isascii() and text.isdigit()) or len(text) > 18:
        return None
    return int(text)


def positive(text: str | None) -> int | None:
    """As `whole_number`, but 0 is unknown too: labellers write it where they have no figure."""
    return whole_number(text) or None
