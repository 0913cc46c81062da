"""Who uses GPUs: slots, claims and pods of every namespace, and what its quota leaves."""

from collections.abc import Iterable, Iterator

import msgspec

from gpusched.placement.allowance import has_quota
from gpusched.placement.quota import places
from gpusched.state.cluster import Cluster
from gpusched.state.node_state import NodeState

ALL_FAMILIES = "*"
MEMORY = "memory"


class NamespaceUse(msgspec.Struct, frozen=True):
    """What the pods of a namespace hold of one family, null where it is unknown; `claimed_mib` sums their claims."""

    namespace: str
    family: str | None
    slots: int
    claimed_mib: int
    pods: int
    nodes: int


class QuotaLine(msgspec.Struct, frozen=True):
    """Use against one limit: slots of a family, slots of all (`*`), or `memory` in MiB. `limit` null is unlimited;
    `enforced` false means that the mode only tells.

    `used` is what pods hold that are on a node or promised one, `pending` what others count for that wait for one
    without the quota gate. `left` is what the quota lets a further pod take, null where there is no limit: slots whose
    family is not known count against each family. It is negative where less than nothing is left.
    """

    namespace: str
    what: str
    used: int
    pending: int
    limit: int | None
    left: int | None
    enforced: bool


class GatedPod(msgspec.Struct, frozen=True):
    """A pod that waits behind the quota gate; `place` counts from 1 among those that want the same."""

    namespace: str
    name: str
    place: int
    resources: dict[str, int]
    claim_mib: int | None


def uses_by_namespace(states: Iterable[NodeState]) -> list[NamespaceUse]:
    """What is held on these nodes, by namespace and family."""
    sums: dict[tuple[str, str | None], list[int]] = {}
    nodes: dict[tuple[str, str | None], set[str]] = {}
    for state in states:
        for holder in state.holders.values():
            taken: dict[str | None, int] = {}
            for resource, slots in holder.slots.items():
                pool = state.node.pool(resource)
                family = pool.family if pool is not None else None
                taken[family] = taken.get(family, 0) + slots
            for family, slots in taken.items():
                found = sums.setdefault((holder.namespace, family), [0, 0, 0])
                found[0] += slots
                found[1] += (holder.claim_mib or 0) * slots
                found[2] += 1
                nodes.setdefault((holder.namespace, family), set()).add(state.node.name)
    return [
        NamespaceUse(*key, slots=slots, claimed_mib=claimed, pods=pods, nodes=len(nodes[key]))
        for key, (slots, claimed, pods) in sorted(sums.items(), key=lambda item: (item[0][0], item[0][1] or ""))
    ]


def quota_lines(cluster: Cluster) -> list[QuotaLine]:
    """Every namespace with a quota or with GPUs in use."""
    names = {record.pod.namespace for record in cluster.pods.values()} | set(cluster.namespaces())
    return [line for name in sorted(names) for line in _lines(name, cluster)]


def _lines(name: str, cluster: Cluster) -> Iterator[QuotaLine]:
    resolution = cluster.resolution(name, {})
    counted, held = cluster.quota_use(name), cluster.quota_use(name, placed=True)
    limits = dict(resolution.quota.families) if resolution.quota is not None else {}
    total = resolution.quota.total if resolution.quota is not None else None

    def line(what: str, used: int, whole: int, limit: int | None, unknown: int = 0) -> QuotaLine:
        left = None if limit is None else limit - whole - unknown
        return QuotaLine(name, what, used, whole - used, limit, left, has_quota(resolution))

    for family in sorted({*limits, *(family for family, slots in counted.families.items() if slots)}):
        used, whole = held.families.get(family, 0), counted.families.get(family, 0)
        yield line(family, used, whole, limits.get(family), counted.unknown)
    if total is not None or counted.unknown:
        yield line(ALL_FAMILIES, held.total, counted.total, total)
    if resolution.quota_memory_mib is not None:
        yield line(MEMORY, held.memory_mib, counted.memory_mib, resolution.quota_memory_mib)


def gated_pods(cluster: Cluster) -> list[GatedPod]:
    """The lines of all namespaces, in the order in which the gates go."""
    found = []
    for record, place in places(cluster):
        slots = dict(sorted(record.demand.slots.items()))
        found.append(GatedPod(record.pod.namespace, record.pod.name, place.place, slots, record.demand.claim_mib))
    return sorted(found, key=lambda pod: pod.namespace)
