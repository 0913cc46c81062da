"""Builders of raw Kubernetes objects for tests: every call makes a fresh tree; keyword arguments override."""

from typing import Any

Tree = dict[str, Any]


def container(
    name: str = "main", *, gpus: int | str | None = None, resource: str = "nvidia.com/gpu", **extra: Any
) -> Tree:
    """One container; `gpus` goes into limits. Further keys are merged as given."""
    tree: Tree = {"name": name, "image": "registry.example/app:1"}
    if gpus is not None:
        tree["resources"] = {"limits": {resource: gpus}}
    return tree | extra


def pod(
    name: str = "p",
    namespace: str = "team-a",
    *containers: Tree,
    gpus: int | str | None = 1,
    resource: str = "nvidia.com/gpu",
    annotations: dict[str, str] | None = None,
    labels: dict[str, str] | None = None,
    **spec: Any,
) -> Tree:
    """A pod with one GPU container unless containers are given; `spec` keys are merged into the spec."""
    metadata: Tree = {"name": name, "namespace": namespace}
    if annotations is not None:
        metadata["annotations"] = dict(annotations)
    if labels is not None:
        metadata["labels"] = dict(labels)
    body: Tree = {"containers": list(containers) or [container(gpus=gpus, resource=resource)]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": body | spec}


def bound(tree: Tree, node_name: str, *, uid: str | None = None, phase: str = "Running", ours: bool = True) -> Tree:
    """The pod as it stands in a dump once it runs on a node."""
    tree["metadata"]["uid"] = uid or f"uid-{tree['metadata']['namespace']}-{tree['metadata']['name']}"
    tree["spec"]["nodeName"] = node_name
    tree["status"] = {"phase": phase}
    if ours:
        tree["metadata"].setdefault("annotations", {})["status.gpusched.io/bound"] = node_name
    return tree


def namespace(name: str = "team-a", labels: dict[str, str] | None = None, **policy: str) -> Tree:
    """A Namespace; keyword arguments are gpusched annotations with `_` for `-`."""
    annotations = {f"gpusched.io/{key.replace('_', '-')}": value for key, value in policy.items()}
    return {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {
            "name": name,
            "labels": {"kubernetes.io/metadata.name": name} | (labels or {}),
            "annotations": annotations,
        },
    }


def gfd_labels(
    product: str = "Tesla-T4",
    *,
    count: int = 1,
    memory: int | None = 15360,
    replicas: int = 1,
    sharing: str | None = None,
    compute: tuple[int, int] = (7, 5),
    family: str = "turing",
    cuda: str = "12.4",
    driver: str = "550.107.02",
    **extra: str,
) -> dict[str, str]:
    """Labels as GPU Feature Discovery writes them; `extra` keys use `_` for `.` after `nvidia.com/`."""
    major, minor = cuda.split(".")
    labels = {
        "nvidia.com/gpu.present": "true",
        "nvidia.com/gpu.product": product,
        "nvidia.com/gpu.count": str(count),
        "nvidia.com/gpu.replicas": str(replicas),
        "nvidia.com/gpu.sharing-strategy": sharing or ("time-slicing" if replicas > 1 else "none"),
        "nvidia.com/gpu.compute.major": str(compute[0]),
        "nvidia.com/gpu.compute.minor": str(compute[1]),
        "nvidia.com/gpu.family": family,
        "nvidia.com/cuda.runtime-version.major": major,
        "nvidia.com/cuda.runtime-version.minor": minor,
        "nvidia.com/cuda.runtime-version.full": cuda,
        "nvidia.com/cuda.driver-version.full": driver,
        "nvidia.com/mig.capable": "false",
    }
    if memory is not None:
        labels["nvidia.com/gpu.memory"] = str(memory)
    return labels | {f"nvidia.com/{key.replace('_', '.')}": value for key, value in extra.items()}


def node(
    name: str = "n1",
    *,
    gpus: int | str | None = 1,
    resource: str = "nvidia.com/gpu",
    labels: dict[str, str] | None = None,
    annotations: dict[str, str] | None = None,
    allocatable: dict[str, str] | None = None,
    capacity: dict[str, str] | None = None,
    **spec: Any,
) -> Tree:
    """A Ready node with room for cpu and memory; `gpus` None for none; capacity is allocatable unless given."""
    amounts = {"cpu": "64", "memory": "512Gi", "pods": "110", "ephemeral-storage": "1Ti"}
    if gpus is not None:
        amounts[resource] = str(gpus)
    amounts |= allocatable or {}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "uid": f"uid-{name}",
            "labels": {"kubernetes.io/hostname": name} | (labels or {}),
            "annotations": dict(annotations or {}),
        },
        "spec": dict(spec),
        "status": {"allocatable": amounts, "capacity": amounts | (capacity or {})},
    }


def t4_node(name: str = "t4", *, gpus: int = 1, replicas: int = 1, **extra: Any) -> Tree:
    """A node of T4 cards, time-sliced when replicas > 1."""
    product = "Tesla-T4-SHARED" if replicas > 1 else "Tesla-T4"
    labels = gfd_labels(product, count=gpus, replicas=replicas) | extra.pop("labels", {})
    return node(name, gpus=gpus * replicas, labels=labels, **extra)


def h100_node(name: str = "h100", *, gpus: int = 8, **extra: Any) -> Tree:
    """A node of whole H100 80 GB cards."""
    labels = gfd_labels("NVIDIA-H100-80GB-HBM3", count=gpus, memory=81559, compute=(9, 0), family="hopper")
    return node(name, gpus=gpus, labels=labels | extra.pop("labels", {}), **extra)


def a100_node(name: str = "a100", *, gpus: int = 8, **extra: Any) -> Tree:
    """A node of whole A100 80 GB cards."""
    labels = gfd_labels("NVIDIA-A100-SXM4-80GB", count=gpus, memory=81920, compute=(8, 0), family="ampere")
    return node(name, gpus=gpus, labels=labels | extra.pop("labels", {}), **extra)
