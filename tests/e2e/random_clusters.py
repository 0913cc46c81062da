"""Random clusters and pods, to compare the offline simulation with a real scheduler: equal seeds, equal objects."""

from random import Random
from typing import Any

from tests.build import Tree, a100_node, container, gfd_labels, h100_node, namespace, node, pod, t4_node

MIG = "nvidia.com/mig-1g.10gb"
_A100 = gfd_labels("NVIDIA-A100-SXM4-80GB", memory=81920, compute=(8, 0), family="ampere")
#: Kinds of nodes by what is offered, how much of it, and what the labels say.
_LABELLED: dict[str, tuple[int, str, dict[str, str]]] = {
    "mig": (
        7,
        MIG,
        _A100
        | {
            "nvidia.com/mig.capable": "true",
            "nvidia.com/mig.strategy": "mixed",
            "nvidia.com/mig-1g.10gb.count": "7",
            "nvidia.com/mig-1g.10gb.memory": "9728",
        },
    ),
    "single": (
        7,
        "nvidia.com/gpu",
        gfd_labels("NVIDIA-A100-SXM4-80GB-MIG-1g.10gb", count=7, memory=9728, compute=(8, 0), family="ampere")
        | {"nvidia.com/mig.capable": "true", "nvidia.com/mig.strategy": "single"},
    ),
    "mps": (
        4,
        "nvidia.com/gpu",
        gfd_labels("NVIDIA-L4-SHARED", memory=23034, replicas=4, sharing="mps", compute=(8, 9), cuda="12.2"),
    ),
    "gke": (
        2,
        "nvidia.com/gpu",
        {"cloud.google.com/gke-accelerator": "nvidia-l4", "cloud.google.com/gke-nodepool": "p"},
    ),
    "amd": (8, "amd.com/gpu", {"amd.com/gpu.product-name": "AMD_Instinct_MI300X_OAM", "amd.com/gpu.vram": "192G"}),
}
_TOLD = "family=turing, product=t4, sharing=time-slicing, replicas=2, gpu-memory=15360Mi"
_DEDICATED = {"key": "dedicated", "value": "ml", "effect": "NoSchedule"}
_GPU_TAINT = {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}
_SOFT = {"key": "slow", "effect": "PreferNoSchedule"}
_APPS = ("web", "train", "nb")
_POLICIES: tuple[dict[str, str], ...] = (
    {},
    {"families": "hopper, ampere"},
    {"families": "turing"},
    {"products": "t4"},
    {"min_gpu_memory": "40Gi"},
    {"max_gpu_memory": "24Gi"},
    {"sharing": "none, mig"},
    {"sharing": "time-slicing"},
    {"max_gpus_per_pod": "2"},
    {"min_cuda_version": "12.4"},
    {"node_selector": "disk=ssd"},
    {"families": "turing, hopper", "mode": "warn"},
    {"placement": "spread"},
)


def random_nodes(random: Random) -> list[Tree]:
    """15 to 30 nodes of different kinds, with taints, labels and sizes."""
    return [_node(random, f"n{number:02}") for number in range(random.randint(15, 30))]


def _node(random: Random, name: str) -> Tree:
    labels = {"zone": random.choice("abc"), "disk": random.choice(("ssd", "hdd")), "gen": str(random.randint(1, 9))}
    if random.random() < 0.1:
        del labels["zone"]
    size = {
        "cpu": random.choice(("2", "4", "8", "16", "64")),
        "memory": random.choice(("4Gi", "16Gi", "64Gi", "512Gi")),
        "pods": random.choice(("3", "110", "110")),
    }
    spec: dict[str, Any] = {"labels": labels, "allocatable": size}
    taints = [taint for taint, part in ((_DEDICATED, 0.15), (_GPU_TAINT, 0.3), (_SOFT, 0.1)) if random.random() < part]
    if taints:
        spec["taints"] = taints
    if random.random() < 0.06:
        spec["unschedulable"] = True
    return _model(random, name, spec)


