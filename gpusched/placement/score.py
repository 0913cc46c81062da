"""The extender's prioritize: the preference among nodes that take a pod, and its 0 to 10 scale."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

import msgspec

from gpusched.core.pool import Pool
from gpusched.core.usage import PoolUse
from gpusched.placement.request import Request
from gpusched.placement.shape import RankKey, shape_of
from gpusched.state.cluster import Cluster
from gpusched.state.node_state import NodeState

#: MaxExtenderPriority of kube-scheduler's extender API (k8s.io/kube-scheduler/extender/v1).
MAX_SCORE: Final = 10
_MIB_PER_GIB: Final = 1024


class Ranking(msgspec.Struct, frozen=True):
    """Distinct ranks in rising order, and the place in it of each node."""

    ranks: list[RankKey]
    places: dict[str, int]


def scores(request: Request, names: Sequence[str], cluster: Cluster) -> dict[str, int]:
    """Scores from 0 to 10 of the named nodes, relative to each other.

    The best have 10 and, if there is any difference, the worst 0. Unequal nodes get unequal scores; where there are
    more than eleven ranks the weightier differences are kept apart. A node that is not known has 0, and so has every
    node for a pod without GPU demand.
    """
    ranking = ranked(request, names, cluster)
    levels = _levels(ranking.ranks)
    places = ranking.places
    return {name: levels[places[name]] if name in places else 0 for name in names}


def ranked(request: Request, names: Sequence[str], cluster: Cluster) -> Ranking:
    """The named nodes that are known, ranked; none for a pod without GPU demand. Equal nodes are looked at once."""
    if not request.demand.slots:
        return Ranking([], {})
    found = list(map(cluster.node_books.signatures.get, names))
    alike = {signature: name for signature, name in zip(found, names, strict=True) if signature is not None}
    kept = shape_of(request, cluster).ranks
    for signature, name in alike.items():
        if signature not in kept:
            kept[signature] = rank_key(request, cluster.nodes[name])
    keys = {signature: kept[signature] for signature in alike}
    ranks = sorted(set(keys.values()))
    place_of = {rank: place for place, rank in enumerate(ranks)}
    places = {signature: place_of[key] for signature, key in keys.items()}
    return Ranking(
        ranks, {name: places[signature] for name, signature in zip(names, found, strict=True) if signature is not None}
    )


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
