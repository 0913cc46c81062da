"""Whether labels that count devices agree with the slots a node offers, and what follows when they do not.

Slots are capacity, not allocatable: a device that failed leaves allocatable alone. A device plugin that is being
changed, GPU Feature Discovery that has not caught up, and a node of unlike cards all show as a disagreement.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Final

from gpusched.core.names import FACTS_ANNOTATION
from gpusched.core.pool import Pool, Sharing
from gpusched.dialects import admin
from gpusched.dialects.merge import Choice, choose, ordered
from gpusched.dialects.partial import Partial, Rank
from gpusched.dialects.surface import Offer, Surface

NAME: Final = "agreement"

_UNTIL: Final = "unknown until they agree"

#: What the sharing of a device decides.
_DIVISION: Final = frozenset({"sharing", "replicas"})
#: Labels written by software on the node may be those of other devices; instance types do not change.
_ALL: Final = _DIVISION | {"product", "gpu_memory_mib", "instance_mib"}
_NAMES: Final = {"product": "product", "gpu_memory_mib": "memory", "sharing": "sharing", "replicas": "replicas"}


def agreement(surface: Surface, said: Mapping[str, Sequence[Partial]]) -> tuple[Partial, ...]:
    """What the counts prove about each vendor's whole-GPU resources. `said` has the partials of each resource.

    MIG instances are no devices: a vendor with some is not judged.
    """
    vendors = sorted({offer.vendor for offer in surface.offers})
    return tuple(partial for vendor in vendors for partial in _of_vendor(surface, vendor, said))


def _of_vendor(surface: Surface, vendor: str, said: Mapping[str, Sequence[Partial]]) -> tuple[Partial, ...]:
    offers = [offer for offer in surface.whole(vendor) if offer.capacity]
    if not offers or any(offer.capacity for offer in surface.instances(vendor)):
        return ()
    words = {offer.resource: ordered(said.get(offer.resource, ())) for offer in offers}
    first = words[offers[0].resource]
    count = choose(first, "count", lambda partial: partial.count)
    if count is None:
        return ()
    by_node = any(partial.count is not None and partial.rank <= Rank.VENDOR for partial in first)
    replicas = {
        resource: choose(partials, "replicas", lambda one: one.replicas) for resource, partials in words.items()
    }
    known = {resource: choice.value for resource, choice in replicas.items() if choice is not None}
    if not known:
        return _without_replicas(offers, count, words)
    if len(known) < len(offers):
        return ()
    devices = sum((Fraction(offer.capacity, max(known[offer.resource], 1)) for offer in offers), Fraction())
    if devices == count.value:
        return ()
    said_by_admin = any(choice is not None and choice.source == admin.NAME for choice in replicas.values())
    labels = " and ".join(f"{max(known[offer.resource], 1)}" for offer in offers)
    told = f"{count.value} × {labels}"
    if said_by_admin:
        told = f"{count.value} devices, {FACTS_ANNOTATION} of replicas {labels}"
    return _disagreement(offers, f"{count.source} labels tell of {told}", words, all_facts=by_node)


def _without_replicas(
    offers: Sequence[Offer], count: Choice[int], words: Mapping[str, Sequence[Partial]]
) -> tuple[Partial, ...]:
    """As many slots as devices: nothing is shared. Any other number is shared in a way that nobody tells."""
    capacity = sum(offer.capacity for offer in offers)
    if capacity == count.value:
        return tuple(
            Partial(count.source, Rank.CLOUD, offer.resource, sharing=Sharing.NONE, replicas=1) for offer in offers
        )
    told = f"{count.source} labels tell of {count.value} devices and nothing tells of replicas"
    return _disagreement(offers, told, words, all_facts=False)


def _disagreement(
    offers: Sequence[Offer], told: str, words: Mapping[str, Sequence[Partial]], *, all_facts: bool
) -> tuple[Partial, ...]:
    capacity = sum(offer.capacity for offer in offers)
    hidden = _ALL if all_facts else _DIVISION
    offered = f"{capacity} {'slot is' if capacity == 1 else 'slots are'} offered, {told}"
    return tuple(
        Partial(
            NAME,
            Rank.AGREEMENT,
            offer.resource,
            unknown=hidden,
            notes=(f"{offered}: {_consequence(hidden, words[offer.resource])}",),
        )
        for offer in offers
    )


def _consequence(hidden: frozenset[str], partials: Sequence[Partial]) -> str:
    """Which facts are unknown now; what the administrator says of the node stands."""
    settled = frozenset(
        fact
        for partial in partials
        if partial.rank <= Rank.ADMIN
        for fact in _NAMES
        if getattr(partial, fact) is not None
    )
    lost = [name for fact, name in _NAMES.items() if fact in hidden - settled]
    if not lost:
        return f"{FACTS_ANNOTATION} holds"
    listed = " and ".join((", ".join(lost[:-1]), lost[-1])) if len(lost) > 1 else lost[0]
    return f"{listed} {'are' if len(lost) > 1 else 'is'} {_UNTIL}"


def memory_disagreement(pool: Pool) -> str | None:
    """What labels and slots say of a pool whose memory is unknown since the two disagree; None for other pools."""
    said = (note.rpartition(": ") for note in pool.notes if note.endswith(_UNTIL))
    return next((told for told, _, lost in said if _NAMES["gpu_memory_mib"] in lost), None)
