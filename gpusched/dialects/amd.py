"""AMD's k8s-node-labeller: labels of GPUs and their partitions.

Source: ROCm k8s-device-plugin cmd/k8s-node-labeller. A kind has one label with its value where all devices agree, and
one label per value, counting devices, otherwise; the `beta.amd.com` forms are always of the second kind.
"""

import re
from collections.abc import Mapping
from typing import Final

from gpusched.core.card import Card
from gpusched.core.catalogue import find, product_of_amd_device_id
from gpusched.core.pool import Sharing
from gpusched.core.products import normalise
from gpusched.dialects.partial import Dialect, Partial, Rank, Reading, any_prefix
from gpusched.dialects.surface import Offer, Surface

NAME: Final = "amd"
_STABLE: Final = "amd.com/gpu."
_BETA: Final = "beta.amd.com/gpu."

#: The driver's family names that stand for one family; `AI` spans MI100 to MI300 and `NV` two generations.
_FAMILIES: Final = {"GC_11_0_0": "rdna3", "GC_11_0_1": "rdna3", "GC_11_5_0": "rdna3", "GC_12_0_0": "rdna4"}
_VRAM: Final = re.compile(r"(\d{1,6})([MGT])i?B?", re.ASCII)
_UNITS_MIB: Final = {"M": 1, "G": 1024, "T": 1024 * 1024}
_RESOURCE_PARTITION: Final = re.compile(r"amd\.com/([a-z]+px)_nps\d+", re.ASCII)
#: A partition is clearly smaller than its card; the driver's own part of a whole card is below this.
_WHOLE_PERCENT: Final = 92


def present(labels: Mapping[str, str]) -> bool:
    """Whether AMD's labeller has labelled the node."""
    return any_prefix(labels, _STABLE, _BETA)


def read(surface: Surface) -> Reading:
    """Facts about every AMD resource of the node. AMD's plugin never shares a device: a slot is one."""
    if not present(surface.labels):
        return Reading()
    partials = tuple(_partial(surface.labels, offer) for offer in surface.of("amd"))
    return Reading(partials, promises=frozenset({"amd"}))


def _partial(labels: Mapping[str, str], offer: Offer) -> Partial:
    product = _product(labels)
    card = find(product) if product else None
    vram = _vram_mib(_value(labels, "vram"))
    mode = _partition(labels, offer)
    part = _is_part(vram, card, mode)
    return Partial(
        NAME,
        Rank.VENDOR,
        offer.resource,
        family=card.family if card else _FAMILIES.get(_value(labels, "family") or ""),
        product=product,
        sharing=Sharing.NONE,
        replicas=1,
        gpu_memory_mib=_card_memory(vram, card, part=part, whole=mode == "spx"),
        instance_mib=vram if part else None,
        profile=mode if part else None,
        nominal=frozenset({"gpu_memory_mib"} if part or vram is None else ()),
        notes=_notes(labels, mode if part else None),
    )


def _card_memory(vram: int | None, card: Card | None, *, part: bool, whole: bool) -> int | None:
    if vram is not None and not part:
        return vram
    # Without a vram label only a card known to be whole has the memory of the price list.
    return card.memory_mib if card is not None and (part or whole) else None


def _is_part(vram: int | None, card: Card | None, mode: str | None) -> bool:
    if mode is not None and mode != "spx":
        return True
    memory = card.memory_mib if card else None
    return vram is not None and memory is not None and vram * 100 < memory * _WHOLE_PERCENT


def _partition(labels: Mapping[str, str], offer: Offer) -> str | None:
    """The compute partition mode in lower case, such as `spx` or `cpx`; None when nobody tells."""
    named = _RESOURCE_PARTITION.fullmatch(offer.resource)
    if named:
        return named.group(1)
    text = (_value(labels, "compute-memory-partition") or "").strip().lower()
    return text.split("_")[0] or None


def _product(labels: Mapping[str, str]) -> str | None:
    named = normalise(_value(labels, "product-name") or "")
    return named or product_of_amd_device_id(_value(labels, "device-id") or "")


def _value(labels: Mapping[str, str], kind: str) -> str | None:
    """The value of a kind where all devices agree, None otherwise."""
    for prefix in (_STABLE, _BETA):
        if prefix + kind in labels:
            return labels[prefix + kind]
    values = _counted(labels, kind)
    return values[0] if len(values) == 1 else None


def _counted(labels: Mapping[str, str], kind: str) -> list[str]:
    """Values of a kind from the labels that count devices per value."""
    prefixes = (f"{_STABLE}{kind}.", f"{_BETA}{kind}.")
    return sorted({key.removeprefix(p) for p in prefixes for key in labels if key.startswith(p)})


def _vram_mib(text: str | None) -> int | None:
    """`192G` in MiB: the labeller rounds to units of 2^30 and cuts the i."""
    found = _VRAM.fullmatch(text or "")
    return int(found.group(1)) * _UNITS_MIB[found.group(2)] or None if found else None


def _notes(labels: Mapping[str, str], mode: str | None) -> tuple[str, ...]:
    mixed = [kind for kind in ("device-id", "product-name", "vram") if len(_counted(labels, kind)) > 1]
    notes = [f"devices differ in {kind}" for kind in mixed]
    if mode is not None:
        notes.append(f"slots are {mode} partitions")
    return tuple(notes)


AMD: Final = Dialect(NAME, present, read)
