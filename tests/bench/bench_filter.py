"""Time of one filter call over 5,000 nodes, as a multiple of a plain loop, and the memory that the nodes' records take.

Run: python -m tests.bench.bench_filter. The loop looks every name up in a dict and appends it to a list. Nothing is
kept from one call to the next, and names are new strings for each call, as they come off the wire. A node selector
costs one more look-up, in the labels of each node, and has a bound of its own. The exit status is 1 when a bound does
not hold.
"""

import gc
import json
import sys
import tracemalloc
from collections.abc import Callable, Sequence
from time import perf_counter

from gpusched.placement.filter import filter_nodes
from gpusched.placement.request import Request
from gpusched.state.cluster import Cluster
from gpusched.state.node_state import NodeState
from tests.build import Tree, a100_node, h100_node, namespace, node, pod, t4_node
from tests.placement.scene import ask, cluster_of, own, running, see

NODES, ROUNDS = 5000, 60
MOST_TIMES, MOST_TIMES_BY_LABELS, MOST_MIB = 4.0, 7.0, 30.0
POLICY = {"families": "hopper, ampere, turing", "min_cuda_version": "12.2"}
CASES: dict[str, tuple[dict[str, str], dict[str, str]]] = {
    "no policy": ({}, {}),
    "policy": (POLICY, {}),
    "policy, claim": (POLICY, own(gpu_memory="2Gi")),
    "policy, claim, quota": (POLICY | {"quota": "hopper=100000, *=200000"}, own(gpu_memory="2Gi")),
    "policy, node-selector": (POLICY | {"node_selector": "kubernetes.io/os=linux"}, {}),
}


def fleet_node(turn: int) -> Tree:
    """One of four models in turn, with as many labels as nodes of a cloud carry."""
    name = f"gpu-node-{turn:05d}.eu-west-1.compute.internal"
    labels = {f"example.com/label-{place}": f"value-{place}" for place in range(30)} | {"kubernetes.io/os": "linux"}
    match turn % 4:
        case 0:
            return h100_node(name, labels=labels)
        case 1:
            return a100_node(name, labels=labels)
        case 2:
            return t4_node(name, gpus=4, replicas=4, labels=labels)
        case _:
            return node(name, gpus=None, labels=labels)


def occupied(policy: dict[str, str]) -> Cluster:
    """The fleet with up to seven pods a node, some of them with claims."""
    cluster = cluster_of(namespace("team-a", **policy), namespace("team-b"))
    for turn in range(NODES):
        tree = fleet_node(turn)
        see(cluster, tree)
        for holder in range(turn % 8 if turn % 4 != 3 else 0):
            claim = own(gpu_memory=f"{1 + (turn + holder) % 3}Gi") if holder % 2 else None
            see(cluster, running(f"r{turn}-{holder}", tree["metadata"]["name"], namespace="team-b", annotations=claim))
    return cluster


def plain(names: Sequence[str], nodes: dict[str, NodeState]) -> list[str]:
    """What the filter is measured against."""
    found = []
    for name in names:
        if nodes.get(name) is not None:
            found.append(name)  # noqa: PERF401  # the comprehension would not be the plain loop
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


def times_plain(cluster: Cluster, request: Request) -> float:
    """Time of a filter call as a multiple of the plain loop, printed values in microseconds."""
    wire = json.dumps(list(cluster.nodes))
    loop = microseconds(lambda names: plain(names, cluster.nodes), wire)
    call = microseconds(lambda names: filter_nodes(request, names, cluster), wire)
    print(f"  loop {loop:7.0f} us  filter {call:7.0f} us  {call / loop:5.2f} times", end="")
    return call / loop


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


def main() -> int:
    """Print one line per case; exit status."""
    missed = False
    for name, (policy, annotations) in CASES.items():
        cluster = occupied(policy)
        bound = MOST_TIMES_BY_LABELS if "node_selector" in policy else MOST_TIMES
        missed |= times_plain(cluster, ask(cluster, pod(annotations=annotations))) > bound
        print(f", at most {bound:.0f}: {name}")
    memory = records_mib()
    print(f"  {NODES} node records {memory:.1f} MiB, at most {MOST_MIB:.0f}")
    return int(missed or memory > MOST_MIB)


if __name__ == "__main__":
    sys.exit(main())
