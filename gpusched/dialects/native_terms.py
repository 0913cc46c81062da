"""Policy in the words of autoscalers: terms over the labels that a node has before it is one.

An autoscaler plans with templates, which carry the cloud's own labels and not yet gpusched's. Each term says what a
new node must be so that it can satisfy the constraints later on; nothing that a template cannot show is asked.

What made an autoscaler buy a node must go on to hold on that node, or it buys another, and another. So a term stays
true for the node that comes of a template, whatever is learnt of it, and the extender decides there. Clouds name a
model, and not its variant, how it will be shared, how much of it a container sees, or its driver; where a policy asks
for the family alone they cannot be wrong, and a term ends with the device's own facts: `gpusched.io/sharing` is the
last of them to be known.
"""

from collections.abc import Callable, Iterable
from typing import Final

from gpusched.core.card import Card
from gpusched.core.catalogue import find, products_overlap
from gpusched.core.constraints import Constraints
from gpusched.core.names import PREFIX
from gpusched.core.pool import Sharing
from gpusched.core.selector import Operator, Requirement
from gpusched.dialects import coreweave, eks, gke, karpenter
from gpusched.dialects.clouds import INSTANCE_TYPE_KEYS
from gpusched.dialects.instance_types import INSTANCE_TYPES
from gpusched.dialects.native_names import COREWEAVE_CLASSES, EC2_GPUS, EKS_ACCELERATORS, NAP_GPUS

Term = tuple[Requirement, ...]

_UNSETTLED: Final = Requirement(f"{PREFIX}sharing", Operator.DOES_NOT_EXIST)
#: A real device reports up to this much more or less than its nominal size.
_TOLERANCE_PERCENT: Final = 8
#: Kinds under which a container sees a whole card.
_WHOLE: Final = frozenset({Sharing.NONE, Sharing.TIME_SLICING})


def native_terms(constraints: Constraints, dialects: frozenset[str]) -> tuple[Term, ...]:
    """Terms of which a template must satisfy one, in the order of the dialects' names; empty for none.

    A dialect in which no name satisfies the constraints has no term. Node labels, versions and, but for GKE, sharing
    are not asked: templates do not show them.
    """
    terms: list[Term] = []
    # The family alone is certain from a model's name.
    certain = constraints == Constraints(families=constraints.families)
    for name in sorted(dialects & _DIALECTS.keys()):
        terms += [(*term, _UNSETTLED) if certain else term for term in _DIALECTS[name](constraints)]
    return tuple(dict.fromkeys(terms))


def fits_card(constraints: Constraints, product: str) -> bool:
    """Whether a node with this product could satisfy the family, product and memory rules."""
    card = find(product)
    if constraints.families is not None and (card is None or card.family not in constraints.families):
        return False
    if not all(any(products_overlap(wanted, product) for wanted in side) for side in constraints.products):
        return False
    return _fits_memory(constraints, card)


def _fits_memory(constraints: Constraints, card: Card | None) -> bool:
    nominal = card.memory_mib if card else None
    if nominal is None:
        return True
    largest = nominal * (100 + _TOLERANCE_PERCENT) // 100
    smallest = nominal * (100 - _TOLERANCE_PERCENT) // 100
    if constraints.min_memory is not None and largest < constraints.min_memory.mib:
        return False
    # A slice of a card may be small enough where the card is not.
    whole = constraints.sharing is not None and constraints.sharing <= _WHOLE
    return not (whole and constraints.max_memory is not None and smallest > constraints.max_memory.mib)


def _named(key: str, names: Iterable[tuple[str, str]], constraints: Constraints) -> Term | None:
    """`key` in those names whose product fits; None when there is none."""
    fitting = sorted({name for name, product in names if fits_card(constraints, product)})
    return (Requirement(key, Operator.IN, tuple(fitting)),) if fitting else None


def _gke(constraints: Constraints) -> list[Term]:
    term = _named(gke.ACCELERATOR, gke.MODELS.items(), constraints)
    return [(*term, *_gke_sharing(constraints.sharing))] if term else []


