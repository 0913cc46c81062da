"""What kind of GPU a pod asks for by means other than its policy annotations, as far as that is certain.

A clause is a choice among terms, a term a conjunction of asks: a node selector entry is a clause of one term, required
node affinity a clause with its terms, a resource name a clause of one.
"""

from collections.abc import Iterable, Iterator
from functools import cache
from typing import Final

import msgspec

from gpusched.core.catalogue import CARDS, device_memory_mib, find, mig_memory_mib
from gpusched.core.demand import Demand
from gpusched.core.families import FAMILIES, canonical_family, family_vendor
from gpusched.core.pod import Pod
from gpusched.core.pool import SHARED_KINDS, Sharing
from gpusched.core.products import product_matches
from gpusched.core.resources import GpuResources, is_shared_name, mig_profile
from gpusched.core.selector import Operator, Requirement
from gpusched.dialects.asked_keys import family_keys, memory_keys, product_keys, sharing_keys, sharing_kinds
from gpusched.policy.model import Policy

#: Resources, and terms and values of node affinity, that are looked at: a pod may have thousands of them, and while
#: they are judged nobody else is. Filters of the scheduler look at all.
_MOST: Final = 200


class Ask(msgspec.Struct, frozen=True):
    """One certain wish. `what` and `cure` are for messages; `None` means that nothing is said about that fact.

    `families` and `sharing` are what is possible, `products` alternatives; `memory_mib` is the nominal size of the
    device, of which a container sees at most all; `whole` tells that it sees all of it.
    """

    what: str
    cure: str
    families: frozenset[str] | None = None
    products: tuple[str, ...] = ()
    sharing: frozenset[Sharing] | None = None
    memory_mib: int | None = None
    whole: bool = False
    vendor: str | None = None


Term = tuple[Ask, ...]
Clause = tuple[Term, ...]


def clauses(pod: Pod, demand: Demand, resources: GpuResources) -> tuple[Clause, ...]:
    """Everything asked, in an order that depends on names only: resources, node selector, node affinity."""
    found: list[Clause] = [((_of_resource(name, resources),),) for name in sorted(demand.slots)[:_MOST]]
    for key, value in sorted(pod.spec.node_selector.items()):
        ask = _of_requirement(Requirement(key, Operator.IN, (value,)), f"nodeSelector {key}")
        if ask is not None:
            found.append(((ask,),))
    affinity = pod.spec.node_affinity or ()
    values = sum(len(part.values) for term in affinity for part in term.expressions)
    terms = tuple(_asks(term.expressions) for term in affinity) if len(affinity) + values <= _MOST else ()
    if terms and all(terms):
        found.append(terms)
    return tuple(found)


def own_products(policy: Policy) -> Clause:
    """The pod's products annotation as a clause: what follows from it for families and memory."""
    products = policy.products or ()
    ask = Ask(
        ", ".join(products),
        "Change gpusched.io/products.",
        families=families_of_products(products),
        memory_mib=_memory_of(products),
    )
    return ((ask,),) if products else ()


def families_of_products(products: Iterable[str]) -> frozenset[str] | None:
    """Families of every card that one of the patterns could mean; None when a pattern means no known card."""
    found: set[str] = set()
    for pattern in products:
        of_pattern = {card.family for card in CARDS if product_matches(pattern, card.name)}
        card = find(pattern)
        if card is not None:
            of_pattern.add(card.family)
        if not of_pattern:
            return None
        found |= of_pattern
    return frozenset(found) or None


def _asks(requirements: Iterable[Requirement]) -> Term:
    return tuple(_affinity_asks(requirements))


def _affinity_asks(requirements: Iterable[Requirement]) -> Iterator[Ask]:
    for requirement in requirements:
        ask = _of_requirement(requirement, f"node affinity {requirement.key}")
        if ask is not None:
            yield ask


def _of_requirement(requirement: Requirement, where: str) -> Ask | None:
    if requirement.operator is not Operator.IN or not requirement.values:
        return None
    key, values = requirement.key, requirement.values
    ask = Ask(", ".join(values), f"Change {where}.")
    if key in product_keys():
        return msgspec.structs.replace(
            ask, products=values, families=families_of_products(values), memory_mib=_memory_of(values)
        )
    if key in family_keys():
        return msgspec.structs.replace(ask, families=_named_families(values))
    if key in memory_keys():
        return msgspec.structs.replace(ask, what=f"{ask.what} MiB", memory_mib=_largest(values))
    if key in sharing_keys():
        return msgspec.structs.replace(ask, sharing=_sharing_of(key, values))
    return None


def _named_families(values: tuple[str, ...]) -> frozenset[str] | None:
    known = frozenset(family for value in values if (family := canonical_family(value)) is not None)
    if any(canonical_family(value) is None for value in values):
        return None
    # Old GPU Feature Discovery labels Ada as ampere, so Ada may meet a wish for that label.
    return known | {"ada-lovelace"} if "ampere" in known else known


def _memory_of(products: tuple[str, ...]) -> int | None:
    sizes = [device_memory_mib(product) for product in products]
    known = [size for size in sizes if size is not None]
    return max(known) if known and len(known) == len(sizes) else None


def _largest(values: tuple[str, ...]) -> int | None:
    if not all(value.isascii() and value.isdigit() and len(value) < 8 for value in values):
        return None
    return max(int(value) for value in values)


def _sharing_of(key: str, values: tuple[str, ...]) -> frozenset[Sharing] | None:
    found: frozenset[Sharing] = frozenset()
    for value in values:
        kinds = sharing_kinds(key, value)
        if kinds is None:
            return None
        found |= kinds
    return found


def _of_resource(name: str, resources: GpuResources) -> Ask:
    vendor = resources.vendor(name)
    profile = mig_profile(name)
    sharing: frozenset[Sharing] | None = None
    if profile:
        sharing = frozenset({Sharing.MIG}) | (SHARED_KINDS if is_shared_name(name) else frozenset())
    elif is_shared_name(name):
        sharing = SHARED_KINDS
    return Ask(
        name,
        "Ask for another resource.",
        families=_families_of(vendor),
        sharing=sharing,
        memory_mib=mig_memory_mib(None, profile) if profile else None,
        whole=not is_shared_name(name),
        vendor=vendor,
    )


@cache
def _families_of(vendor: str | None) -> frozenset[str] | None:
    return frozenset(family for family in FAMILIES if family_vendor(family) == vendor) or None
