"""Pods that none of the nodes of today could ever serve, even when empty."""

from typing import Final

from gpusched.admission.admission import Context
from gpusched.admission.messages import quoted
from gpusched.admission.rules.objection import Force, Objection
from gpusched.admission.rules.present import could_serve, eligible_nodes
from gpusched.core.codes import Code
from gpusched.core.demand import Demand
from gpusched.core.pod import Pod

_RULES: Final = "no present node with such GPUs meets the rules of pod and namespace"


def no_node(pod: Pod, demand: Demand, ctx: Context) -> tuple[Objection, ...]:
    """Warn when the cluster is known and no node fits. Taints, other resources and usage are not looked at."""
    if not ctx.facts.known or not demand.total:
        return ()
    if any(could_serve(node, demand, ctx) for node in eligible_nodes(pod, ctx)):
        return ()
    why = _shortage(demand, ctx) or _unmatched(pod, ctx) or _RULES
    return (Objection(Code.NO_NODE, f"{why}. Autoscaled nodes may.", f"{why}.", Force.ADVICE),)


def _shortage(demand: Demand, ctx: Context) -> str | None:
    for resource, slots in sorted(demand.slots.items()):
        pools = [pool for group in ctx.facts.groups if (pool := group.nodes[0].pool(resource)) is not None]
        most = max((pool.slots for pool in pools), default=0)
        if not most:
            return f"no present node offers {quoted(resource)}"
        if most < slots:
            return f"no present node has {quoted(resource)}: {slots}; the largest has {most}"
    return None


def _unmatched(pod: Pod, ctx: Context) -> str | None:
    """An entry of the pod's node selector that no node has, whatever its GPUs."""
    for key, value in sorted(pod.spec.node_selector.items()):
        nodes = [node for group in ctx.facts.groups for node in group.distinct((key,))]
        if all(node.object.labels.get(key) != value for node in nodes):
            return f"no present node is labelled {quoted(key)}={quoted(value)}"
    return None
