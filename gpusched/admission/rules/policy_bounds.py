"""What the pod asks for against what each layer of policy allows: family, product, memory, sharing and versions."""

from collections.abc import Iterator
from typing import Final

from gpusched.admission.admission import Context
from gpusched.admission.messages import listed, quoted
from gpusched.admission.rules.asked import Ask, Clause, Term, clauses, families_of_products, own_products
from gpusched.admission.rules.objection import Objection
from gpusched.core.catalogue import products_overlap
from gpusched.core.codes import Code
from gpusched.core.constraints import MemoryBound
from gpusched.core.demand import Demand
from gpusched.core.pod import Pod
from gpusched.core.version import format_cuda
from gpusched.policy.model import Group, Layer, Policy
from gpusched.policy.resolution import Conflict

CODES: Final = {
    Group.FAMILY: Code.POLICY_FAMILY,
    Group.PRODUCT: Code.POLICY_PRODUCT,
    Group.MEMORY: Code.POLICY_MEMORY,
    Group.SHARING: Code.POLICY_SHARING,
    Group.VERSION: Code.POLICY_VERSION,
    Group.MAX_GPUS: Code.POLICY_MAX_GPUS,
}
"""Codes of the groups whose sides may contradict each other."""

_POD: Final = "pod"
_ITSELF: Final = "its own annotation"
_FAMILIES_CURE: Final = "Change gpusched.io/families."
_ANNOTATIONS: Final = {
    Group.FAMILY: "Set gpusched.io/families to one of these.",
    Group.PRODUCT: "Set gpusched.io/products to one of these.",
    Group.MEMORY: "Set gpusched.io/min-gpu-memory and max-gpu-memory within that.",
    Group.SHARING: "Set gpusched.io/sharing to one of these.",
    Group.VERSION: "Lower gpusched.io/min-cuda-version or min-driver-version.",
}
"""The smallest change to a pod's own annotation, by group."""
#: Names of MIG profiles round the memory of the instance up, by a tenth at most.
_PROFILE_PERCENT: Final = 90

Breach = tuple[str, str]
"""Who allows what, as texts."""


def policy_conflicts(_pod: Pod, demand: Demand, ctx: Context) -> tuple[Objection, ...]:
    """Object to sides that leave nothing between them, for pods that ask for a GPU."""
    if not demand.total:
        return ()
    return tuple(_of_conflict(conflict) for conflict in ctx.resolution.conflicts)


def asks_outside_policy(pod: Pod, demand: Demand, ctx: Context) -> tuple[Objection, ...]:
    """Object to resource names, node selectors, required node affinity and products that no layer's rules admit."""
    if not demand.total:
        return ()
    own = ctx.resolution.own.policy
    layers = (*ctx.resolution.layers, Layer(_ITSELF, own))
    asked = [*clauses(pod, demand, ctx.resources), own_products(own)]
    found = [objection for clause in asked if clause for objection in _of_clause(clause, layers)]
    told = {conflict.group for conflict in ctx.resolution.conflicts}
    return (*found, *_own_families(own, ctx.resolution.layers, told))


def _of_conflict(conflict: Conflict) -> Objection:
    cure = _ANNOTATIONS.get(conflict.group, "") if conflict.asker == _POD else "An admin must change one of them."
    return _objection(
        conflict.group,
        f"{quoted(conflict.asker)} asks for {_list(conflict.asked)}",
        (conflict.allower, _list(conflict.allowed)),
        cure,
    )


def _list(text: str) -> str:
    return listed(part.strip() for part in text.split(","))


def _of_clause(clause: Clause, layers: tuple[Layer, ...]) -> Iterator[Objection]:
    """Objections when every term breaks some rule; those to rules that all terms break, if there are such."""
    broken = [_breaches(term, layers) for term in clause]
    if not all(broken):
        return
    common = [group for group in broken[0] if all(group in breaches for breaches in broken)]
    for group in common or [next(iter(broken[0]))]:
        ask, breach = broken[0][group]
        yield _objection(group, f"pod asks for {quoted(ask.what)}", breach, ask.cure)


def _breaches(term: Term, layers: tuple[Layer, ...]) -> dict[Group, tuple[Ask, Breach]]:
    found: dict[Group, tuple[Ask, Breach]] = {}
    for ask in term:
        for layer in layers:
            for group, allowed in _against(ask, layer.policy):
                found.setdefault(group, (ask, (layer.name, allowed)))
    return found


def _against(ask: Ask, policy: Policy) -> Iterator[tuple[Group, str]]:
    """Groups of the layer that the ask can never satisfy, with what the layer allows."""
    if ask.families is not None and policy.families is not None and ask.families.isdisjoint(policy.families):
        yield Group.FAMILY, listed(policy.families)
    if ask.products and policy.products is not None and not _products_meet(ask.products, policy.products):
        yield Group.PRODUCT, listed(policy.products)
    if ask.vendor and policy.products is not None and _of_other_vendor(ask, policy.products):
        yield Group.PRODUCT, listed(policy.products)
    if (bound := _memory_breach(ask, policy)) is not None:
        yield Group.MEMORY, bound
    if ask.sharing is not None and policy.sharing is not None and ask.sharing.isdisjoint(policy.sharing):
        yield Group.SHARING, listed(policy.sharing)
    if policy.min_cuda is not None and ask.vendor not in {None, "nvidia"}:
        yield Group.VERSION, f"only CUDA {format_cuda(policy.min_cuda)} or later"


def _products_meet(asked: tuple[str, ...], allowed: tuple[str, ...]) -> bool:
    return any(products_overlap(left, right) for left in asked for right in allowed)


def _of_other_vendor(ask: Ask, allowed: tuple[str, ...]) -> bool:
    families = families_of_products(allowed)
    return families is not None and ask.families is not None and ask.families.isdisjoint(families)


def _memory_breach(ask: Ask, policy: Policy) -> str | None:
    if ask.memory_mib is None:
        return None
    low, high = policy.min_memory, policy.max_memory
    if low is not None and ask.memory_mib < low.mib:
        return _at("at least", low)
    if high is not None and ask.whole and ask.memory_mib * _PROFILE_PERCENT // 100 > high.mib:
        return _at("at most", high)
    return None


def _at(word: str, bound: MemoryBound) -> str:
    return f"{word} {quoted(bound.text)}"


def _own_families(own: Policy, layers: tuple[Layer, ...], told: set[Group]) -> Iterator[Objection]:
    """The pod's families against products that a layer allows, none of which is of such a family."""
    if own.families is None or Group.PRODUCT in told:
        return
    for layer in layers:
        allowed = layer.policy.products
        families = families_of_products(allowed or ())
        if allowed and families is not None and families.isdisjoint(own.families):
            breach = (layer.name, listed(allowed))
            yield _objection(Group.PRODUCT, f"pod asks for {listed(own.families)}", breach, _FAMILIES_CURE)
            return


def _objection(group: Group, asks: str, breach: Breach, cure: str) -> Objection:
    allower, allowed = breach
    side = f"{asks}; {quoted(allower)} allows {allowed}."
    return Objection(CODES.get(group, Code.POLICY_MALFORMED), f"{side} {cure}".rstrip(), side, group=group)
