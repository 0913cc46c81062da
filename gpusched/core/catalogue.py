"""The catalogue of GPU cards: what a product name lets one conclude when nothing on the node tells more."""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from gpusched.core.card import Card
from gpusched.core.catalogue_names import REPORTED_NAMES
from gpusched.core.catalogue_nvidia import NVIDIA_CARDS
from gpusched.core.catalogue_others import AMD_CARDS, AMD_DEVICE_IDS, INTEL_CARDS
from gpusched.core.families import (
    FAMILIES,
    canonical_family,
    family_of_compute,
    family_vendor,
    nearest_family,
)
from gpusched.core.products import in_order, product_matches, tokens_of

__all__ = [
    "CARDS",
    "FAMILIES",
    "NOMINAL_GIB",
    "PRODUCTS",
    "Card",
    "canonical_family",
    "device_memory_mib",
    "family_of_compute",
    "family_vendor",
    "find",
    "mig_memory_mib",
    "nearest_family",
    "product_of_amd_device_id",
    "products_overlap",
    "profile_gigabytes",
]

CARDS: Final[tuple[Card, ...]] = (*NVIDIA_CARDS, *AMD_CARDS, *INTEL_CARDS)
#: Normalised product names that a node may report: the catalogue's and the drivers' own longer ones.
PRODUCTS: Final[frozenset[str]] = REPORTED_NAMES | {card.name for card in CARDS}
_TOKENS: Final = tuple((card, card.tokens) for card in CARDS)

_PROFILE: Final = re.compile(r"^\d+g\.(\d+)gb(?:$|[.+-])")


def profile_gigabytes(profile: str) -> int | None:
    """The GB in a MIG profile's name: 5 of `1g.5gb` and of `1g.5gb.me`, None for what is no profile."""
    found = _PROFILE.match(profile)
    return int(found.group(1)) if found and len(found.group(1)) <= 4 else None


@lru_cache(maxsize=4096)
def find(product: str) -> Card | None:
    """The card of a product in any spelling: of those whose tokens all occur in it, the one with the most.

    `a100` alone is the 40 GB card, as clouds mean it.
    """
    tokens = tokens_of(product)
    best: Card | None = None
    length = 0
    for card, wanted in _TOKENS:
        if len(wanted) > length and in_order(wanted, tokens):
            best, length = card, len(wanted)
    return best


@lru_cache(maxsize=4096)
def device_memory_mib(product: str) -> int | None:
    """Nominal memory of one device in MiB, None for an unknown product or a bare name that comes in several sizes.

    `t4` is 16384; `a100` is None, because cards of 40, 64 and 80 GB go by that name.
    """
    card = find(product)
    if card is None:
        return None
    tokens = tokens_of(product)
    sizes = {other.memory_mib for other, wanted in _TOKENS if in_order(tokens, wanted)} | {card.memory_mib}
    return card.memory_mib if len(sizes) == 1 else None


def mig_profiles() -> frozenset[str]:
    """Every MIG profile of every card, as resource names spell them (`1g.5gb.me` for `1g.5gb+me`)."""
    return frozenset(profile.replace("+", ".") for card in CARDS for profile in card.mig)


def mig_memory_mib(product: str | None, profile: str) -> int | None:
    """Memory of a MIG instance in MiB: as published for the card, else the nominal GB in the profile's name.

    Profiles may be written with `.me` or `+me`. None for what is no profile.
    """
    name = profile.lower().replace("+", ".")
    card = find(product) if product else None
    if card is not None and name in card.mig_mib:
        return card.mig_mib[name]
    gigabytes = profile_gigabytes(name)
    return None if gigabytes is None else gigabytes * 1024


def product_of_amd_device_id(device_id: str) -> str | None:
    """The product of a PCI device id such as `74a1` or `0x74a1`; virtual functions end in `-vf`."""
    return AMD_DEVICE_IDS.get(device_id.strip().lower().removeprefix("0x"))


def products_overlap(first: str, second: str) -> bool:
    """Whether one product could satisfy both rules: one refines the other, or a card of the catalogue is both."""
    if product_matches(first, second) or product_matches(second, first):
        return True
    return any(product_matches(first, card.name) and product_matches(second, card.name) for card in CARDS)


def _nominal(cards: Iterable[Card]) -> frozenset[int]:
    sizes: set[int] = set()
    for card in cards:
        if card.memory_mib is not None:
            sizes.add(card.memory_mib // 1024)
        sizes.update(size for size in map(profile_gigabytes, card.mig) if size is not None)
    return frozenset(sizes)


#: Sizes in GB by which cards and MIG profiles are named, and by which people mean a card rather than an exact bound:
#: the catalogue's, and the physical sizes that vendors print for B200 (192), B300 and GB300 (288).
NOMINAL_GIB: Final = _nominal(CARDS) | {192, 288}
