"""Lowering: static GPU rules become required node affinity, which scheduler and autoscalers judge by themselves.

Affinity is only ever added to. Each of the user's terms is AND-ed with alternatives that are OR-ed: the labels that
gpusched writes; nodes whose pools disagree, where the extender decides; and, for nodes that an autoscaler knows only
as a template, the native labels of each dialect in this cluster.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final

import msgspec

from gpusched.admission.admission import Context
from gpusched.admission.patch import PatchBuilder, Steps
from gpusched.admission.scheduler_name import calls_gpusched
from gpusched.core.catalogue import PRODUCTS
from gpusched.core.constraints import Constraints
from gpusched.core.demand import Demand
from gpusched.core.names import PREFIX
from gpusched.core.pod import Pod
from gpusched.core.pool import SHARED_KINDS, Sharing
from gpusched.core.products import product_matches
from gpusched.core.selector import Operator, Requirement
from gpusched.dialects.native_terms import native_terms
from gpusched.policy.describe import describe_static
from gpusched.policy.label_syntax import is_value
from gpusched.policy.layers import GROUP_FIELDS, fields_of, without
from gpusched.policy.model import Group, Layer
from gpusched.policy.resolution import Resolution

Term = tuple[Requirement, ...]

_REQUIRED: Final[Steps] = ("spec", "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
_TERMS: Final[Steps] = (*_REQUIRED, "nodeSelectorTerms")
#: Terms that a pod's affinity may grow to. With more of them it is narrowed to labelled nodes alone: the API server
#: stores no object of megabytes.
_MOST_TERMS: Final = 1_000
_MIXED: Final = Requirement(f"{PREFIX}mixed", Operator.IN, ("true",))


class Lowered(msgspec.Struct, frozen=True):
    """What became of it. `text` describes the rules lowered, empty when none were, `why` then says why not.

    `changed` is whether the pod's terms had to be edited; false for a pod that carries all of it already.
    """

    text: str = ""
    why: str = ""
    changed: bool = False


def lower(builder: PatchBuilder, pod: Pod, demand: Demand, ctx: Context) -> Lowered:
    """Patch the pod's required node affinity."""
    unshared = unshared_requirement(demand, ctx)
    constraints = ctx.resolution.constraints
    if constraints.empty and unshared is None:
        return Lowered(why="no static rule")
    why = _exempt(pod, ctx)
    if why:
        return Lowered(why=why)
    choices = alternatives(constraints, unshared, ctx)
    changed = _add_terms(builder, choices) if choices else None
    if changed is None:
        return Lowered(why="the pod's node affinity cannot be added to")
    return Lowered(text=_described(ctx.resolution, unshared), changed=changed)


def alternatives(constraints: Constraints, unshared: Requirement | None, ctx: Context) -> tuple[Term, ...]:
    """Terms of which a node must satisfy one, the normalised labels first; empty when no node could."""
    present = frozenset(pool.product for pool in ctx.facts.pools if pool.product is not None)
    return _alternatives(constraints, unshared, present, _dialects(ctx))


@lru_cache(maxsize=1024)
def _alternatives(
    constraints: Constraints, unshared: Requirement | None, present: frozenset[str], dialects: frozenset[str]
) -> tuple[Term, ...]:
    everywhere = (*constraints.node_selector, *(() if unshared is None else (unshared,)))
    facts_only = msgspec.structs.replace(constraints, node_selector=())
    if facts_only.empty:
        return (everywhere,)
    normalised = _normalised(facts_only, present)
    found = [] if normalised is None else [normalised]
    found.append((_MIXED,))
    found.extend(native_terms(facts_only, dialects))
    return tuple((*term, *everywhere) for term in found)


def unshared_requirement(demand: Demand, ctx: Context) -> Requirement | None:
    """Not a shared GPU, where a container asks for several slots and both kinds of pools are present.

    Nodes whose sharing is unknown carry no label and stay allowed.
    """
    if not ctx.resolution.enforces(Group.SHARING):
        return None
    refused = SHARED_KINDS - {Sharing.TIME_SLICING} if ctx.config.time_slicing_single is False else SHARED_KINDS
    for resource in demand.slots:
        if demand.largest_container(resource) <= 1:
            continue
        kinds = {pool.sharing for pool in ctx.facts.pools if pool.resource == resource}
        if kinds & refused and kinds - {None} - SHARED_KINDS:
            return Requirement(f"{PREFIX}sharing", Operator.NOT_IN, tuple(sorted(refused)))
    return None


@lru_cache(maxsize=1024)
def _described(resolution: Resolution, unshared: Requirement | None) -> str:
    """The rules lowered, each with the layer that says so: `families=hopper (namespace team-a)`."""
    loose = fields_of(group for group in GROUP_FIELDS if not resolution.enforces(group))
    layers: list[Layer] = []
    for layer in resolution.layers:
        policy = without(layer.policy, loose)
        held = set(policy.node_selector or ()) <= set(resolution.constraints.node_selector)
        layers.append(Layer(layer.name, policy if held else without(policy, ("node_selector",))))
    texts = [describe_static([*layers, Layer("pod", resolution.own.policy)])]
    if unshared is not None:
        texts.append(f"sharing!={','.join(unshared.values)} (several slots in one container)")
    return "; ".join(text for text in texts if text)


