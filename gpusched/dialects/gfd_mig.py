"""GPU Feature Discovery's labels of MIG instances under strategy mixed, one set per profile.

Source: k8s-device-plugin internal/lm/mig-strategy.go; `+` in profile names is a dot, in labels and resources alike.
"""

import re
from collections.abc import Mapping
from typing import Final

import msgspec

from gpusched.core.catalogue import find
from gpusched.core.pool import Sharing
from gpusched.core.products import normalise
from gpusched.dialects.gfd_sharing import sharing_word
from gpusched.dialects.partial import Partial
from gpusched.dialects.surface import positive, whole_number

_PROFILE: Final = "nvidia.com/mig-"
_COUNT: Final = re.compile(r"nvidia\.com/mig-\d+g\.\d+gb[a-z.-]*\.count", re.ASCII)


def labelled(labels: Mapping[str, str]) -> bool:
    """Whether instances of some profile are labelled on the node."""
    return any(key.startswith(_PROFILE) and _COUNT.fullmatch(key) and positive(value) for key, value in labels.items())


def described(base: Partial, labels: Mapping[str, str], profile: str, card_mib: int | None) -> Partial:
    """`base` with what the labels of a profile say. `card_mib` is the whole card where the node's labels tell it."""
    prefix = f"nvidia.com/mig-{profile}."
    raw = labels.get(prefix + "product", "")
    replicas = whole_number(labels.get(prefix + "replicas"))
    product = normalise(raw) or base.product
    card = find(product) if product else None
    if prefix + "count" not in labels and replicas is None:
        return msgspec.structs.replace(base, gpu_memory_mib=card_mib)
    word = sharing_word(labels.get(prefix + "sharing-strategy"), replicas, raw)
    return msgspec.structs.replace(
        base,
        product=product,
        sharing=Sharing.MIG if word.sharing is Sharing.NONE else word.sharing,
        replicas=word.replicas,
        profile=profile,
        instance_mib=positive(labels.get(prefix + "memory")),
        gpu_memory_mib=card_mib or (card.memory_mib if card else None),
        nominal=frozenset() if card_mib else frozenset({"gpu_memory_mib"}),
        unknown=word.unknown,
        notes=base.notes + word.notes,
    )
