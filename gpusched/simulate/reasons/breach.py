"""Which rule of pod or policy GPUs break, whose rule it is, and what the GPUs have instead, in words."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from gpusched.core.codes import Reason
from gpusched.core.names import FACTS_ANNOTATION, PREFIX
from gpusched.core.pool import Pool
from gpusched.core.quantity import round_mib
from gpusched.placement.allowance import Excess, draw_on, ledger_of, quota_use_of
from gpusched.placement.request import Request
from gpusched.policy.rule import POD, Rule, found, here, rules_in_force
from gpusched.simulate.world import World
from gpusched.state.node_state import NodeState

_PRODUCTS: Final = {"min-cuda-version": "CUDA", "min-driver-version": "driver"}
_ASKED: Final = {"min-gpu-memory": "at least ", "max-gpu-memory": "at most ", "node-selector": "nodes with "}
#: An example of each fact that an administrator may write on a node.
_FACTS: Final = {"family": "ampere", "product": "a100", "gpu-memory": "40960Mi", "sharing": "none"}


def breach(reason: Reason, request: Request, states: Sequence[NodeState]) -> str:
    """The rule that these nodes break: the pod's own first, since he can change that. Without nodes, any of that
    reason; empty where there is none.
    """
    pairs = list(_pools(request, states))
    rules = [(side, rule) for side, rule in rules_in_force(request.resolution) if rule.reason is reason]
    broken = [(side, rule) for side, rule in rules if any(rule.against(*pair) is reason for pair in pairs)]
    for side, rule in broken or rules:
        return _worded(side, rule, pairs)
    return ""


def unknown_fact(request: Request, states: Sequence[NodeState], world: World) -> str:
    """The fact that nobody tells of these nodes, what needs it, and how to write it on a node."""
    pairs = list(_pools(request, states))
    if not pairs:
        return ""
    for side, rule in rules_in_force(request.resolution):
        if any(rule.against(*pair) is Reason.FACTS_UNKNOWN for pair in pairs):
            needs = f"which {rule.name} {rule.value} of {side} needs"
            if not rule.fact:
                return f"{_PRODUCTS[rule.name]} version unknown, {needs}: install GPU Feature Discovery"
            return _unknown(rule.fact, needs)
    for pool, _ in pairs:
        if pool.blocked is Reason.FACTS_UNKNOWN and pool.notes:
            return "; ".join(pool.notes)
    if request.demand.claim_mib is not None:
        needs = f"which the claim {PREFIX}gpu-memory needs"
        if any(pool.device_memory_mib is None for pool, _ in pairs):
            return _unknown("gpu-memory", needs)
        return _unknown("sharing", needs)
    if quota_use_of(request, world.cluster) is not None:
        fact = "gpu-memory" if all(pool.family for pool, _ in pairs) else "family"
        return _unknown(fact, f"which the quota of namespace {request.namespace} needs")
    return ""


def _unknown(fact: str, needs: str) -> str:
    return f'{fact} unknown, {needs}: write it on the node, as {FACTS_ANNOTATION}="{fact}={_FACTS[fact]}"'


def quota(request: Request, states: Sequence[NodeState], world: World) -> str:
    """What of the namespace's quota is used, asked for and allowed on these nodes; empty where none holds."""
    use = quota_use_of(request, world.cluster)
    if use is None:
        return ""
    ledger = ledger_of(use)
    draws = (draw_on(request, state.node) for state in states)
    parts = dict.fromkeys(_over(item) for draw in draws for item in ledger.exceeded(draw, request.resolution))
    return f"quota of namespace {request.namespace}: {'; '.join(parts)}" if parts else ""


def _over(excess: Excess) -> str:
    used, asked, limit = excess.used, excess.asked, excess.limit
    if not excess.key:
        return f"GPU memory {round_mib(used)} of {round_mib(limit)} in use, asks for {round_mib(asked)}"
    if excess.key == "*":
        return f"{used} of {limit} GPUs in use, asks for {asked}"
    return f"{excess.key} {used} of {limit} in use, asks for {asked}"


def _pools(request: Request, states: Sequence[NodeState]) -> Iterator[tuple[Pool, Mapping[str, str]]]:
    """The pools that the pod asks for, of nodes that have slots of them, with the labels of the node."""
    for state in states:
        for resource in request.demand.slots:
            pool = state.node.pool(resource)
            if pool is not None:
                yield pool, state.node.object.labels


def _worded(side: str, rule: Rule, pairs: Sequence[tuple[Pool, Mapping[str, str]]]) -> str:
    side, pools = side.removeprefix("namespace "), [pool for pool, _ in pairs]
    if rule.reason is Reason.VERSION:
        have = found(rule, pools) or "of unknown version"
        return f"{_PRODUCTS[rule.name]} {have}, needs {rule.value} ({rule.name} of {side})"
    asks = f"{side} {'asks for' if side == POD else 'allows'} {_ASKED.get(rule.name, '')}{rule.value}"
    there = here(rule, pools, [labels for _, labels in pairs]) if pairs else ""
    return f"{asks}; {there}" if there else asks
