"""Pods that would take any GPU in a cluster whose GPUs are very unequal."""

from typing import Final

from gpusched.admission.admission import Context
from gpusched.admission.messages import quoted
from gpusched.admission.rules.objection import Force, Objection
from gpusched.admission.rules.present import serving_pools
from gpusched.core.codes import Code
from gpusched.core.demand import Demand
from gpusched.core.pod import Pod

#: Between the memory of one generation's cards lies a factor of two or three; four is a slice beside a card.
_UNEQUAL: Final = 4


def unspecific(pod: Pod, demand: Demand, ctx: Context) -> tuple[Objection, ...]:
    """Warn when no rule bounds family, product or memory and eligible slots differ in memory fourfold or more."""
    wanted = ctx.resolution.wanted
    bounded = wanted.families or wanted.products or wanted.min_memory or wanted.max_memory
    if bounded or ctx.resolution.own.claim_mib is not None or not ctx.facts.known:
        return ()
    found = (_of_resource(pod, resource, ctx) for resource in sorted(demand.slots))
    return tuple(objection for objection in found if objection is not None)


def _of_resource(pod: Pod, resource: str, ctx: Context) -> Objection | None:
    memories = [pool.visible_memory_mib for pool in serving_pools(pod, resource, ctx)]
    known = [memory for memory in memories if memory]
    if not known or max(known) < _UNEQUAL * min(known):
        return None
    spread = f"{quoted(resource)} here has {min(known) / 1024:.1f}Gi to {max(known) / 1024:.1f}Gi"
    return Objection(
        Code.UNSPECIFIC,
        f"pod may land on a small slice: {spread}. Set gpusched.io/min-gpu-memory or gpusched.io/families.",
        f"{spread}. Set gpusched.io/min-gpu-memory.",
        Force.ADVICE,
    )
