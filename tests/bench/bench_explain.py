"""Why a pod waits, found out on 5,000 nodes: stalls of the event loop, CPU time in all, and memory.

Run: python -m tests.bench.bench_explain. A stall is CPU time of the loop's thread between two turns. The exit status is
1 when a bound does not hold.
"""

import asyncio
import gc
import sys
import time
from collections.abc import Iterator

from gpusched.core.read_pod import read_pod
from gpusched.serve.explaining.explainer import Explainer
from tests.bench.bench_cache import MOST_STALL_MS, Probe, resident_mib
from tests.bench.fleet import NODES, occupied
from tests.bench.table import Row, show
from tests.build import Tree, namespace, pod
from tests.placement.scene import own, running, see
from tests.serve.explaining.scene import beside, server_of, unexpected

MOST_CPU_SECONDS, MOST_MIB = 1.0, 10.0
_APART = {"labelSelector": {"matchLabels": {"app": "x"}}, "topologyKey": "zone"}
CASES: dict[str, Tree] = {
    "a claim too large": pod("claim", annotations=own(gpu_memory="15Gi", families="turing")),
    "more slots than any node has": pod("slots", gpus=40),
    "a quota used up by a thousand pods": pod("quota", "team-q"),
    "a node selector": pod("selector", nodeSelector={"disk": "nvme"}),
    "pods to keep away from": pod(
        "apart", gpus=20, affinity={"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [_APART]}}
    ),
}


async def _measured(tree: Tree, explainer: Explainer) -> tuple[float, float]:
    """The longest stall in milliseconds, and CPU time in seconds."""
    probe = Probe()
    task = asyncio.create_task(probe.run())
    await asyncio.sleep(0.05)
    probe.take()
    began = time.process_time()
    found = await explainer.explain(read_pod(tree, []))
    took = time.process_time() - began
    task.cancel()
    assert found is not None
    assert found.why.explanation is not None
    return probe.take(), took


def rows() -> Iterator[Row]:
    """Two figures a case, and what stays of all of them."""
    cluster = occupied({})
    see(cluster, namespace("team-q", quota="*=1"))
    for name in list(cluster.nodes)[2::4][:1000]:
        see(cluster, running(f"on-{name}", name, namespace="team-q"))
    trees = {}
    for tree in CASES.values():
        tree["metadata"]["uid"] = tree["metadata"]["name"]
        see(cluster, tree)
        trees[tree["metadata"]["namespace"], tree["metadata"]["name"]] = tree
    gc.collect()
    before = resident_mib()
    explainer = Explainer(cluster, server_of(trees), beside(()), time.monotonic, unexpected)
    for name, tree in CASES.items():
        stall, took = asyncio.run(_measured(tree, explainer))
        what = f"{NODES} nodes, {name}"
        yield Row(f"{what}: longest stall", stall, MOST_STALL_MS, unit="ms")
        yield Row(f"{what}: CPU time", took, MOST_CPU_SECONDS, unit="s")
    gc.collect()
    yield Row(f"{len(CASES)} explanations: memory", resident_mib() - before, MOST_MIB, unit="MiB")


if __name__ == "__main__":
    sys.exit(show(rows()))
