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
    limit: int | None


class QuotaView(msgspec.Struct, frozen=True):
    """One namespace. `enforced` False means that the limits only warn.

    `used` counts pods on nodes and pods that wait for one without a quota gate. `gated` are pods that wait for quota.
    """

    namespace: str
    enforced: bool
    used: int
    families: tuple[FamilyQuota, ...]
    memory_used_mib: int
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
    quota, use = resolution.quota, cluster.quota_use(name)
    limits: dict[str, int | None] = {} if quota is None else dict(quota.families)
    rows = [
        FamilyQuota(family, use.families.get(family, 0), limits.get(family))
        for family in sorted(limits.keys() | use.families.keys())
    ]
    if quota is not None and quota.total is not None:
        rows.append(FamilyQuota("*", use.total, quota.total))
    return QuotaView(
        namespace=name,
        enforced=has_quota(resolution),
        used=use.total,
        families=tuple(rows),
        memory_used_mib=use.memory_mib,
        memory_limit_mib=resolution.quota_memory_mib,
        gated=gated,
    )
