"""Tolerations that a GPU pod gets: for the taints of this cluster's GPU nodes, and the configured ones.

Rule for the first: the API server's ExtendedResourceToleration plugin (plugin/pkg/admission/extendedresourcetoleration)
tolerates the taint whose key is the resource asked for. It is off by default and knows only exact names, so here the
main resource of the vendor counts too, for MIG, shared and renamed resources.
"""

from collections.abc import Iterable

from gpusched.admission.admission import Context
from gpusched.admission.patch import PatchBuilder
from gpusched.core.pod import Pod, Toleration
from gpusched.core.resources import GpuResources
from gpusched.native.taints import tolerates


def add_tolerations(builder: PatchBuilder, pod: Pod, asked: Iterable[str], ctx: Context) -> None:
    """Append what is missing for a pod that asks for the GPU resources `asked`."""
    held = list(pod.spec.tolerations)
    keys = taint_keys(asked, ctx.resources)
    wanted: list[Toleration] = []
    for taint in sorted(ctx.facts.gpu_taints, key=lambda taint: (taint.key, taint.effect, taint.value)):
        if taint.key in keys and not tolerates((*held, *wanted), taint):
            wanted.append(Toleration(key=taint.key, operator="Exists", effect=taint.effect))
    for toleration in ctx.config.tolerations:
        if not any(covers(other, toleration) for other in (*held, *wanted)):
            wanted.append(toleration)
    for toleration in wanted:
        builder.append(("spec", "tolerations"), _as_json(toleration))


def taint_keys(asked: Iterable[str], resources: GpuResources) -> frozenset[str]:
    """Keys of taints that guard these resources: the names themselves and the vendor's main resource."""
    keys = set(asked)
    for name in tuple(keys):
        vendor = resources.vendor(name)
        if vendor is not None:
            keys.add(resources.main(vendor))
    return frozenset(keys)


def covers(wide: Toleration, narrow: Toleration) -> bool:
    """Whether `wide` tolerates every taint that `narrow` does (core/v1 Toleration.ToleratesTaint)."""
    if wide.effect not in ("", narrow.effect):
        return False
    if wide.operator == "Exists":
        return wide.key in ("", narrow.key)
    return (wide.key, wide.operator or "Equal", wide.value) == (narrow.key, narrow.operator or "Equal", narrow.value)


def _as_json(toleration: Toleration) -> dict[str, object]:
    fields = {
        "key": toleration.key,
        "operator": toleration.operator,
        "value": toleration.value,
        "effect": toleration.effect,
    }
    return {name: value for name, value in fields.items() if value}
