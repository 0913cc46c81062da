"""Fewer nodes for the scheduler to score: the best few of those that fit, where that cannot change the outcome."""

from collections.abc import Sequence

from gpusched.placement.request import Request
from gpusched.placement.score import ranked
from gpusched.state.cluster import Cluster


def candidates(request: Request, fits: Sequence[str], cluster: Cluster, n: int, *, retry: bool) -> list[str]:
    """The best `n` of the nodes that fit, in the order given; all of them when `n` is 0.

    Nodes as good as the last one kept are kept too, and so are the best of each zone. A retry gets all nodes, since the
    scheduler may have turned down the best few for reasons of its own, and so does a pod with soft preferences.
    """
    if n <= 0 or len(fits) <= n or retry or request.soft_preferences or not request.demand.slots:
        return list(fits)
    zone_of = cluster.node_books.zones.get
    kept: set[str] = set()
    zones: set[str | None] = {None}
    for _, equals in ranked(request, fits, cluster):
        kept.update(equals if len(kept) < n else [name for name in equals if zone_of(name) not in zones])
        zones.update(map(zone_of, equals))
    return [name for name in fits if name in kept]