def _exempt(pod: Pod, ctx: Context) -> str:
    """Why this pod is not lowered, empty when it is."""
    if not ctx.config.lowering_enabled:
        return "lowering is switched off"
    if not ctx.facts.labelled:
        return "the nodes are not labelled yet"
    if "DaemonSet" in (ctx.controller, pod.owner.kind if pod.owner else ""):
        return "a DaemonSet's pods are tied to their nodes"
    if pod.spec.node_name:
        return "spec.nodeName skips the scheduler"
    if not calls_gpusched(pod.spec.scheduler_name, ctx.config):
        return f"scheduler {pod.spec.scheduler_name} has rules of its own"
    return ""


def _dialects(ctx: Context) -> frozenset[str]:
    configured = ctx.config.lowering_dialects
    return ctx.facts.dialects if configured is None else frozenset(configured)


def _normalised(constraints: Constraints, present: frozenset[str]) -> Term | None:
    """Requirements on the labels that gpusched writes; None when no value of one would do."""
    term: list[Requirement] = []
    if constraints.families is not None:
        term.append(_one_of("family", constraints.families))
    if constraints.products:
        term.append(_one_of("product", matching_products(constraints.products, present)))
    if constraints.min_memory is not None:
        term.append(_at_least("visible-memory-mib", constraints.min_memory.mib))
    if constraints.max_memory is not None:
        term.append(Requirement(f"{PREFIX}visible-memory-mib", Operator.LT, (str(constraints.max_memory.mib + 1),)))
    if constraints.sharing is not None:
        term.append(_one_of("sharing", constraints.sharing))
    for name, bound in (("cuda-version", constraints.min_cuda), ("driver-version", constraints.min_driver)):
        if bound is not None:
            term.append(_at_least(name, bound))
    # The API server refuses an In without values.
    return tuple(term) if all(requirement.values for requirement in term) else None


def matching_products(sides: tuple[tuple[str, ...], ...], present: frozenset[str]) -> frozenset[str]:
    """Products that satisfy every side: of the catalogue, those present on nodes, and the words of the rule itself.

    A label selector cannot match a part of a value, so a rule such as `a100` becomes the list of all that it means.
    """
    words = {word for side in sides for word in side}
    return frozenset(
        product
        for product in words | present | PRODUCTS
        if is_value(product) and all(any(product_matches(word, product) for word in side) for side in sides)
    )


def _one_of(name: str, values: Iterable[str]) -> Requirement:
    return Requirement(PREFIX + name, Operator.IN, tuple(sorted(str(value) for value in values)))


def _at_least(name: str, bound: int) -> Requirement:
    # Gt is strict.
    return Requirement(PREFIX + name, Operator.GT, (str(bound - 1),))


def _add_terms(builder: PatchBuilder, choices: tuple[Term, ...]) -> bool | None:
    """AND each of the user's terms with the choices: whether anything changed, None when there is nothing to add to."""
    if builder.get(*_REQUIRED) is None:
        builder.set(_TERMS, [{"matchExpressions": [_as_json(part) for part in term]} for term in choices])
        return True
    terms = builder.get(*_TERMS)
    if not isinstance(terms, list) or not all(isinstance(term, Mapping) for term in terms):
        return None
    if not any(map(_matches_something, terms)):
        return None
    parts = [[_as_json(part) for part in choice] for choice in choices]
    lacking = [_lacking(term, parts) for term in terms]
    wide = [(index, lacks) for index, lacks in enumerate(lacking) if lacks]
    if len(wide) * len(choices) > _MOST_TERMS:
        narrowed = [_anded(term, lacks[0]) if lacks else term for term, lacks in zip(terms, lacking, strict=True)]
        builder.set(_TERMS, narrowed)
        return True
    for index, lacks in wide:
        for part in lacks[0]:
            builder.append((*_TERMS, index, "matchExpressions"), part)
        for further in lacks[1:]:
            builder.append(_TERMS, _anded(terms[index], further))
    return bool(wide)


def _matches_something(term: Mapping[str, object]) -> bool:
    # A term without requirements matches no node; adding to it would make it match some.
    return bool(term.get("matchExpressions") or term.get("matchFields"))


def _lacking(term: Mapping[str, object], choices: list[list[dict[str, object]]]) -> list[list[dict[str, object]]]:
    """What a term lacks of each choice; nothing where it contains one of them, and is as narrow as it has to be."""
    held = term.get("matchExpressions") or []
    if not _matches_something(term) or not isinstance(held, list):
        return []
    missing = [[part for part in choice if not any(_same(part, other) for other in held)] for choice in choices]
    return missing if all(missing) else []


def _anded(term: Mapping[str, object], parts: list[dict[str, object]]) -> dict[str, object]:
    held = term.get("matchExpressions")
    return {**term, "matchExpressions": [*(held if isinstance(held, list) else []), *parts]}


def _same(part: Mapping[str, object], other: object) -> bool:
    if not isinstance(other, Mapping) or (other.get("key"), other.get("operator")) != (part["key"], part["operator"]):
        return False
    return _values(other) == _values(part)


def _values(requirement: Mapping[str, object]) -> list[str]:
    values = requirement.get("values")
    return sorted(str(value) for value in values) if isinstance(values, list) else []


def _as_json(requirement: Requirement) -> dict[str, object]:
    tree: dict[str, object] = {"key": requirement.key, "operator": str(requirement.operator)}
    return tree | {"values": list(requirement.values)} if requirement.values else tree
