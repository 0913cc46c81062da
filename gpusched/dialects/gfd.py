"""NVIDIA GPU Feature Discovery: labels of whole GPUs, and of MIG where the strategy is single.

Source of keys and values: k8s-device-plugin internal/lm and docs/gpu-feature-discovery/README.md, up to v0.20.0.
"""

from collections.abc import Mapping
from typing import Final

import msgspec

from gpusched.core.catalogue import canonical_family, family_of_compute, find
from gpusched.core.codes import Reason
from gpusched.core.pool import Sharing
from gpusched.core.products import mig_suffix, normalise
from gpusched.core.version import encode_cuda, encode_driver
from gpusched.dialects import gfd_mig
from gpusched.dialects.gfd_sharing import SharingWord, sharing_word
from gpusched.dialects.partial import Dialect, Partial, Rank, Reading
from gpusched.dialects.surface import Offer, Surface, positive, whole_number

NAME: Final = "gfd"
_PREFIX: Final = "nvidia.com/"

PRODUCT: Final = _PREFIX + "gpu.product"
COUNT: Final = _PREFIX + "gpu.count"
REPLICAS: Final = _PREFIX + "gpu.replicas"
STRATEGY: Final = _PREFIX + "gpu.sharing-strategy"
MEMORY: Final = _PREFIX + "gpu.memory"
FAMILY: Final = _PREFIX + "gpu.family"
COMPUTE_MAJOR: Final = _PREFIX + "gpu.compute.major"
COMPUTE_MINOR: Final = _PREFIX + "gpu.compute.minor"
SLICES: Final = _PREFIX + "gpu.slices.gi"
MIG_STRATEGY: Final = _PREFIX + "mig.strategy"
MIG_CAPABLE: Final = _PREFIX + "mig.capable"
CUDA: Final = _PREFIX + "cuda.runtime-version"
DRIVER: Final = _PREFIX + "cuda.driver-version"
OLD_CUDA: Final = _PREFIX + "cuda.runtime"
OLD_DRIVER: Final = _PREFIX + "cuda.driver"
PRESENT: Final = _PREFIX + "gpu.present"

#: Any of these shows that GFD has labelled the node.
_FACTS: Final = (PRODUCT, COUNT, REPLICAS, MEMORY, FAMILY, COMPUTE_MAJOR, MIG_STRATEGY)

#: No card has a TiB: a larger figure is bytes, which GFD releases wrote for a while.
_BYTES_FROM: Final = 1_000_000

_INVALID: Final = frozenset({"family", "product", "sharing", "replicas", "gpu_memory_mib"})


def present(labels: Mapping[str, str]) -> bool:
    """Whether GFD has labelled the node."""
    return any(key in labels for key in _FACTS)


def read(surface: Surface) -> Reading:
    """Facts about every NVIDIA resource of the node."""
    labels = surface.labels
    if not present(labels):
        return Reading()
    if labels.get(PRESENT) == "false":
        # The operator turns the label, and leaves GFD's last words standing, when the GPUs are gone.
        notes = ("gpu.present is false: GPU Feature Discovery's labels are stale",) if surface.of("nvidia") else ()
        return Reading(notes=notes)
    promises = frozenset({"nvidia"} if positive(labels.get(COUNT)) or labels.get(PRESENT) == "true" else ())
    return Reading(tuple(_partial(surface, offer) for offer in surface.of("nvidia")), promises=promises)


def memory_mib(text: str | None) -> int | None:
    """The MiB of a memory label; zero is unknown, and a figure no card has is bytes."""
    figure = positive(text)
    if figure is None or figure <= _BYTES_FROM:
        return figure
    return figure // 2**20 or None


def _partial(surface: Surface, offer: Offer) -> Partial:
    labels = surface.labels
    base = _base(labels, offer)
    if offer.profile is not None:
        return gfd_mig.described(base, labels, offer.profile, _card_memory(labels))
    suffix = mig_suffix(labels.get(PRODUCT, ""))
    if suffix == "invalid":
        return Partial(
            NAME,
            Rank.VENDOR,
            offer.resource,
            unknown=_INVALID,
            blocked=Reason.FACTS_UNKNOWN,
            notes=("MIG configuration is invalid: empty, unequal or partly enabled under strategy single",),
        )
    word = sharing_word(labels.get(STRATEGY), whole_number(labels.get(REPLICAS)), labels.get(PRODUCT, ""))
    if suffix is not None or SLICES in labels:
        return _single(base, labels, suffix, word)
    return _plain(base, surface, offer, word)


def _base(labels: Mapping[str, str], offer: Offer) -> Partial:
    """What holds for every resource of the node alike."""
    product = normalise(labels.get(PRODUCT, "")) or None
    family, notes = _family(labels, product)
    return Partial(
        NAME,
        Rank.VENDOR,
        offer.resource,
        family=family,
        product=product,
        cuda_version=_cuda(labels),
        driver_version=_driver(labels),
        notes=notes,
    )


