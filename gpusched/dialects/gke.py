"""Google Kubernetes Engine's node labels.

Source: GKE documentation on GPUs, time-sharing, MPS and multi-instance GPUs; container-engine-accelerators. GKE runs a
device plugin of its own, whose sharing only these labels tell, and installs no GPU Feature Discovery.
"""

from collections.abc import Mapping
from typing import Final

import msgspec

from gpusched.core.catalogue import profile_gigabytes
from gpusched.core.pool import Sharing
from gpusched.dialects.partial import Dialect, Partial, Reading
from gpusched.dialects.priced import priced
from gpusched.dialects.surface import Offer, Surface, positive

NAME: Final = "gke"
_PREFIX: Final = "cloud.google.com/gke-"
ACCELERATOR: Final = _PREFIX + "accelerator"
COUNT: Final = _PREFIX + "accelerator-count"
STRATEGY: Final = _PREFIX + "gpu-sharing-strategy"
CLIENTS: Final = _PREFIX + "max-shared-clients-per-gpu"
PARTITION: Final = _PREFIX + "gpu-partition-size"

#: Models by GKE's names for them, with the product they are of; the bare names are the first card of their line.
MODELS: Final = {
    "nvidia-tesla-k80": "k80",
    "nvidia-tesla-p4": "p4",
    "nvidia-tesla-p100": "p100-pcie-16gb",
    "nvidia-tesla-v100": "v100-sxm2-16gb",
    "nvidia-tesla-t4": "t4",
    "nvidia-l4": "l4",
    "nvidia-tesla-a100": "a100-sxm4-40gb",
    "nvidia-a100-80gb": "a100-sxm4-80gb",
    "nvidia-h100-80gb": "h100-80gb-hbm3",
    "nvidia-h100-mega-80gb": "h100-80gb-hbm3",
    "nvidia-h200-141gb": "h200",
    "nvidia-b200": "b200",
    "nvidia-gb200": "gb200",
    "nvidia-gb300": "gb300",
    "nvidia-rtx-pro-6000": "rtx-pro-6000-blackwell-server-edition",
}
_SHARED: Final = {"time-sharing": Sharing.TIME_SLICING, "mps": Sharing.MPS}


def present(labels: Mapping[str, str]) -> bool:
    """Whether the node is GKE's. The accelerator label alone does not prove it: other clouds have taken it over."""
    return any(key.startswith(_PREFIX) and key != ACCELERATOR for key in labels)


def read(surface: Surface) -> Reading:
    """Facts about the NVIDIA resources; MIG partitions and shared GPUs keep the name nvidia.com/gpu on GKE."""
    labels = surface.labels
    model = labels.get(ACCELERATOR)
    if model is None:
        return Reading()
    if not present(labels):
        partials = tuple(priced("gke-accelerator", offer.resource, model) for offer in surface.of("nvidia"))
        return Reading(partials, promises=frozenset({"nvidia"}))
    partials = tuple(_partial(labels, model, offer) for offer in surface.of("nvidia"))
    return Reading(partials, promises=frozenset({"nvidia"}))


def _partial(labels: Mapping[str, str], model: str, offer: Offer) -> Partial:
    base = _model(model, offer.resource)
    if offer.profile is not None:
        return base
    sharing, replicas, notes = _sharing(labels)
    profile = labels.get(PARTITION, "").strip().lower() or None
    if profile is not None and profile_gigabytes(profile) is None:
        return msgspec.structs.replace(base, notes=(*notes, f"{PARTITION}: {profile!r} is no MIG profile"))
    if profile is not None and sharing is Sharing.NONE:
        sharing = Sharing.MIG
    return msgspec.structs.replace(
        base,
        sharing=sharing,
        replicas=replicas,
        profile=profile,
        count=None if profile else positive(labels.get(COUNT)),
        unknown=frozenset({"count"}) if profile else frozenset(),
        notes=notes,
    )


def _model(model: str, resource: str) -> Partial:
    """The label's own words as the product, facts from the card that GKE means by them."""
    said = priced(NAME, resource, model)
    meant = priced(NAME, resource, MODELS.get(model, model))
    return msgspec.structs.replace(said, family=meant.family, gpu_memory_mib=meant.gpu_memory_mib)


def _sharing(labels: Mapping[str, str]) -> tuple[Sharing | None, int | None, tuple[str, ...]]:
    strategy, clients = labels.get(STRATEGY), labels.get(CLIENTS)
    if strategy is None and clients is None:
        return Sharing.NONE, 1, ()
    # Time-sharing is what a node pool gets that only limits the clients.
    sharing = _SHARED.get(strategy.strip().lower() if strategy is not None else "time-sharing")
    notes = () if sharing is not None else (f"sharing: unknown strategy {strategy!r}",)
    return sharing, positive(clients), notes


GKE: Final = Dialect(NAME, present, read)
