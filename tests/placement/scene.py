"""A cluster state and requests on it, from raw objects."""

from typing import Any

from gpusched.core.dra import read_device_class, read_resource_slice
from gpusched.core.fault import Fault
from gpusched.core.names import QUOTA_GATE
from gpusched.core.read_cluster import read_node
from gpusched.core.read_pod import read_pod
from gpusched.core.usage import Holder
from gpusched.placement.request import Request, request_of
from gpusched.policy.model import Config
from gpusched.state.cluster import Cluster
from gpusched.state.events import NamespaceObject, Seen, Upsert
from tests.build import Tree, bound, pod


def cluster_of(*trees: Tree, config: Config | None = None) -> Cluster:
    """The state after seeing the objects in this order."""
    cluster = Cluster(config or Config())
    for tree in trees:
        see(cluster, tree)
    return cluster


def see(cluster: Cluster, tree: Tree) -> None:
    """Take in one object."""
    faults: list[Fault] = []
    cluster.apply(Upsert(_read(tree, faults)))
    assert faults == []


def _read(tree: Tree, faults: list[Fault]) -> Seen:
    metadata = tree["metadata"]
    match tree["kind"]:
        case "Node":
            return read_node(tree, faults)
        case "Pod":
            return read_pod(tree, faults)
        case "DeviceClass":
            return read_device_class(tree, faults)
        case "ResourceSlice":
            return read_resource_slice(tree, faults)
        case _:
            return NamespaceObject(metadata["name"], metadata["labels"], metadata["annotations"])


def ask(cluster: Cluster, tree: Tree) -> Request:
    """The pod as a request, without entering it into the state."""
    faults: list[Fault] = []
    request = request_of(read_pod(tree, faults), cluster)
    assert faults == []
    return request


def claiming(gpu_memory: str, **annotations: str) -> dict[str, str]:
    """Pod annotations with a claim; further keys use `_` for `-`."""
    return own(gpu_memory=gpu_memory, **annotations)


def own(**annotations: str) -> dict[str, str]:
    """A pod's own policy annotations; keys use `_` for `-`."""
    return {f"gpusched.io/{key.replace('_', '-')}": value for key, value in annotations.items()}


def running(name: str, node_name: str, *, gpus: int = 1, namespace: str = "team-a", **extra: Any) -> Tree:
    """A pod that gpusched bound to the node."""
    return bound(pod(name, namespace, gpus=gpus, **extra), node_name)


def gated(
    name: str,
    *,
    gpus: int = 1,
    namespace: str = "team-a",
    priority: int = 0,
    age: int = 0,
    owner: str | None = None,
    **extra: Any,
) -> Tree:
    """A pod behind the quota gate, created `age` minutes before ten o'clock; `owner` is written `Kind/name`."""
    gates = [{"name": QUOTA_GATE}]
    tree = pod(name, namespace, gpus=gpus, priority=priority, schedulingGates=gates, **extra)
    tree["metadata"] |= {"uid": name, "creationTimestamp": f"2026-01-01T09:{59 - age:02d}:00Z"}
    if owner is not None:
        kind, _, owner_name = owner.partition("/")
        reference = {"apiVersion": "v1", "kind": kind, "name": owner_name, "uid": owner, "controller": True}
        tree["metadata"]["ownerReferences"] = [reference]
    return tree


def promise(cluster: Cluster, node_name: str, request: Request) -> None:
    """Reserve as bind does."""
    holder = Holder(
        namespace=request.namespace,
        name=request.name,
        slots=request.demand.slots,
        claim_mib=request.demand.claim_mib,
        priority=request.priority,
    )
    cluster.reserve(node_name, request.uid, holder)
