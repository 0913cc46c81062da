"""What namespaces hold of their quotas."""

from collections import Counter
from collections.abc import Iterator

import msgspec

from gpusched.placement.allowance import has_quota
from gpusched.policy.resolution import Resolution
from gpusched.serve.view.access import Scope
from gpusched.state.cluster import Cluster


class FamilyQuota(msgspec.Struct, frozen=True):
    """Slots of one family, or of all of them under `*`; `limit` null where there is none."""

    family: str
    used: int
    pending: int
    limit: int | None


class QuotaView(msgspec.Struct, frozen=True):
    """One namespace. `enforced` False means that the limits only warn.

    Used is what pods hold that are on nodes or promised one; pending what others count for that wait for one without a
    quota gate. `gated` are pods that wait for quota.
    """

    namespace: str
    enforced: bool
    used: int
    families: tuple[FamilyQuota, ...]
    memory_used_mib: int
    memory_pending_mib: int
    memory_limit_mib: int | None
    gated: int


def quota_views(cluster: Cluster, scope: Scope) -> Iterator[QuotaView]:
    """Namespaces with a quota that a caller may read, one after the other, by name."""
    gated = Counter(record.pod.namespace for record in cluster.gated())
    for name in sorted(cluster.namespaces()):
        resolution = cluster.resolution(name, {})
        if scope.sees(name) and (resolution.quota is not None or resolution.quota_memory_mib is not None):
            yield _view(cluster, resolution, gated[name])


def _view(cluster: Cluster, resolution: Resolution, gated: int) -> QuotaView:
    name = resolution.namespace
    quota, use, held = resolution.quota, cluster.quota_use(name), cluster.quota_use(name, placed=True)
    limits: dict[str, int | None] = {} if quota is None else dict(quota.families)
    rows = [
        _row(family, held.families.get(family, 0), use.families.get(family, 0), limits.get(family))
        for family in sorted(limits.keys() | use.families.keys())
    ]
    if quota is not None and quota.total is not None:
        rows.append(_row("*", held.total, use.total, quota.total))
    return QuotaView(
        namespace=name,
        enforced=has_quota(resolution),
        used=held.total,
        families=tuple(rows),
        memory_used_mib=held.memory_mib,
        memory_pending_mib=use.memory_mib - held.memory_mib,
        memory_limit_mib=resolution.quota_memory_mib,
        gated=gated,
    )


def _row(family: str, held: int, counted: int, limit: int | None) -> FamilyQuota:
    return FamilyQuota(family, held, counted - held, limit)
