"""What the name of a resource proves or suggests without any label."""

from typing import Final

from gpusched.core.pool import Sharing
from gpusched.dialects.partial import Partial, Rank, Reading
from gpusched.dialects.surface import Offer, Surface

NAME: Final = "allocatable"


def read(surface: Surface) -> Reading:
    """A MIG profile; that the slots of a `.shared` profile are time-sliced; that AMD's plugin shares nothing."""
    return Reading(tuple(partial for offer in surface.offers for partial in _partials(offer)))


def _partials(offer: Offer) -> tuple[Partial, ...]:
    if offer.profile is not None and offer.shared:
        # The device plugin refuses MPS on MIG instances, so that sharing them is time-slicing.
        return (Partial(NAME, Rank.ALLOCATABLE, offer.resource, profile=offer.profile, sharing=Sharing.TIME_SLICING),)
    if offer.profile is not None:
        return (
            Partial(NAME, Rank.ALLOCATABLE, offer.resource, profile=offer.profile),
            # Instances may be time-sliced under this name as well; only labels would tell.
            Partial(NAME, Rank.NAME, offer.resource, sharing=Sharing.MIG, replicas=1),
        )
    if offer.vendor == "amd":
        return (Partial(NAME, Rank.NAME, offer.resource, sharing=Sharing.NONE, replicas=1),)
    return ()
