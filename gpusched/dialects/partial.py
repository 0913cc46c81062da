"""What one source says about one GPU resource, and how much its word counts."""

from collections.abc import Callable, Mapping
from enum import IntEnum

import msgspec

from gpusched.core.codes import Reason
from gpusched.core.pool import Sharing
from gpusched.dialects.surface import Surface


class Rank(IntEnum):
    """Precedence of sources, the strongest first."""

    ADMIN = 0
    #: The check of labels against the number of slots.
    AGREEMENT = 1
    #: What a resource's name and number alone prove.
    ALLOCATABLE = 2
    #: Labels of the GPU vendors' own software on the node.
    VENDOR = 3
    CLOUD = 4
    INSTANCE_TYPE = 5
    #: What a resource's name suggests where nobody says more.
    NAME = 6


class Partial(msgspec.Struct, frozen=True):
    """Facts about one resource by one source; None says nothing.

    `gpu_memory_mib` is the whole card, `instance_mib` the part of it that a slot's device is (MIG instance, AMD
    partition), `profile` that part's name. `count` is the number of devices behind all whole-GPU resources of the
    vendor. `nominal` names facts that come from a price list, not from the device; `unknown` names facts that no
    weaker source may fill in.
    """

    source: str
    rank: Rank
    resource: str
    family: str | None = None
    product: str | None = None
    sharing: Sharing | None = None
    replicas: int | None = None
    gpu_memory_mib: int | None = None
    instance_mib: int | None = None
    profile: str | None = None
    count: int | None = None
    cuda_version: int | None = None
    driver_version: int | None = None
    blocked: Reason | None = None
    nominal: frozenset[str] = frozenset()
    unknown: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()


class Reading(msgspec.Struct, frozen=True):
    """What a dialect found on a node. `promises` are vendors whose GPUs the labels say are there."""

    partials: tuple[Partial, ...] = ()
    notes: tuple[str, ...] = ()
    promises: frozenset[str] = frozenset()


class Dialect(msgspec.Struct, frozen=True):
    """One vendor's or cloud's way of labelling.

    `present` tells from the labels whether the node speaks it at all, GPU or not, so that a cluster whose GPU pools
    are scaled to zero still shows which dialect new nodes will speak.
    """

    name: str
    present: Callable[[Mapping[str, str]], bool]
    read: Callable[[Surface], Reading]


def any_prefix(labels: Mapping[str, str], *prefixes: str) -> bool:
    """Whether a label key begins with one of the prefixes."""
    # A score of dialects ask this of every node: one search in all keys costs a third of looking at each.
    keys = "\n" + "\n".join(labels)
    return any("\n" + prefix in keys for prefix in prefixes)
