"""`simulate` as a whole: 5,000 pods on 1,000 nodes, and how the time grows with pods."""

import sys
import time
from collections.abc import Iterator

from gpusched.policy.model import Config
from gpusched.simulate.manifest import Manifest
from gpusched.simulate.run import Simulation
from gpusched.simulate.world import load
from tests.bench.table import Row, show
from tests.build import Tree, a100_node, h100_node, namespace, pod, t4_node

NODES = 1_000
WORKLOADS = 10


def manifest(tree: Tree) -> Manifest:
    metadata = tree["metadata"]
    return Manifest(
        source="bench:1",
        tree=tree,
        kind=tree["kind"],
        api_version=tree["apiVersion"],
        name=metadata["name"],
        namespace=metadata.get("namespace", ""),
    )


def cluster() -> list[Manifest]:
    """Nodes of three kinds, and a namespace with a policy."""
    makers = (lambda name: t4_node(name, gpus=4, replicas=2), h100_node, a100_node)
    nodes = [manifest(makers[index % 3](f"n{index:04}")) for index in range(NODES)]
    return [*nodes, manifest(namespace("team-a", families="hopper, ampere, turing"))]


def workloads(pods: int) -> list[Manifest]:
    """Deployments that differ in what they ask for; the last ones no longer fit."""
    return [manifest(_deployment(index, pods // WORKLOADS)) for index in range(WORKLOADS)]


def _deployment(index: int, replicas: int) -> Tree:
    template = pod(annotations={"gpusched.io/gpu-memory": f"{4 + index}Gi"})
    metadata = {"name": f"w{index}", "namespace": "team-a"}
    body = {"replicas": replicas, "template": {"metadata": template["metadata"], "spec": template["spec"]}}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": body}


def timed(pods: int) -> tuple[float, float, int]:
    """Seconds to load the cluster, seconds to simulate, and pods placed."""
    dump, manifests = cluster(), workloads(pods)
    start = time.perf_counter()
    simulation = Simulation(load(dump, Config()))
    loaded = time.perf_counter()
    simulation.run(manifests)
    placed = sum(view.placement is not None for view in simulation.views())
    return loaded - start, time.perf_counter() - loaded, placed


def rows() -> Iterator[Row]:
    """All figures."""
    timed(100)
    _, small, _ = timed(1_250)
    loading, large, placed = timed(5_000)
    yield Row(f"simulate: load {NODES} nodes", loading, unit="s")
    yield Row(f"simulate: 5000 pods on {NODES} nodes", large, 15.0, unit="s", note=f"{placed} placed")
    yield Row("simulate: four times the pods: time / time", large / small, note="linear is 4")


if __name__ == "__main__":
    sys.exit(show(rows()))