def _family(labels: Mapping[str, str], product: str | None) -> tuple[str | None, tuple[str, ...]]:
    said = canonical_family(labels.get(FAMILY, ""))
    major, minor = positive(labels.get(COMPUTE_MAJOR)), whole_number(labels.get(COMPUTE_MINOR))
    computed = family_of_compute(major, minor or 0) if major is not None else None
    if computed is not None:
        differs = said is not None and said != computed
        note = f"family: label {said}, compute capability {major}.{minor or 0} is {computed}"
        return computed, ((note,) if differs else ())
    card = find(product) if product else None
    if card is not None and (said is None or (said == "ampere" and card.family == "ada-lovelace")):
        return card.family, ()
    return said, ()


def _single(base: Partial, labels: Mapping[str, str], profile: str | None, word: SharingWord) -> Partial:
    """MIG strategy single: product, count and memory are the instances'; the card is in the catalogue or unknown."""
    sharing = Sharing.MIG if word.sharing is Sharing.NONE else word.sharing
    card = find(base.product) if base.product else None
    return msgspec.structs.replace(
        base,
        sharing=sharing,
        replicas=word.replicas,
        profile=profile,
        instance_mib=memory_mib(labels.get(MEMORY)),
        gpu_memory_mib=card.memory_mib if card else None,
        nominal=frozenset({"gpu_memory_mib"}),
        unknown=word.unknown | {"count"},
        notes=base.notes + word.notes,
    )


def _plain(base: Partial, surface: Surface, offer: Offer, word: SharingWord) -> Partial:
    labels = surface.labels
    if _in_mig_mode(labels):
        word = SharingWord(
            unknown=frozenset({"sharing", "replicas"}),
            notes=("GPUs are in MIG mode but offered whole: what a container sees is unknown",),
        )
    elif _unshared_beside_shared(surface, offer):
        word = SharingWord(Sharing.NONE, 1)
    elif offer.shared and word.sharing is Sharing.NONE:
        word = SharingWord()
    return msgspec.structs.replace(
        base,
        sharing=word.sharing,
        replicas=word.replicas,
        gpu_memory_mib=memory_mib(labels.get(MEMORY)),
        count=None if _instances_counted(surface) else whole_number(labels.get(COUNT)),
        unknown=word.unknown | ({"count"} if _instances_counted(surface) else frozenset()),
        notes=base.notes + word.notes,
    )


def _unshared_beside_shared(surface: Surface, offer: Offer) -> bool:
    """Renaming keeps the plain name for GPUs that are not shared; the labels tell of the shared ones."""
    return not offer.shared and any(other.shared and other.capacity for other in surface.whole("nvidia"))


def _in_mig_mode(labels: Mapping[str, str]) -> bool:
    """Strategy none over GPUs in MIG mode: GFD says replicas 0, the device plugin offers the GPUs all the same."""
    no_strategy = labels.get(MIG_STRATEGY, "none") == "none"
    return no_strategy and labels.get(MIG_CAPABLE) == "true" and labels.get(REPLICAS) == "0"


def _instances_counted(surface: Surface) -> bool:
    """Whether gpu.count includes GPUs that are handed out as MIG instances, so that it says nothing about slots."""
    instances = any(offer.capacity for offer in surface.instances("nvidia"))
    return instances or surface.labels.get(REPLICAS) == "0" or gfd_mig.labelled(surface.labels)


def _card_memory(labels: Mapping[str, str]) -> int | None:
    """Under strategy mixed gpu.memory stays the whole card's; under single it is an instance's."""
    return memory_mib(labels.get(MEMORY)) if labels.get(MIG_STRATEGY) == "mixed" else None


def _cuda(labels: Mapping[str, str]) -> int | None:
    for text in (labels.get(f"{CUDA}.full", ""), _joined(labels, CUDA), _joined(labels, OLD_CUDA)):
        version = encode_cuda(text)
        if version is not None:
            return version
    return None


def _driver(labels: Mapping[str, str]) -> int | None:
    new = _joined(labels, DRIVER, "revision")
    for text in (labels.get(f"{DRIVER}.full", ""), new, _joined(labels, OLD_DRIVER, "rev")):
        version = encode_driver(text)
        if version is not None:
            return version
    return None


def _joined(labels: Mapping[str, str], key: str, last: str = "") -> str:
    """major.minor, with the last part where it is asked for and not empty."""
    parts = [labels.get(f"{key}.major", ""), labels.get(f"{key}.minor", "")]
    if last and labels.get(f"{key}.{last}"):
        parts.append(labels[f"{key}.{last}"])
    return ".".join(parts)


GFD: Final = Dialect(NAME, present, read)