def _model(random: Random, name: str, spec: dict[str, Any]) -> Tree:
    kind = random.choice(("t4", "t4", "shared", "shared", "h100", "a100", "cpu", "cpu", "bare", *_LABELLED))
    if kind in _LABELLED:
        gpus, resource, labels = _LABELLED[kind]
        return node(name, gpus=gpus, resource=resource, labels=labels | spec.pop("labels"), **spec)
    if kind == "t4":
        return t4_node(name, gpus=random.randint(1, 4), **spec)
    if kind == "shared":
        return t4_node(name, gpus=random.randint(1, 2), replicas=random.choice((2, 4)), **spec)
    if kind == "h100":
        return h100_node(name, gpus=random.choice((2, 8)), **spec)
    if kind == "a100":
        return a100_node(name, gpus=random.choice((2, 8)), **spec)
    if kind == "bare" and random.random() < 0.5:
        spec["annotations"] = {"gpusched.io/facts": _TOLD}
    return node(name, gpus=2 if kind == "bare" else None, **spec)


def random_namespaces(random: Random, prefix: str) -> list[Tree]:
    """Three namespaces with a policy each, sometimes one with a quota."""
    chosen = random.sample(_POLICIES, 3)
    trees = [namespace(f"{prefix}-{index}", **policy) for index, policy in enumerate(chosen)]
    if random.random() < 0.3:
        trees.append(namespace(f"{prefix}-q", quota=random.choice(("turing=2", "*=3", "ampere=1, hopper=1"))))
    return trees


def random_pod(random: Random, name: str, namespaces: list[str]) -> Tree:
    """A pod with or without a GPU, and with anything that decides where it may stand."""
    labels = {"app": random.choice(_APPS), "tier": random.choice(("x", "y"))}
    spec: dict[str, Any] = {}
    for part, add in ((0.25, _tolerate), (0.2, _select), (0.25, _node_affinity), (0.15, _spread), (0.2, _pod_affinity)):
        if random.random() < part:
            add(random, spec)
    if random.random() < 0.03:
        spec["runtimeClassName"] = "nvidia"
    if random.random() < 0.03:
        spec["nodeName"] = "n03"
    if random.random() < 0.03:
        spec["schedulingGates"] = [{"name": "example.com/later"}]
    containers = _containers(random)
    if random.random() < 0.1:
        spec["initContainers"] = [_cpu(random, container("init"))]
    if random.random() < 0.05:
        sidecar = _cpu(random, container("side", gpus=random.choice((None, 1))))
        spec["initContainers"] = [*spec.get("initContainers", []), sidecar | {"restartPolicy": "Always"}]
    return pod(name, random.choice(namespaces), *containers, labels=labels, annotations=_annotations(random), **spec)


def _containers(random: Random) -> list[Tree]:
    resource = random.choice(("nvidia.com/gpu",) * 8 + (MIG, MIG, "amd.com/gpu", "nvidia.com/gpus"))
    gpus = random.choice((None, None, None, 1, 1, 1, 1, 1, 2, 2, 4, 8, "0", "500m", "-1", "1k"))
    first = _cpu(random, container(gpus=gpus, resource=resource))
    if random.random() < 0.06 and gpus is not None:
        limits = first["resources"].pop("limits")
        first["resources"].setdefault("requests", {}).update({resource: limits[resource]})
    if random.random() < 0.08:
        first["ports"] = [{"containerPort": 80, "hostPort": random.choice((8080, 9090))}]
    if random.random() < 0.15:
        return [first, _cpu(random, container("second", gpus=random.choice((None, 1))))]
    return [first]


def _cpu(random: Random, tree: Tree) -> Tree:
    if random.random() < 0.7:
        requests = {"cpu": random.choice(("100m", "500m", "1", "3", "7500m"))}
        if random.random() < 0.5:
            requests["memory"] = random.choice(("128Mi", "2Gi", "20G", "1e9"))
        tree.setdefault("resources", {})["requests"] = requests
    return tree


def _annotations(random: Random) -> dict[str, str]:
    options = {
        "gpu-memory": ("2Gi", "3500Mi", "6Gi", "20Gi", "100Gi"),
        "families": ("turing", "hopper, ampere", "ada"),
        "products": ("t4", "h100", "a100-80gb"),
        "min-gpu-memory": ("16Gi", "40Gi", "20"),
        "sharing": ("none", "time-slicing, mps"),
        "placement": ("spread",),
        "min-driver-version": ("535",),
        "node-selector": ("zone in (a, b)", "disk!=hdd"),
        "familys": ("turing",),
        "min-cuda-version": ("12.0",),
        "max-gpu-memory": ("16Gi", "80G"),
        "runtime-class": ("never", "nvidia"),
    }
    chosen = [key for key in options if random.random() < (0.2 if key == "gpu-memory" else 0.04)]
    return {f"gpusched.io/{key}": random.choice(options[key]) for key in chosen}


