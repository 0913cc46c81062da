"""The intersection of layers as constraints: sets meet, the tighter bound wins."""

from collections.abc import Callable, Sequence

from gpusched.core.constraints import Constraints, MemoryBound
from gpusched.core.pool import Sharing
from gpusched.core.selector import Requirement
from gpusched.policy.model import Policy, Quota


def intersect(policies: Sequence[Policy]) -> Constraints:
    """What satisfies every policy, given from the outermost to the innermost.

    An empty intersection allows nothing; it is no error here. The innermost policy that names families decides
    their preference.
    """
    return Constraints(
        families=_families([policy.families for policy in policies if policy.families is not None]),
        products=tuple(dict.fromkeys(policy.products for policy in policies if policy.products is not None)),
        min_memory=tightest(max, [policy.min_memory for policy in policies]),
        max_memory=tightest(min, [policy.max_memory for policy in policies]),
        sharing=_sharing([policy.sharing for policy in policies if policy.sharing is not None]),
        min_cuda=max((policy.min_cuda for policy in policies if policy.min_cuda is not None), default=None),
        min_driver=max((policy.min_driver for policy in policies if policy.min_driver is not None), default=None),
        node_selector=_node_selector(policies),
    )


def tightest(choose: Callable[..., MemoryBound], bounds: Sequence[MemoryBound | None]) -> MemoryBound | None:
    """The tightest bound by `max` (of minima) or `min` (of maxima); the outermost of equal ones."""
    given = [bound for bound in bounds if bound is not None]
    return choose(given, key=lambda bound: bound.mib) if given else None


def tighter_quota(policies: Sequence[Policy]) -> Quota | None:
    """The smaller number per family and in total, None where no policy has a quota. Families are sorted."""
    quotas = [policy.quota for policy in policies if policy.quota is not None]
    if not quotas:
        return None
    families: dict[str, int] = {}
    for quota in quotas:
        for family, slots in quota.families:
            families[family] = min(slots, families.get(family, slots))
    total = min((quota.total for quota in quotas if quota.total is not None), default=None)
    return Quota(families=tuple(sorted(families.items())), total=total)


def _families(sides: list[tuple[str, ...]]) -> tuple[str, ...] | None:
    if not sides:
        return None
    return tuple(family for family in sides[-1] if all(family in side for side in sides))


def _sharing(sides: list[tuple[Sharing, ...]]) -> frozenset[Sharing] | None:
    return frozenset.intersection(*map(frozenset, sides)) if sides else None


def _node_selector(policies: Sequence[Policy]) -> tuple[Requirement, ...]:
    return tuple(dict.fromkeys(requirement for policy in policies for requirement in policy.node_selector or ()))
