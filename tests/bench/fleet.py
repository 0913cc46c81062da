"""The cluster that benchmarks ask about: 5,000 nodes of four models, some of them in use."""

from gpusched.state.cluster import Cluster
from tests.build import Tree, a100_node, h100_node, namespace, node, t4_node
from tests.placement.scene import cluster_of, own, running, see

NODES = 5000


def fleet_node(turn: int) -> Tree:
    """One of four models in turn, with as many labels as nodes of a cloud carry."""
    name = f"gpu-node-{turn:05d}.eu-west-1.compute.internal"
    labels = {f"example.com/label-{place}": f"value-{place}" for place in range(30)} | {"kubernetes.io/os": "linux"}
    labels["example.com/half"] = "ab"[turn // 4 % 2]
    match turn % 4:
        case 0:
            return h100_node(name, labels=labels)
        case 1:
            return a100_node(name, labels=labels)
        case 2:
            return t4_node(name, gpus=4, replicas=4, labels=labels)
        case _:
            return node(name, gpus=None, labels=labels)


def occupied(policy: dict[str, str], nodes: int = NODES) -> Cluster:
    """The fleet with up to seven pods a node, some of them with claims."""
    cluster = cluster_of(namespace("team-a", **policy), namespace("team-b"))
    for turn in range(nodes):
        tree = fleet_node(turn)
        see(cluster, tree)
        for holder in range(turn % 8 if turn % 4 != 3 else 0):
            claim = own(gpu_memory=f"{1 + (turn + holder) % 3}Gi") if holder % 2 else None
            see(cluster, running(f"r{turn}-{holder}", tree["metadata"]["name"], namespace="team-b", annotations=claim))
    return cluster