def _gke_sharing(allowed: frozenset[Sharing] | None) -> Term:
    """GKE labels a node pool's sharing when it makes it, so a template shows it."""
    if allowed is None:
        return ()
    words = {Sharing.TIME_SLICING: "time-sharing", Sharing.MPS: "mps"}
    refused = tuple(sorted(word for kind, word in words.items() if kind not in allowed))
    term: list[Requirement] = []
    if not allowed & {Sharing.NONE, Sharing.MIG}:
        term.append(Requirement(gke.STRATEGY, Operator.IN, tuple(sorted(words[kind] for kind in allowed))))
    elif len(refused) == len(words):
        term.append(Requirement(gke.STRATEGY, Operator.DOES_NOT_EXIST))
    elif refused:
        term.append(Requirement(gke.STRATEGY, Operator.NOT_IN, refused))
    if allowed == {Sharing.MIG}:
        term.append(Requirement(gke.PARTITION, Operator.EXISTS))
    elif allowed == {Sharing.NONE}:
        term.append(Requirement(gke.PARTITION, Operator.DOES_NOT_EXIST))
    return tuple(term)


def _ec2(scheme: karpenter.Scheme) -> Callable[[Constraints], list[Term]]:
    def terms(constraints: Constraints) -> list[Term]:
        term = _named(scheme.key("name"), EC2_GPUS, constraints)
        if term is None:
            return []
        least, most = _sizes(constraints)
        if constraints.min_memory is not None:
            least = max(least, constraints.min_memory.mib)
        bounds: list[Requirement] = []
        # The published figure may be that much below or above what the driver reports.
        if least:
            floor = least * (100 - _TOLERANCE_PERCENT) // 100 - 1
            bounds.append(Requirement(scheme.key("memory"), Operator.GT, (str(max(floor, 0)),)))
        if most:
            ceiling = most * (100 + _TOLERANCE_PERCENT) // 100 + 1
            bounds.append(Requirement(scheme.key("memory"), Operator.LT, (str(ceiling),)))
        return [(*term, *bounds)]

    return terms


def _sizes(constraints: Constraints) -> tuple[int, int]:
    """The least and the most MiB of the cards that fit, where one name alone has any; each 0 unless a card of the same
    name that does not fit is below, or above.
    """
    fitting: dict[str, list[int]] = {}
    others: dict[str, list[int]] = {}
    for name, product in EC2_GPUS:
        card = find(product)
        side = fitting if fits_card(constraints, product) else others
        side.setdefault(name, []).append((card.memory_mib if card else None) or 0)
    if len(fitting) != 1:
        return 0, 0
    ((name, sizes),) = fitting.items()
    smaller = any(size < min(sizes) for size in others.get(name, ()))
    larger = any(size > max(sizes) for size in others.get(name, ()))
    return min(sizes) if smaller else 0, max(sizes) if larger else 0


def _by_name(key: str, names: Iterable[tuple[str, str]]) -> Callable[[Constraints], list[Term]]:
    pairs = tuple(names)

    def terms(constraints: Constraints) -> list[Term]:
        term = _named(key, pairs, constraints)
        return [term] if term else []

    return terms


def _by_instance_type(cloud: str) -> Callable[[Constraints], list[Term]]:
    return _by_name(INSTANCE_TYPE_KEYS[0], [(one.name, one.product) for one in INSTANCE_TYPES if one.cloud == cloud])


def _eks(constraints: Constraints) -> list[Term]:
    """Node groups show the user's accelerator label if there is one, and the instance type always."""
    return _by_name(eks.ACCELERATOR, EKS_ACCELERATORS)(constraints) + _by_instance_type("aws")(constraints)


_DIALECTS: Final[dict[str, Callable[[Constraints], list[Term]]]] = {
    "aks": _by_instance_type("azure"),
    "azure-nap": _by_name(karpenter.AZURE.key("name"), NAP_GPUS),
    "coreweave": _by_name(coreweave.CLASS, COREWEAVE_CLASSES),
    "eks": _eks,
    "eks-auto": _ec2(karpenter.EKS_AUTO),
    "gke": _gke,
    "karpenter-aws": _ec2(karpenter.AWS),
}
