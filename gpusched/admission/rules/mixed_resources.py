"""Pods that ask for GPU resources which no node has together."""

from gpusched.admission.admission import Context
from gpusched.admission.messages import listed
from gpusched.admission.rules.objection import Force, Objection
from gpusched.core.codes import Code
from gpusched.core.demand import Demand
from gpusched.core.node import Node
from gpusched.core.pod import Pod


def mixed_resources(_pod: Pod, demand: Demand, ctx: Context) -> tuple[Objection, ...]:
    """Warn of several resources that no present node serves together, or, without a cluster, of several vendors."""
    names = sorted(demand.slots)
    if len(names) < 2 or _together(names, ctx):
        return ()
    where = "no present node serves these together" if ctx.facts.known else "nodes have GPUs of one vendor"
    return (
        Objection(
            Code.MIXED_RESOURCES,
            f"pod asks {listed(names)}; {where}. Ask for one of them or split the pod.",
            f"pod asks {listed(names)}; {where}.",
            Force.ADVICE,
        ),
    )


def _together(names: list[str], ctx: Context) -> bool:
    if not ctx.facts.known:
        return len({ctx.resources.vendor(name) for name in names}) < 2
    return any(all(_offers(group.nodes[0], name) for name in names) for group in ctx.facts.groups)


def _offers(node: Node, resource: str) -> bool:
    pool = node.pool(resource)
    return resource in node.dra_resources or (pool is not None and pool.slots > 0)
