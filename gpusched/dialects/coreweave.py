"""CoreWeave's labels.

Source: CoreWeave's documentation on node labels. `vram` is a number of GB; an H100 whose driver reports 81,559 MiB is
labelled 81, so a unit is a thousand MiB.
"""

from collections.abc import Mapping
from typing import Final

import msgspec

from gpusched.dialects.partial import Dialect, Partial, Reading
from gpusched.dialects.priced import priced
from gpusched.dialects.surface import Offer, Surface, positive

NAME: Final = "coreweave"
_PREFIX: Final = "gpu.nvidia.com/"
CLASS: Final = _PREFIX + "class"
MODEL: Final = _PREFIX + "model"
COUNT: Final = _PREFIX + "count"
VRAM: Final = _PREFIX + "vram"
_MIB_PER_UNIT: Final = 1000


def present(labels: Mapping[str, str]) -> bool:
    """Whether the node carries CoreWeave's GPU labels."""
    return CLASS in labels or MODEL in labels


def read(surface: Surface) -> Reading:
    """Facts about the NVIDIA resources."""
    if not present(surface.labels):
        return Reading()
    partials = tuple(_partial(surface.labels, offer) for offer in surface.of("nvidia"))
    return Reading(partials, promises=frozenset({"nvidia"}))


def _partial(labels: Mapping[str, str], offer: Offer) -> Partial:
    vram = positive(labels.get(VRAM))
    memory = vram * _MIB_PER_UNIT if vram is not None and vram < 10_000 else None
    model = labels.get(MODEL) or labels.get(CLASS, "")
    base = priced(NAME, offer.resource, model, memory_mib=memory)
    return msgspec.structs.replace(base, count=positive(labels.get(COUNT)))


COREWEAVE: Final = Dialect(NAME, present, read)
