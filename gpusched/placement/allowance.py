"""What is left of a namespace's quota, and what one pod on one node would take of it."""

from collections.abc import Iterable, Iterator, Mapping

import msgspec

from gpusched.core.codes import Reason
from gpusched.core.node import Node
from gpusched.core.usage import Holder, QuotaUse
from gpusched.placement.request import Request
from gpusched.policy.model import Group, Quota
from gpusched.policy.resolution import Resolution
from gpusched.state.cluster import Cluster


class Draw(msgspec.Struct, frozen=True):
    """What a pod takes of a quota: slots by family (None for an unknown one), and memory, None when unknown."""

    families: tuple[tuple[str | None, int], ...]
    memory_mib: int | None

    @property
    def slots(self) -> int:
        """Slots over all families."""
        return sum(slots for _, slots in self.families)


class Excess(msgspec.Struct, frozen=True):
    """A limit that a draw exceeds: `key` as the quota writes it, a family or `*`, empty for that of memory in MiB."""

    key: str
    used: int
    asked: int
    limit: int


class Ledger(msgspec.Struct, frozen=True):
    """What a namespace has taken. A pod without a known family stands under each family it may come to use, so
    `total` can be less than their sum; `unknown` slots stand against every family.
    """

    families: Mapping[str, int] = {}
    unknown: int = 0
    total: int = 0
    memory_mib: int = 0

    def has_room(self, draw: Draw, resolution: Resolution) -> bool:
        """Whether the draw stays within every limit; what is unknown of it is taken as nothing."""
        return next(self.exceeded(draw, resolution), None) is None

    def exceeded(self, draw: Draw, resolution: Resolution) -> Iterator[Excess]:
        """The limits that the draw would exceed, those of families first."""
        quota, memory = resolution.quota or Quota(), resolution.quota_memory_mib
        limits = dict(quota.families)
        for family, slots in draw.families:
            used = self.families.get(family or "", 0) + self.unknown
            if family is not None and family in limits and used + slots > limits[family]:
                yield Excess(family, used, slots, limits[family])
        if quota.total is not None and self.total + draw.slots > quota.total:
            yield Excess("*", self.total, draw.slots, quota.total)
        if memory is not None and self.memory_mib + (draw.memory_mib or 0) > memory:
            yield Excess("", self.memory_mib, draw.memory_mib or 0, memory)


def ledger_of(use: QuotaUse) -> Ledger:
    """The ledger that says what the cluster state has counted."""
    return Ledger(families=use.families, unknown=use.unknown, total=use.total, memory_mib=use.memory_mib)


def has_quota(resolution: Resolution) -> bool:
    """Whether a quota holds for pods under this policy: there is one, and its mode enforces."""
    limited = resolution.quota is not None or resolution.quota_memory_mib is not None
    return limited and not resolution.exempt and resolution.enforces(Group.QUOTA)


def quota_use_of(request: Request, cluster: Cluster) -> QuotaUse | None:
    """What the other pods of the namespace have taken, None where no quota holds for this pod."""
    if not has_quota(request.resolution):
        return None
    return cluster.quota_use(request.namespace, without=request.uid)


def quota_reason(request: Request, node: Node, use: QuotaUse) -> Reason | None:
    """`quota` when the pod would exceed a limit on this node, `facts-unknown` when that cannot be told."""
    draw, resolution = draw_on(request, node), request.resolution
    if not ledger_of(use).has_room(draw, resolution):
        return Reason.QUOTA
    if resolution.quota_memory_mib is not None and draw.memory_mib is None:
        return Reason.FACTS_UNKNOWN
    by_family = resolution.quota is not None and resolution.quota.families
    if by_family and any(family is None for family, _ in draw.families):
        return Reason.FACTS_UNKNOWN
    return None


def draw_on(request: Request, node: Node) -> Draw:
    """What the pod would take on this node: its claim per slot, a slot's part of its device where it has none."""
    families: dict[str | None, int] = {}
    memory: int | None = 0
    for resource, slots in request.demand.slots.items():
        pool = node.pool(resource)
        family = None if pool is None else pool.family
        families[family] = families.get(family, 0) + slots
        part = request.demand.claim_mib
        if part is None and pool is not None:
            part = pool.slot_memory_mib
        memory = None if memory is None or part is None else memory + part * slots
    return Draw(families=tuple(sorted(families.items(), key=lambda item: item[0] or "")), memory_mib=memory)


def use_after(use: QuotaUse, namespace: str, node: Node, leaving: Iterable[Holder]) -> QuotaUse:
    """What the namespace has taken once these holders of the node are gone; those of other namespaces do not count."""
    families, unknown, memory = dict(use.families), use.unknown, use.memory_mib
    for holder in leaving:
        if holder.namespace != namespace:
            continue
        for resource, slots in holder.slots.items():
            pool = node.pool(resource)
            if pool is None or pool.family is None:
                unknown -= slots
            else:
                families[pool.family] = families.get(pool.family, 0) - slots
            part = holder.claim_mib
            if part is None and pool is not None:
                part = pool.slot_memory_mib
            memory -= (part or 0) * slots
    return msgspec.structs.replace(use, families=families, unknown=unknown, memory_mib=memory)
