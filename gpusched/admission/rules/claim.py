"""The memory claim of a pod, against its own request and against what the slots of today could give at most."""

from gpusched.admission.admission import Context
from gpusched.admission.messages import quoted
from gpusched.admission.rules.malformed import described
from gpusched.admission.rules.objection import Force, Objection
from gpusched.admission.rules.present import serving_pools
from gpusched.core.claims import largest_possible_claim
from gpusched.core.codes import Code
from gpusched.core.demand import Demand
from gpusched.core.pod import Pod
from gpusched.core.quantity import format_mib
from gpusched.core.usage import PoolUse

_KEY = "gpusched.io/gpu-memory"


def memory_claim(pod: Pod, demand: Demand, ctx: Context) -> tuple[Objection, ...]:
    """Object to a claim that cannot be read or has no GPU to be on; warn of one that no present slot can give."""
    own = ctx.resolution.own
    if own.claim_fault is not None:
        return (Objection(Code.CLAIM, f"pod has {described(own.claim_fault)}.", force=Force.MALFORMED),)
    if own.claim_mib is None:
        return ()
    if not demand.total:
        full = f"pod has {_KEY} but asks for no GPU. Add nvidia.com/gpu: 1 under resources.limits or drop the claim."
        return (
            Objection(Code.CLAIM, full, f"pod has {_KEY} but asks for no GPU. Drop it or add a GPU.", Force.MALFORMED),
        )
    found = (_too_large(pod, demand, resource, own.claim_mib, ctx) for resource in sorted(demand.slots))
    return tuple(objection for objection in found if objection is not None)


def _too_large(pod: Pod, demand: Demand, resource: str, claim: int, ctx: Context) -> Objection | None:
    pools = serving_pools(pod, resource, ctx)
    slots = demand.slots[resource]
    possible = [
        largest_possible_claim(pool, PoolUse(), slots, ctx.config.claim_reserve, ctx.config.claim_above_slot)
        for pool in pools
    ]
    known = [amount for amount in possible if amount is not None]
    if not known or len(known) < len(possible) or claim <= max(known):
        return None
    most = max(known)
    cure = f"Largest possible: {format_mib(most)}." if most > 0 else "None gives any."
    return Objection(
        Code.CLAIM,
        f"claim {format_mib(claim)} is more than any present slot of {quoted(resource)} can give. {cure}",
        f"claim {format_mib(claim)} is more than any present slot can give. {cure}",
        Force.ADVICE,
    )
