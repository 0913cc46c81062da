"""The memory claim of a pod, against its own request and against what the slots of today could give at most."""

from collections.abc import Collection

from gpusched.admission.admission import Context
from gpusched.admission.messages import quoted
from gpusched.admission.rules.malformed import described
from gpusched.admission.rules.objection import Force, Objection
from gpusched.admission.rules.present import could_serve, eligible_nodes
from gpusched.admission.tolerations import taint_keys
from gpusched.core.claims import largest_possible_claim
from gpusched.core.codes import Code
from gpusched.core.demand import Demand
from gpusched.core.node import Node
from gpusched.core.pod import Pod
from gpusched.core.quantity import format_mib
from gpusched.core.usage import PoolUse
from gpusched.native.taints import untolerated

_KEY = "gpusched.io/gpu-memory"
#: Taints that the node controller sets and takes away again, such as not-ready.
_PASSING = "node.kubernetes.io/"


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
    given = taint_keys(demand.slots, ctx.resources)
    largest: list[int] = []
    today: list[int] = []
    for node in eligible_nodes(pod, ctx):
        if not could_serve(node, demand, ctx) or not _admitted(node, pod, given, ctx, passing=True):
            continue
        amount = _largest(node, resource, demand, ctx)
        if amount is None or claim <= amount:
            return None
        largest.append(amount)
        if _admitted(node, pod, given, ctx, passing=False):
            today.append(amount)
    if not largest:
        return None
    most = max(today or largest)
    cure = f"Largest possible: {format_mib(most)}." if most > 0 else "None gives any."
    return Objection(
        Code.CLAIM,
        f"claim {format_mib(claim)} is more than any present slot of {quoted(resource)} can give. {cure}",
        f"claim {format_mib(claim)} is more than any present slot can give. {cure}",
        Force.ADVICE,
    )


def _largest(node: Node, resource: str, demand: Demand, ctx: Context) -> int | None:
    """The largest claim on this node when it is empty."""
    pool = node.pool(resource)
    if pool is None:
        return None
    slots, config = demand.slots[resource], ctx.config
    return largest_possible_claim(pool, PoolUse(), slots, config.claim_reserve, config.claim_above_slot)


def _admitted(node: Node, pod: Pod, given: Collection[str], ctx: Context, *, passing: bool) -> bool:
    """Whether the pod, tolerating taints of the keys `given` as well, may go to the node; `passing` lets what passes
    be.
    """
    if node.object.unschedulable and not passing:
        return False
    taints = [
        taint
        for taint in node.object.taints
        if taint.key not in given and not (passing and taint.key.startswith(_PASSING))
    ]
    return untolerated((*pod.spec.tolerations, *ctx.config.tolerations), taints) is None
