"""Pods that none of the nodes of today could ever serve, even when empty."""

from typing import Final

from gpusched.admission.admission import Context
from gpusched.admission.messages import WARNING_LIMIT, quoted
from gpusched.admission.rules.objection import Force, Objection
from gpusched.admission.rules.present import could_serve, eligible_nodes
from gpusched.core.codes import Code
from gpusched.core.demand import Demand
from gpusched.core.names import LOWERED_ANNOTATION, PREFIX
from gpusched.core.node import Node
from gpusched.core.pod import Pod
from gpusched.dialects.labels import MIXED
from gpusched.policy.rule import POD, here, rules_in_force

#: Characters for the sentence of a warning.
_ROOM: Final = WARNING_LIMIT - len(f"{Code.NO_NODE}: ")
_RULES: Final = "no present node with such GPUs meets the rules of pod and namespace"


def no_node(pod: Pod, demand: Demand, ctx: Context) -> tuple[Objection, ...]:
    """Warn when the cluster is known and no node fits. Taints, other resources and usage are not looked at."""
    if not ctx.facts.known or not demand.total:
        return ()
    if any(could_serve(node, demand, ctx) for node in eligible_nodes(pod, ctx)):
        return ()
    said = _shortage(demand, ctx) or _unmatched(pod, ctx)
    forms = (said,) if said else (*_broken(pod, demand, ctx), _RULES)
    full, short = forms[0], next((form for form in forms if len(form) < _ROOM), forms[-1])
    return (Objection(Code.NO_NODE, f"{full}. Autoscaled nodes may.", f"{short}.", Force.ADVICE),)


def _shortage(demand: Demand, ctx: Context) -> str | None:
    for resource, slots in sorted(demand.slots.items()):
        pools = [pool for group in ctx.facts.groups if (pool := group.nodes[0].pool(resource)) is not None]
        most = max((pool.slots for pool in pools), default=0)
        if not most:
            return f"no present node offers {quoted(resource)}"
        if most < slots:
            return f"no present node has {quoted(resource)}: {slots}; the largest has {most}"
    if not any(_offers(group.nodes[0], demand) for group in ctx.facts.groups):
        asked = " and ".join(f"{quoted(resource)}: {slots}" for resource, slots in sorted(demand.slots.items()))
        return f"no present node has {asked} together"
    return None


def _offers(node: Node, demand: Demand) -> bool:
    pools = [
        (node.pool(resource), slots) for resource, slots in demand.slots.items() if resource not in node.dra_resources
    ]
    return all(pool is not None and pool.slots >= slots for pool, slots in pools)


def _unmatched(pod: Pod, ctx: Context) -> str | None:
    """An entry of the pod's node selector that no node has, whatever its GPUs."""
    for key, value in sorted(pod.spec.node_selector.items()):
        nodes = [node for group in ctx.facts.groups for node in group.distinct((key,))]
        if all(node.object.labels.get(key) != value for node in nodes):
            return f"no present node is labelled {quoted(key)}={quoted(value)}"
    return None


def _broken(pod: Pod, demand: Demand, ctx: Context) -> tuple[str, ...]:
    """The rule that no node with such GPUs meets, or rules of which each is met but not all together; in a long form
    and shorter ones. Nothing where it is neither.
    """
    keys = tuple(sorted({part.key for part in ctx.resolution.constraints.node_selector}))
    nodes = [node for group in ctx.facts.groups for node in group.distinct(keys)]
    pairs = [
        (pool, node.object.labels)
        for node in nodes
        for resource, slots in demand.slots.items()
        if (pool := node.pool(resource)) is not None and pool.slots >= slots and pool.blocked is None
    ]
    at_odds = []
    for side, rule in rules_in_force(ctx.resolution):
        met = [rule.against(*pair) is None for pair in pairs]
        whose = "" if side == POD else f" of {quoted(side)}"
        words = f"{rule.name} {quoted(rule.value)}{whose}"
        if not any(met):
            there = here(rule, [pool for pool, _ in pairs], [labels for _, labels in pairs]) or "unknown here"
            return f"no present node meets {words} ({there})", f"no present node meets {rule.name}{whose}"
        if not all(met):
            at_odds.append((words, f"{rule.name}{whose}" if whose else f"its {rule.name}", rule.name))
    if pod.spec.node_selector or _has_affinity(pod, ctx):
        at_odds.append(("its node selector and affinity", "node selector", "node selector"))
    if len(at_odds) < 2:
        return ()
    together = (" and ".join(dict.fromkeys(words)) for words in zip(*at_odds, strict=True))
    return tuple(f"no present node meets {words} together" for words in together)


def _has_affinity(pod: Pod, ctx: Context) -> bool:
    """Whether the author wrote some. In a pod that comes in again lowered terms stand besides; what is the author's is
    in those for mixed nodes too.
    """
    terms = pod.spec.node_affinity
    if terms is None or LOWERED_ANNOTATION not in pod.annotations:
        return terms is not None
    lowered = ctx.resolution.constraints.node_selector
    parts = [part for term in terms if any(part.key == MIXED for part in term.expressions) for part in term.expressions]
    return any(term.fields for term in terms) or any(
        not part.key.startswith(PREFIX) and part not in lowered for part in parts
    )
