"""The inventory of a node: every dialect is asked, their words are merged into one pool per GPU resource."""

from collections.abc import Mapping, Sequence
from typing import Final

from gpusched.core.node import Node, NodeObject
from gpusched.core.pool import Pool
from gpusched.core.resources import GpuResources
from gpusched.dialects import admin, allocatable
from gpusched.dialects.agreement import agreement
from gpusched.dialects.aks import AKS
from gpusched.dialects.amd import AMD
from gpusched.dialects.clouds import CLOUDS
from gpusched.dialects.coreweave import COREWEAVE
from gpusched.dialects.eks import EKS
from gpusched.dialects.gfd import GFD
from gpusched.dialects.gke import GKE
from gpusched.dialects.gpu_operator import GPU_OPERATOR
from gpusched.dialects.intel import INTEL
from gpusched.dialects.karpenter import KARPENTER
from gpusched.dialects.merge import ordered, pool_of
from gpusched.dialects.partial import Dialect, Partial, Reading
from gpusched.dialects.surface import Surface, surface_of

DIALECTS: Final[tuple[Dialect, ...]] = (
    GFD,
    GPU_OPERATOR,
    AMD,
    INTEL,
    GKE,
    *KARPENTER,
    EKS,
    AKS,
    COREWEAVE,
    *CLOUDS,
)

#: The note on a node whose labels tell of GPUs that its kubelet does not offer.
NONE_OFFERED: Final = "GPU labels present but no GPU resource is allocatable"


def inventory(node: NodeObject, resources: GpuResources, dra_resources: frozenset[str] = frozenset()) -> Node:
    """The node with its pools, the dialects it speaks and notes.

    `dra_resources` are resource names that DRA serves on this node; those that a device plugin has in allocatable are
    its own (Kubernetes asks DRA only where allocatable has none).
    """
    surface = surface_of(node, resources)
    readings = [(dialect.name, dialect.read(surface)) for dialect in DIALECTS]
    words = [admin.read(surface), allocatable.read(surface), *(reading for _, reading in readings)]
    served = frozenset(name for name in dra_resources if not node.allocatable.get(name, 0))
    return Node(
        object=node,
        pools=_pools(surface, [partial for reading in words for partial in reading.partials]),
        dialects=frozenset(dialect.name for dialect in DIALECTS if dialect.present(node.labels)),
        notes=_notes(surface, words, served, resources),
        dra_resources=served,
    )


def _pools(surface: Surface, partials: Sequence[Partial]) -> tuple[Pool, ...]:
    said: dict[str, list[Partial]] = {offer.resource: [] for offer in surface.offers}
    for partial in partials:
        said[partial.resource].append(partial)
    for partial in agreement(surface, _ordered(said)):
        said[partial.resource].append(partial)
    merged = _ordered(said)
    return tuple(pool_of(offer, merged[offer.resource]) for offer in surface.offers)


def _ordered(said: Mapping[str, Sequence[Partial]]) -> dict[str, tuple[Partial, ...]]:
    return {resource: ordered(partials) for resource, partials in said.items()}


def _notes(
    surface: Surface, words: Sequence[Reading], served: frozenset[str], resources: GpuResources
) -> tuple[str, ...]:
    notes = [note for reading in words for note in reading.notes]
    offered = {offer.vendor for offer in surface.offers} | {resources.vendor(name) for name in served}
    promised = {vendor for reading in words for vendor in reading.promises}
    if promised - offered:
        notes.append(NONE_OFFERED)
    return tuple(dict.fromkeys(notes))
