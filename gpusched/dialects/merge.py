"""Many sources, one pool: the strongest word on each fact wins, the other words are kept as notes."""

from collections.abc import Callable, Iterable, Sequence
from typing import Final, Generic, TypeVar

import msgspec

from gpusched.core.catalogue import device_memory_mib, find, mig_memory_mib, products_overlap
from gpusched.core.codes import Reason
from gpusched.core.pool import Pool, Sharing
from gpusched.dialects.partial import Partial
from gpusched.dialects.surface import Offer

_T = TypeVar("_T")
_CATALOGUE: Final = "catalogue (nominal)"
#: ECC on GDDR memory takes a sixteenth of it; figures further apart than this are about different things.
_SAME_PERCENT: Final = 7


class Choice(msgspec.Struct, Generic[_T], frozen=True):
    """The word that won on one fact, with its source as provenance shows it."""

    value: _T
    source: str


def ordered(partials: Iterable[Partial]) -> tuple[Partial, ...]:
    """Strongest first; equals by the source's name, so that the order of labels never matters."""
    return tuple(sorted(partials, key=lambda partial: (partial.rank, partial.source)))


def choose(partials: Sequence[Partial], fact: str, of: Callable[[Partial], _T | None]) -> Choice[_T] | None:
    """The first word on a fact; None when nobody has one or a stronger source declares it unknown."""
    for partial in partials:
        value = of(partial)
        if value is not None:
            return Choice(value, f"{partial.source} (nominal)" if fact in partial.nominal else partial.source)
        if fact in partial.unknown:
            return None
    return None


class _Memory(msgspec.Struct, frozen=True):
    """Memory of the card and of the device that slots are of, each with its source."""

    card: Choice[int] | None
    device: Choice[int] | None


def pool_of(offer: Offer, partials: Sequence[Partial]) -> Pool:
    """The pool of one resource from all that is said about it, strongest first."""
    product = choose(partials, "product", lambda partial: partial.product)
    sharing = choose(partials, "sharing", lambda partial: partial.sharing)
    family = choose(partials, "family", lambda partial: partial.family) or _family_of(product)
    replicas = choose(partials, "replicas", lambda partial: partial.replicas)
    memory = _memory(partials, product, sharing)
    cuda = choose(partials, "cuda_version", lambda partial: partial.cuda_version)
    driver = choose(partials, "driver_version", lambda partial: partial.driver_version)
    shares = _shares(replicas)
    visible = _visible(memory.device, sharing, shares)
    slot = memory.device.value // shares if memory.device and sharing and shares else None
    chosen: dict[str, Choice[str] | Choice[int] | Choice[Sharing] | None] = {
        "family": family,
        "product": product,
        "sharing": sharing,
        "replicas": replicas,
        "gpu_memory_mib": memory.card,
        "visible_memory_mib": memory.device if visible is not None else None,
        "slot_memory_mib": memory.device if slot is not None else None,
        "cuda_version": cuda,
        "driver_version": driver,
    }
    return Pool(
        resource=offer.resource,
        vendor=offer.vendor,
        slots=offer.slots,
        family=_value(family),
        product=_value(product),
        sharing=_value(sharing),
        replicas=shares,
        # A device of which some slots are gone is still one device.
        devices=-(-offer.slots // shares) if shares else None,
        gpu_memory_mib=_value(memory.card),
        visible_memory_mib=visible,
        slot_memory_mib=slot,
        cuda_version=_value(cuda),
        driver_version=_value(driver),
        blocked=_blocked(partials),
        provenance=tuple((fact, choice.source) for fact, choice in sorted(chosen.items()) if choice is not None),
        notes=_notes(partials, product, memory.card),
    )


def _value(choice: Choice[_T] | None) -> _T | None:
    return None if choice is None else choice.value


def _shares(replicas: Choice[int] | None) -> int | None:
    return None if replicas is None else max(replicas.value, 1)


def _family_of(product: Choice[str] | None) -> Choice[str] | None:
    card = find(product.value) if product else None
    return Choice(card.family, "catalogue") if card else None


def _memory(partials: Sequence[Partial], product: Choice[str] | None, sharing: Choice[Sharing] | None) -> _Memory:
    card = choose(partials, "gpu_memory_mib", lambda partial: partial.gpu_memory_mib)
    instance = choose(partials, "instance_mib", lambda partial: partial.instance_mib)
    profile = choose(partials, "profile", lambda partial: partial.profile)
    if instance is None and profile is None and (sharing is None or sharing.value is not Sharing.MIG):
        return _Memory(card, card)
    if card is None and product is not None:
        known = find(product.value)
        card = Choice(known.memory_mib, _CATALOGUE) if known and known.memory_mib else None
    if instance is None and profile is not None:
        nominal = mig_memory_mib(_value(product), profile.value)
        instance = Choice(nominal, _CATALOGUE) if nominal is not None else None
    return _Memory(card, instance)


def _visible(device: Choice[int] | None, sharing: Choice[Sharing] | None, replicas: int | None) -> int | None:
    """What one container sees: the whole device, under MPS its part; unknown where sharing is."""
    if device is None or sharing is None:
        return None
    if sharing.value is not Sharing.MPS:
        return device.value
    return device.value // replicas if replicas else None


def _blocked(partials: Sequence[Partial]) -> Reason | None:
    return next((partial.blocked for partial in partials if partial.blocked is not None), None)


def _notes(partials: Sequence[Partial], product: Choice[str] | None, card: Choice[int] | None) -> tuple[str, ...]:
    notes = [note for partial in partials for note in partial.notes]
    notes += _differences(partials, "family", lambda partial: partial.family, _equal)
    notes += _differences(partials, "product", lambda partial: partial.product, products_overlap)
    notes += _differences(partials, "sharing", lambda partial: partial.sharing, _equal)
    notes += _differences(partials, "replicas", lambda partial: partial.replicas, _equal)
    notes += _differences(partials, "devices", lambda partial: partial.count, _equal)
    memory = _differences(partials, "memory", lambda partial: partial.gpu_memory_mib, _close)
    listed = device_memory_mib(product.value) if product else None
    if not memory and card is not None and listed is not None and not _close(card.value, listed):
        memory = [f"memory: {card.source} {card.value}, catalogue {listed}"]
    return tuple(dict.fromkeys([*notes, *memory]))


def _differences(
    partials: Sequence[Partial], fact: str, of: Callable[[Partial], _T | None], same: Callable[[_T, _T], bool]
) -> list[str]:
    """One line where sources do not agree on a fact, the strongest word first."""
    said = [(partial.source, value) for partial in partials if (value := of(partial)) is not None]
    if not said:
        return []
    first = said[0]
    others = [(source, value) for source, value in said[1:] if not same(first[1], value) and source != first[0]]
    if not others:
        return []
    return [f"{fact}: " + ", ".join(f"{source} {value}" for source, value in (first, *others))]


def _equal(first: object, second: object) -> bool:
    return first == second


def _close(first: int, second: int) -> bool:
    return abs(first - second) * 100 <= max(first, second) * _SAME_PERCENT
