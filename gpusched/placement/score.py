"""The extender's prioritize: the preference among nodes that take a pod, and its 0 to 10 scale."""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Final

from gpusched.core.pool import Pool
from gpusched.core.usage import PoolUse
from gpusched.placement.request import Request
from gpusched.placement.shape import RankKey, shape_of
from gpusched.state.cluster import Cluster
from gpusched.state.node_state import NodeState

#: MaxExtenderPriority of kube-scheduler's extender API (k8s.io/kube-scheduler/extender/v1).
MAX_SCORE: Final = 10
_MIB_PER_GIB: Final = 1024


def scores(request: Request, names: Iterable[str], cluster: Cluster) -> dict[int, list[str]]:
    """The named nodes by their score from 0 to 10, relative to each other.

    The best have 10 and, if there is any difference, the worst 0. Unequal nodes get unequal scores; where there are
    more than eleven ranks the weightier differences are kept apart. Nodes that are not known are left out, which counts
    as 0, and so is every node for a pod without GPU demand.
    """
    found = ranked(request, names, cluster)
    by_score: dict[int, list[str]] = {}
    for score, (_, equals) in zip(_levels([rank for rank, _ in found]), found, strict=True):
        by_score.setdefault(score, []).extend(equals)
    return by_score


def ranked(request: Request, names: Iterable[str], cluster: Cluster) -> list[tuple[RankKey, list[str]]]:
    """The named nodes that are known by their rank, best first; none for a pod without GPU demand.

    Nodes that cannot be told apart are looked at once, so the cost per name is two look-ups.
    """
    if not request.demand.slots:
        return []
    signatures = cluster.node_books.signatures
    alike: dict[str, list[str]] = {}
    for name in names:
        try:
            alike[signatures[name]].append(name)
        except KeyError:
            if name in signatures:
                alike[signatures[name]] = [name]
    kept = shape_of(request, cluster).ranks
    by_rank: dict[RankKey, list[str]] = {}
    for signature, equals in alike.items():
        if signature not in kept:
            kept[signature] = rank_key(request, cluster.nodes[equals[0]])
        # A name given twice would have the sum of two scores.
        by_rank.setdefault(kept[signature], []).extend(dict.fromkeys(equals))
    return sorted(by_rank.items())


def rank_key(request: Request, state: NodeState) -> RankKey:
    """The rank of one node that takes the pod. Several resources add up, and the fullest pool tells the load."""
    keys = [_rank(request, state, resource) for resource in request.demand.slots]
    return RankKey(
        family=sum(key.family for key in keys),
        divided=sum(key.divided for key in keys),
        unknown=sum(key.unknown for key in keys),
        waste_gib=sum(key.waste_gib for key in keys),
        opened=sum(key.opened for key in keys),
        load=min((key.load for key in keys), default=0.0),
        free=sum(key.free for key in keys),
        waste_mib=sum(key.waste_mib for key in keys),
    )


def _rank(request: Request, state: NodeState, resource: str) -> RankKey:
    pool = state.node.pool(resource)
    if pool is None:
        return RankKey(family=_family_place(request, None), unknown=1)
    return _pool_rank(request, pool, state.use(resource), request.demand.slots[resource])


def _pool_rank(request: Request, pool: Pool, use: PoolUse, slots: int) -> RankKey:
    waste = _waste_mib(request, pool)
    load = _load_after(pool, use, slots, request.demand.claim_mib)
    free = pool.slots - use.used - slots
    spread = request.resolution.placement == "spread"
    return RankKey(
        family=_family_place(request, pool.family),
        divided=int(pool.divided and request.demand.largest_container(pool.resource) > 1),
        unknown=int(waste is None),
        waste_gib=((waste or 0) + _MIB_PER_GIB // 2) // _MIB_PER_GIB,
        opened=0 if spread else _opened(pool, use, slots),
        load=load if spread else -load,
        free=-free if spread else free,
        waste_mib=waste or 0,
    )


def _family_place(request: Request, family: str | None) -> int:
    """Place in the order of preference; a family that is not in it comes after all that are."""
    order = request.resolution.constraints.families or ()
    return order.index(family) if family in order else len(order)


def _waste_mib(request: Request, pool: Pool) -> int | None:
    if pool.visible_memory_mib is None:
        return None
    bound = request.resolution.constraints.min_memory
    asked = max(request.demand.claim_mib or 0, 0 if bound is None else bound.mib)
    return max(0, pool.visible_memory_mib - asked)


def _opened(pool: Pool, use: PoolUse, slots: int) -> int:
    """GPUs that would no longer be wholly free, if the slots in use stood as close together as they can."""
    replicas = pool.replicas or 1
    return -(-(use.used + slots) // replicas) - -(-use.used // replicas)


def _load_after(pool: Pool, use: PoolUse, slots: int, claim: int | None) -> float:
    """The part of the pool in use afterwards, of slots or of claimed memory, whichever is more."""
    if not pool.slots:
        return 1.0
    by_slots = (use.used + slots) / pool.slots
    part = pool.slot_memory_mib
    if not pool.shared or not part:
        return by_slots
    raised = sum(max(0, part - outside) for outside in use.outside)
    taken = sum(use.claims) + raised + use.unclaimed * part + slots * (part if claim is None else claim)
    return max(by_slots, taken / (part * pool.slots))


def _levels(ranks: Sequence[RankKey]) -> list[int]:
    """Scores by place of distinct ranks in rising order: evenly spread while they are few, else one step down at each
    of the ten weightiest differences between neighbours.
    """
    steps = len(ranks) - 1
    if steps <= 0:
        return [MAX_SCORE] * len(ranks)
    if steps <= MAX_SCORE:
        return [(2 * MAX_SCORE * (steps - place) + steps) // (2 * steps) for place in range(len(ranks))]
    down = _weightiest([_weight(one, other) for one, other in pairwise(ranks)])
    score = MAX_SCORE
    levels = [score]
    for place in range(steps):
        score -= place in down
        levels.append(score)
    return levels


def _weight(one: RankKey, other: RankKey) -> int:
    """The first field in which two ranks differ; the earlier, the weightier."""
    fields = enumerate(RankKey.__struct_fields__)
    return next(place for place, field in fields if getattr(one, field) != getattr(other, field))


def _weightiest(weights: Sequence[int]) -> frozenset[int]:
    """Places of the ten weightiest; among equal weights they are taken at even distances, the first one included."""
    chosen: list[int] = []
    for weight in sorted(set(weights)):
        places = [place for place, found in enumerate(weights) if found == weight]
        room = min(MAX_SCORE - len(chosen), len(places))
        chosen += [places[turn * len(places) // room] for turn in range(room)]
    return frozenset(chosen)
