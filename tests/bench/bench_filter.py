"""Time of one filter call over 5,000 nodes, as a multiple of a plain loop, and the memory that the nodes' records take.

Run: python -m tests.bench.bench_filter. The loop looks every name up in a dict and appends it to a list. Nothing is
kept from one call to the next, and names are new strings for each call, as they come off the wire. The exit status is 1
when a bound does not hold.
"""

import gc
import json
import sys
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from time import perf_counter

from gpusched.placement.filter import filter_nodes
from gpusched.state.cluster import Cluster
from gpusched.state.node_state import NodeState
from tests.bench.fleet import NODES, fleet_node, occupied
from tests.bench.table import Row, show
from tests.build import pod
from tests.placement.scene import ask, cluster_of, own, see

ROUNDS = 60
MOST_TIMES, MOST_MIB = 4.0, 30.0
#: Four times the names may take this many times as long.
MOST_GROWTH = 4.8
POLICY = {"families": "hopper, ampere, turing", "min_cuda_version": "12.2"}
CASES: dict[str, tuple[dict[str, str], dict[str, str]]] = {
    "no policy": ({}, {}),
    "policy": (POLICY, {}),
    "policy, claim": (POLICY, own(gpu_memory="2Gi")),
    "policy, claim, quota": (POLICY | {"quota": "hopper=100000, *=200000"}, own(gpu_memory="2Gi")),
    "policy, node-selector": (POLICY | {"node_selector": "kubernetes.io/os=linux"}, {}),
    "policy, node-selector of half": (POLICY | {"node_selector": "example.com/half=a"}, {}),
}


def plain(names: Sequence[str], nodes: dict[str, NodeState]) -> list[str]:
    """What the filter is measured against."""
    found = []
    for name in names:
        if nodes.get(name) is not None:
            found.append(name)  # noqa: PERF401 - the comprehension would not be the plain loop
    return found


def microseconds(work: Callable[[Sequence[str]], object], wire: str) -> float:
    """Least time of the work on freshly decoded names: what other programs add to it is no part of it."""
    times = []
    for _ in range(ROUNDS):
        names = json.loads(wire)
        started = perf_counter()
        work(names)
        times.append(perf_counter() - started)
    return min(times) * 1e6


def records_mib() -> float:
    """MiB held by the state of 5,000 nodes, the trees they were read from not counted."""
    gc.collect()
    tracemalloc.start()
    cluster = Cluster(cluster_of().config)
    for turn in range(NODES):
        see(cluster, fleet_node(turn))
    gc.collect()
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return held / 2**20


def rows() -> Iterator[Row]:
    """Every case, the growth with the number of names, and the memory."""
    for name, (policy, annotations) in CASES.items():
        cluster = occupied(policy)
        request = ask(cluster, pod(annotations=annotations))
        wire = json.dumps(list(cluster.nodes))
        nodes = dict(cluster.nodes)
        loop = microseconds(lambda names, nodes=nodes: plain(names, nodes), wire)
        call = microseconds(lambda names, request=request, cluster=cluster: filter_nodes(request, names, cluster), wire)
        yield Row(f"filter, {NODES} names, {name}: call / plain loop", call / loop, MOST_TIMES, note=f"{call:.0f} us")
    cluster = occupied(POLICY)
    request, names = ask(cluster, pod()), list(cluster.nodes)
    quarter, whole = (
        microseconds(lambda given: filter_nodes(request, given, cluster), json.dumps(given))
        for given in (names[: NODES // 4], names)
    )
    yield Row("filter, four times the names: time / time", whole / quarter, MOST_GROWTH, note="linear is 4")
    yield Row(f"records of {NODES} nodes", records_mib(), MOST_MIB, unit="MiB")


if __name__ == "__main__":
    sys.exit(show(rows()))
