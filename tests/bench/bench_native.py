"""Time to place 5,000 pods on 1,000 nodes by native rules alone, each pod judged on every node.

Run: python -m tests.bench.bench_native. Figures are milliseconds per pod; compare runs on one machine only.
"""

import sys
from collections.abc import Iterator
from time import perf_counter

from gpusched.native.filter import dynamic_reason
from gpusched.native.ledger import NativeLedger
from tests.bench.table import Row, show
from tests.native.records import HOST, ZONE, labelled, make_node, make_pod, near, spread

PODS, NODES = 5000, 1000
REQUESTS = {"cpu": 500, "memory": 1 << 30, "nvidia.com/gpu": 1}
WEB = labelled("app", "web")
CASES = {
    "plain": {},
    "zone spread": {"spread": (spread(WEB),)},
    "host anti-affinity": {"pod_anti_affinity": (near(labelled("app", "other"), HOST),)},
    "zone affinity": {"pod_affinity": (near(WEB, ZONE),)},
}


def place(spec: dict[str, object]) -> int:
    """Place the pods on the emptiest node that takes them; number placed."""
    ledger = NativeLedger(
        make_node(f"n{number}", {ZONE: f"z{number % 3}"}, **{"nvidia.com/gpu": 8}) for number in range(NODES)
    )
    placed = 0
    for number in range(PODS):
        pod = make_pod(f"p{number}", labels={"app": "web"}, **spec)
        fitting = [node for node in ledger.nodes.values() if dynamic_reason(pod, REQUESTS, node, ledger) is None]
        if fitting:
            placed += ledger.add(pod, REQUESTS, min(fitting, key=lambda node: node.pods).name)
    return placed


def rows() -> Iterator[Row]:
    """One row per case."""
    for name, spec in CASES.items():
        started = perf_counter()
        placed = place(spec)
        milliseconds = (perf_counter() - started) * 1000 / PODS
        yield Row(f"native rules, {NODES} nodes, {name}: per pod", milliseconds, unit="ms", note=f"{placed} placed")


if __name__ == "__main__":
    sys.exit(show(rows()))
