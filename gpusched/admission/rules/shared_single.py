"""More than one slot in one container where slots are shares of one device and further shares give nothing.

NVIDIA k8s-device-plugin: under MPS, and under time-slicing with failRequestsGreaterThanOne (always on GKE), a container
that asks for more than one shared slot fails on the node.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from gpusched.admission.admission import Context
from gpusched.admission.lower import unshared_requirement
from gpusched.admission.messages import listed, quoted
from gpusched.admission.rules.objection import Force, Objection
from gpusched.admission.rules.present import serving_pools
from gpusched.core.codes import Code
from gpusched.core.demand import Demand
from gpusched.core.pod import Pod
from gpusched.core.pool import SHARED_KINDS, Pool, Sharing
from gpusched.core.resources import is_shared_name, mig_profile
from gpusched.policy.model import Group

_GKE: Final = "gke"
_PARTS: Final = {Sharing.TIME_SLICING: "shared GPUs", Sharing.MIG: "MIG slices"}


def shared_single(pod: Pod, demand: Demand, ctx: Context) -> tuple[Objection, ...]:
    """Object where policy allows shared pools only, or the name says shared; warn where present pools are divided."""
    found = (_of_resource(pod, demand, resource, ctx) for resource in sorted(demand.slots))
    return tuple(objection for objection in found if objection is not None)


def _of_resource(pod: Pod, demand: Demand, resource: str, ctx: Context) -> Objection | None:
    asking = [(item.name, item.slots.get(resource, 0)) for item in demand.containers]
    container, most = max(asking, key=lambda pair: pair[1], default=("", 0))
    if most < 2:
        return None
    asks = f"container {quoted(container)} asks {quoted(resource)}: {most}"
    allowed = ctx.resolution.wanted.sharing
    if allowed is not None and _single(allowed, ctx):
        return _by_policy(asks, f"{_allower(ctx, allowed)} allows only {listed(sorted(allowed))}")
    if is_shared_name(resource):
        return _by_name(asks, ctx)
    pools = serving_pools(pod, resource, ctx)
    return _by_nodes(pools, asks, ctx) or _in_parts(pools, asks, resource, demand, ctx)


def _single(kinds: Iterable[Sharing], ctx: Context) -> bool:
    known = frozenset(kinds)
    sliced_freely = ctx.config.time_slicing_single is False and Sharing.TIME_SLICING in known
    return bool(known) and known <= SHARED_KINDS and not sliced_freely


def _by_policy(asks: str, allows: str) -> Objection:
    return Objection(
        Code.SHARED_SINGLE,
        f"{asks}; {allows}, where one container gets one slot. Ask for 1 or split it over containers.",
        f"{asks}; {allows}. Ask for 1.",
        group=Group.SHARING,
    )


def _by_name(asks: str, ctx: Context) -> Objection | None:
    if ctx.config.time_slicing_single is False:
        return None
    force = Force.POLICY if ctx.config.time_slicing_single else Force.ADVICE
    full = f"{asks}, but further shares of a GPU give a container nothing. Ask for 1."
    return Objection(Code.SHARED_SINGLE, full, f"{asks}, all shares of one GPU. Ask for 1.", force, Group.SHARING)


def _by_nodes(pools: Sequence[Pool], asks: str, ctx: Context) -> Objection | None:
    kinds = {pool.sharing for pool in pools}
    if not pools or not all(pool.shared and pool.sharing in SHARED_KINDS for pool in pools):
        return None
    if Sharing.TIME_SLICING in kinds and ctx.config.time_slicing_single is False:
        return None
    fails = ctx.config.time_slicing_single or kinds == {Sharing.MPS} or _GKE in ctx.facts.dialects
    why = "would fail on the node" if fails else "gives no more than one does"
    full = f"{asks}; all present pools are shared, where this {why}. Ask for 1."
    return Objection(Code.SHARED_SINGLE, full, f"{asks}; on shared GPUs this {why}. Ask for 1.", Force.ADVICE)


def _in_parts(pools: Sequence[Pool], asks: str, resource: str, demand: Demand, ctx: Context) -> Objection | None:
    """Several slots that may turn out to be parts of GPUs, though the resource is not named after a MIG profile.

    A CUDA process uses one MIG device (NVIDIA MIG User Guide, "CUDA Device Enumeration").
    """
    if mig_profile(resource) is not None:
        return None
    large = [pool for pool in pools if pool.slots >= demand.slots[resource]]
    kinds = {pool.sharing for pool in large if pool.divided} & _landing(demand, ctx)
    if kinds and any(pool.sharing is Sharing.NONE and not pool.divided for pool in large):
        parts = " or ".join(_PARTS[kind] for kind in Sharing if kind in kinds)
        cure = "Set gpusched.io/sharing: none."
        return Objection(
            Code.SHARED_SINGLE,
            f"{asks}; it may get {parts}. {cure}",
            f"several slots may be {parts}. {cure}",
            Force.ADVICE,
        )
    if Sharing.MIG in kinds and all(pool.divided for pool in large):
        full = f"{asks}; a CUDA process uses one MIG slice. Ask for 1."
        return Objection(Code.SHARED_SINGLE, full, "a CUDA process uses one MIG slice. Ask for 1.", Force.ADVICE)
    return None


def _landing(demand: Demand, ctx: Context) -> frozenset[Sharing]:
    """Kinds of divided pools where several slots of one container are neither refused nor kept off nor wanted so."""
    free = ctx.config.time_slicing_single is None and _GKE not in ctx.facts.dialects
    kept_off = ctx.config.lowering_enabled and unshared_requirement(demand, ctx) is not None
    return frozenset({Sharing.MIG, Sharing.TIME_SLICING} if free and not kept_off else {Sharing.MIG})


def _allower(ctx: Context, allowed: frozenset[Sharing]) -> str:
    names = (
        layer.name for layer in ctx.resolution.layers if layer.policy.sharing and allowed >= {*layer.policy.sharing}
    )
    own = ctx.resolution.own.policy.sharing
    return quoted(next(names, "pod" if own else "policy"))
