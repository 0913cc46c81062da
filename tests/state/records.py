"""Events from raw objects, and the state that follows from them."""

from typing import Any

from gpusched.core.pod import Pod
from gpusched.core.read_cluster import read_node
from gpusched.core.read_pod import read_pod
from gpusched.core.usage import Holder
from gpusched.policy.model import Config
from gpusched.state.cluster import Cluster
from gpusched.state.events import NamespaceObject, Seen, Upsert
from tests.build import Tree, bound, namespace, node, pod


def cluster_with(*seen: Seen, config: Config | None = None, **options: Any) -> Cluster:
    """The state after seeing these objects in this order."""
    cluster = Cluster(config or Config(), **options)
    for item in seen:
        cluster.apply(Upsert(item))
    return cluster


def node_seen(tree: Tree | None = None, **extra: Any) -> Seen:
    """A node, of four slots unless told otherwise."""
    return read_node(tree or node(**({"gpus": 4} | extra)), [])


def pod_seen(name: str = "p", **extra: Any) -> Pod:
    """A pod as the API server has it, with a UID."""
    tree = pod(name, **extra)
    tree["metadata"]["uid"] = f"uid-team-a-{name}"
    return read_pod(tree, [])


def bound_seen(name: str = "p", node_name: str = "n1", *, uid: str | None = None, **extra: Any) -> Pod:
    """A pod that gpusched bound; `phase`, `ours` as `tests.build.bound` has them."""
    how = {key: extra.pop(key) for key in ("phase", "ours") if key in extra}
    return read_pod(bound(pod(name, **extra), node_name, uid=uid, **how), [])


def namespace_seen(name: str = "team-a", **policy: str) -> NamespaceObject:
    """A Namespace with these annotations."""
    metadata = namespace(name, **policy)["metadata"]
    return NamespaceObject(name, metadata["labels"], metadata["annotations"])


def promise(slots: int = 1, name: str = "p", claim_mib: int | None = None) -> Holder:
    """What bind promises to a pod of team-a."""
    return Holder("team-a", name, {"nvidia.com/gpu": slots}, claim_mib)


def used(cluster: Cluster, node_name: str = "n1") -> int:
    """Slots in use on a node."""
    return cluster.nodes[node_name].use("nvidia.com/gpu").used
