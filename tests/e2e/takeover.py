"""Pods that come all at once to two replicas of gpusched, and what must hold whatever ends the leader."""

from collections import defaultdict
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from random import Random
from typing import Any

from gpusched.local.control_plane import ControlPlane
from gpusched.local.replicas import Replica, Replicas
from tests.build import Tree, pod
from tests.e2e.scheduling import create, node_of

GPUS, REPLICAS, CARD_MIB = 2, 4, 15360
#: 5 % of a shared card is nobody's.
USABLE_MIB = CARD_MIB * 95 // 100
CLAIMS_MIB = (512, 1024, 2048, 3500, 4500, 6000, 9000)
CLAIM = "gpusched.io/gpu-memory"
AT_ONCE = 8


def claiming(random: Random, namespace: str, prefix: str, count: int, **spec: Any) -> list[Tree]:
    """Pods with claims; one in ten without."""
    return [
        pod(
            f"{prefix}-{index:03}",
            namespace,
            annotations={} if random.random() < 0.1 else {CLAIM: f"{random.choice(CLAIMS_MIB)}Mi"},
            **spec,
        )
        for index in range(count)
    ]


def create_all(plane: ControlPlane, trees: Iterable[Tree]) -> list[str]:
    """Create pods as fast as the API server takes them; their names."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return [str(tree["metadata"]["name"]) for tree in pool.map(lambda tree: create(plane, tree), trees)]


def overfull(plane: ControlPlane) -> dict[str, list[int]]:
    """Nodes whose pool is promised twice: more slots than there are, or amounts of which the largest R exceed a GPU."""
    amounts: defaultdict[str, list[int]] = defaultdict(list)
    for tree in pods_of(plane):
        node = node_of(tree)
        if node and tree["status"]["phase"] not in {"Succeeded", "Failed"}:
            text = tree["metadata"].get("annotations", {}).get(CLAIM)
            amounts[node].append(int(text.removesuffix("Mi")) if text else USABLE_MIB // REPLICAS)
    return {
        node: sorted(found, reverse=True)
        for node, found in amounts.items()
        if len(found) > GPUS * REPLICAS or sum(sorted(found, reverse=True)[:REPLICAS]) > USABLE_MIB
    }


def pods_of(plane: ControlPlane, namespace: str = "") -> list[Any]:
    """GPU pods of a namespace, or of all."""
    path = f"/api/v1/namespaces/{namespace}/pods" if namespace else "/api/v1/pods"
    items: Any = plane.get(path)["items"]
    return [
        tree
        for tree in items
        if "nvidia.com/gpu" in tree["spec"]["containers"][0].get("resources", {}).get("limits", {})
    ]


def unexplained(plane: ControlPlane, namespace: str) -> list[str]:
    """Pods that are neither bound nor gated nor told why they wait."""
    return [
        tree["metadata"]["name"]
        for tree in pods_of(plane, namespace)
        if not node_of(tree)
        and not any(
            item["type"] == "PodScheduled" and item["status"] == "False" and item.get("reason")
            for item in tree["status"].get("conditions", ())
        )
    ]


def told(plane: ControlPlane, namespace: str) -> dict[str, str]:
    """By pod: its node, its gates, or the last thing said about it."""
    return {
        tree["metadata"]["name"]: node_of(tree)
        or str(tree["spec"].get("schedulingGates") or "")
        or next((f"{item.get('reason')}: {item.get('message')}" for item in tree["status"].get("conditions", ())), "")
        for tree in pods_of(plane, namespace)
    }


def await_leader(plane: ControlPlane, replicas: Replicas, seconds: float = 90.0) -> Replica:
    """The replica that leads, once kube-scheduler is sent to it."""
    return plane.wait_until(
        lambda: next((found for found in [replicas.leader()] if found and replicas.labelled() == [found]), None),
        seconds,
        "one leader, and its label",
    )


def await_two(plane: ControlPlane, replicas: Replicas) -> None:
    """Wait until every replica is ready."""
    for replica in replicas.replicas:
        replicas.wait_ready(replica)
