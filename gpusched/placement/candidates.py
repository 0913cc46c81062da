"""Fewer nodes for the scheduler to score: the best few of those that fit, where that cannot change the outcome."""

from collections.abc import Sequence
from typing import Final

from gpusched.placement.request import Request
from gpusched.placement.score import RankKey, ranked
from gpusched.state.cluster import Cluster

_ZONE: Final = "topology.kubernetes.io/zone"


def candidates(request: Request, fits: Sequence[str], cluster: Cluster, n: int, *, retry: bool) -> list[str]:
    """The best `n` of the nodes that fit, in the order given; all of them when `n` is 0.

    Nodes as good as the last one kept are kept too, and so are the best of each zone. A retry gets all nodes, since the
    scheduler may have turned down the best few for reasons of its own, and so does a pod with soft preferences.
    """
    if n <= 0 or len(fits) <= n or retry or request.soft_preferences or not request.demand.slots:
        return list(fits)
    ranks = ranked(request, fits, cluster)
    if len(ranks) <= n:
        return list(fits)
    last = sorted(ranks.values())[n - 1]
    zones = {name: cluster.nodes[name].node.object.labels.get(_ZONE) for name in ranks}
    best_of_zone: dict[str, RankKey] = {}
    for name, zone in zones.items():
        if zone is not None:
            best_of_zone[zone] = min(ranks[name], best_of_zone.get(zone, ranks[name]))

    def kept(name: str) -> bool:
        if name not in ranks:
            return False
        zone = zones[name]
        return ranks[name] <= last or (zone is not None and ranks[name] == best_of_zone[zone])

    return [name for name in fits if kept(name)]