def _tolerate(random: Random, spec: dict[str, Any]) -> None:
    spec["tolerations"] = random.choice(
        (
            [{"key": "dedicated", "operator": "Exists"}],
            [{"key": "dedicated", "operator": "Equal", "value": "ml", "effect": "NoSchedule"}],
            [{"key": "dedicated", "value": "other", "effect": "NoSchedule"}],
            [{"operator": "Exists"}],
            [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoExecute"}],
            [{"key": "node.kubernetes.io/unschedulable", "operator": "Exists", "effect": "NoSchedule"}],
        )
    )


def _select(random: Random, spec: dict[str, Any]) -> None:
    spec["nodeSelector"] = random.choice(({"zone": "a"}, {"disk": "ssd"}, {"zone": "b", "disk": "hdd"}))


def _node_affinity(random: Random, spec: dict[str, Any]) -> None:
    parts: tuple[dict[str, Any], ...] = (
        {"key": "zone", "operator": "In", "values": ["a", "b"]},
        {"key": "zone", "operator": "NotIn", "values": ["c"]},
        {"key": "gen", "operator": "Gt", "values": ["3"]},
        {"key": "gen", "operator": "Lt", "values": ["8"]},
        {"key": "zone", "operator": "Exists"},
        {"key": "disk", "operator": "DoesNotExist"},
        {"key": "nvidia.com/gpu.product", "operator": "In", "values": ["Tesla-T4", "NVIDIA-H100-80GB-HBM3"]},
        {"key": "nvidia.com/gpu.memory", "operator": "Gt", "values": ["40000"]},
    )
    terms: list[dict[str, Any]] = [
        {"matchExpressions": random.sample(parts, random.randint(1, 2))} for _ in range(random.randint(1, 2))
    ]
    if random.random() < 0.1:
        terms.append({"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n03"]}]})
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    spec.setdefault("affinity", {})["nodeAffinity"] = required


def _spread(random: Random, spec: dict[str, Any]) -> None:
    constraint: dict[str, Any] = {
        "maxSkew": random.choice((1, 1, 2)),
        "topologyKey": random.choice(("zone", "zone", "kubernetes.io/hostname")),
        "whenUnsatisfiable": random.choice(("DoNotSchedule", "DoNotSchedule", "ScheduleAnyway")),
        "labelSelector": {"matchLabels": {"app": random.choice(_APPS)}},
    }
    if constraint["whenUnsatisfiable"] == "DoNotSchedule" and random.random() < 0.2:
        constraint["minDomains"] = random.randint(2, 4)
    if random.random() < 0.3:
        constraint["nodeAffinityPolicy"] = random.choice(("Ignore", "Honor"))
    if random.random() < 0.3:
        constraint["nodeTaintsPolicy"] = random.choice(("Ignore", "Honor"))
    if random.random() < 0.2:
        constraint["matchLabelKeys"] = ["tier"]
    spec["topologySpreadConstraints"] = [constraint]


def _pod_affinity(random: Random, spec: dict[str, Any]) -> None:
    term: dict[str, Any] = {
        "labelSelector": {"matchExpressions": [{"key": "app", "operator": "In", "values": [random.choice(_APPS)]}]},
        "topologyKey": random.choice(("zone", "kubernetes.io/hostname", "disk")),
    }
    if random.random() < 0.3:
        term["namespaceSelector"] = {}
    if random.random() < 0.2:
        term[random.choice(("matchLabelKeys", "mismatchLabelKeys"))] = ["tier"]
    kind = random.choice(("podAffinity", "podAntiAffinity"))
    spec.setdefault("affinity", {})[kind] = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}


def has_gpus(tree: Tree) -> bool:
    """Whether the node offers a resource of a GPU vendor."""
    return any("/" in name for name in tree["status"]["allocatable"])
