"""The most GPU slots that one pod may ask for."""

from gpusched.admission.admission import Context
from gpusched.admission.messages import listed, quoted
from gpusched.admission.rules.objection import Objection
from gpusched.core.codes import Code
from gpusched.core.demand import Demand
from gpusched.core.pod import Pod
from gpusched.policy.model import Group


def max_gpus(_pod: Pod, demand: Demand, ctx: Context) -> tuple[Objection, ...]:
    """Object to more slots, over all GPU resources, than the tightest layer allows a pod."""
    most = ctx.resolution.max_gpus
    if most is None or demand.total <= most:
        return ()
    asking = [(item.name, sum(item.slots.values())) for item in demand.containers if item.slots]
    by_container = listed(f"{name} {count}" for name, count in asking)
    short = f"pod asks {demand.total} GPU{'s' if demand.total > 1 else ''}"
    asks = f"{short} ({by_container})" if len(asking) > 1 else short
    allows = f"{_allower(ctx, most)} allows {most} per pod"
    cure = f"Ask for {most} or split the pod" if len(asking) > 1 else f"Ask for {most}"
    if not most:
        cure = "Remove the GPU request"
    return (
        Objection(
            Code.POLICY_MAX_GPUS,
            f"{asks}; {allows}. {cure}.",
            f"{short}; {allows}. {cure}.",
            group=Group.MAX_GPUS,
        ),
    )


def _allower(ctx: Context, most: int) -> str:
    names = (layer.name for layer in ctx.resolution.layers if layer.policy.max_gpus == most)
    return quoted(next(names, "policy").removeprefix("namespace "))
