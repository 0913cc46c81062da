"""Fewer nodes for the scheduler to score: the best few of those that fit, where that cannot change the outcome."""

from collections.abc import Sequence
from typing import Final

from gpusched.placement.request import Request
from gpusched.placement.score import ranked
from gpusched.state.cluster import Cluster

_ZONE: Final = "topology.kubernetes.io/zone"


def candidates(request: Request, fits: Sequence[str], cluster: Cluster, n: int, *, retry: bool) -> list[str]:
    """The best `n` of the nodes that fit, in the order given; all of them when `n` is 0.

    Nodes as good as the last one kept are kept too, and so are the best of each zone. A retry gets all nodes, since the
    scheduler may have turned down the best few for reasons of its own, and so does a pod with soft preferences.
    """
    if n <= 0 or len(fits) <= n or retry or request.soft_preferences or not request.demand.slots:
        return list(fits)
    places = ranked(request, fits, cluster).places
    if len(places) <= n:
        return list(fits)
    last = sorted(places.values())[n - 1]
    best_of_zone: dict[str, tuple[int, list[str]]] = {}
    for name, place in places.items():
        zone = cluster.nodes[name].node.object.labels.get(_ZONE)
        if zone is None:
            continue
        best, names = best_of_zone.get(zone, (place + 1, []))
        if place < best:
            best_of_zone[zone] = place, [name]
        elif place == best:
            names.append(name)
    of_zones = {name for _, names in best_of_zone.values() for name in names}
    return [name for name in fits if name in of_zones or places.get(name, last + 1) <= last]
