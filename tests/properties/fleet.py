"""Nodes of every kind and policies of every kind, for properties that hold of any cluster."""

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from tests.build import Tree, container, gfd_labels, namespace, node, pod

GPU = "nvidia.com/gpu"
MIG = "nvidia.com/mig-1g.5gb"
AMD = "amd.com/gpu"
_HOPPER = gfd_labels("NVIDIA-H100-80GB-HBM3", count=8, memory=81559, compute=(9, 0), family="hopper", cuda="12.8")
_A100 = gfd_labels("NVIDIA-A100-SXM4-40GB", count=8, memory=40960, compute=(8, 0), family="ampere", cuda="11.8")
_L4 = gfd_labels("NVIDIA-L4", memory=23034, compute=(8, 9), family="ampere", driver="535.54")
_KARPENTER = "karpenter.k8s.aws/instance-gpu-"


def _gke(accelerator: str, **labels: str) -> dict[str, str]:
    prefix = "cloud.google.com/gke-"
    keys = {"accelerator": accelerator, "nodepool": "p", "accelerator-count": "1"}
    return {f"{prefix}{key.replace('_', '-')}": value for key, value in (keys | labels).items()}


def _karpenter(name: str, memory: int, count: int = 1) -> dict[str, str]:
    facts = {"name": name, "manufacturer": "nvidia", "count": str(count), "memory": str(memory)}
    return {f"{_KARPENTER}{key}": value for key, value in facts.items()} | {"karpenter.sh/nodepool": "gpu"}


#: Nodes that only a cloud has labelled, as an autoscaler knows them before they exist.
TEMPLATES: tuple[Callable[[str], Tree], ...] = (
    lambda name: node(name, labels=_gke("nvidia-tesla-t4")),
    lambda name: node(name, labels=_gke("nvidia-l4")),
    lambda name: node(name, labels=_gke("nvidia-tesla-a100")),
    lambda name: node(name, labels=_gke("nvidia-h100-80gb")),
    lambda name: node(
        name,
        gpus=4,
        labels=_gke("nvidia-tesla-t4", gpu_sharing_strategy="time-sharing", max_shared_clients_per_gpu="4"),
    ),
    lambda name: node(
        name, gpus=2, labels=_gke("nvidia-l4", gpu_sharing_strategy="mps", max_shared_clients_per_gpu="2")
    ),
    lambda name: node(name, gpus=7, labels=_gke("nvidia-tesla-a100", gpu_partition_size="1g.5gb")),
    lambda name: node(name, labels=_karpenter("t4", 16384)),
    lambda name: node(name, labels=_karpenter("a10g", 24576)),
    lambda name: node(name, gpus=8, labels=_karpenter("a100", 40960, 8)),
    lambda name: node(name, gpus=8, labels=_karpenter("h100", 81920, 8)),
    lambda name: node(
        name, labels={"node.kubernetes.io/instance-type": "g4dn.xlarge", "eks.amazonaws.com/nodegroup": "g"}
    ),
)
_FACTS = "gpusched.io/facts"
#: Nodes as they stand in clusters, good, odd and broken.
MODELS: tuple[Callable[[str], Tree], ...] = (
    *TEMPLATES,
    lambda name: node(name, gpus=8, labels=_HOPPER),
    lambda name: node(name, gpus=8, labels=_A100),
    lambda name: node(name, labels=_L4),
    lambda name: node(name, gpus=4, labels=gfd_labels("Tesla-T4-SHARED", replicas=4)),
    lambda name: node(
        name,
        gpus=2,
        labels=gfd_labels("NVIDIA-L4", memory=23034, compute=(8, 9), replicas=2, sharing="mps", family="ada-lovelace"),
    ),
    lambda name: node(name, gpus=3, labels=gfd_labels()),
    lambda name: node(name, labels=gfd_labels(memory=None)),
    lambda name: node(name, labels=gfd_labels("NVIDIA-FUTURE-9000", memory=99999, compute=(99, 0), family="undefined")),
    lambda name: node(name, labels=gfd_labels() | {"nvidia.com/mig.config.state": "pending"}),
    lambda name: node(name, labels=gfd_labels() | {"nvidia.com/gpu.present": "false"}),
    lambda name: node(name, gpus=8, labels=_HOPPER, annotations={_FACTS: "sharing=time-slicing, replicas=2"}),
    lambda name: node(
        name,
        gpus=2,
        labels=gfd_labels("NVIDIA-A100-SXM4-40GB-MIG-1g.5gb", count=2, memory=4864, compute=(8, 0), family="ampere")
        | {"nvidia.com/mig.strategy": "single"},
    ),
    lambda name: node(
        name,
        labels=gfd_labels(
            "NVIDIA-A100-SXM4-40GB-MIG-INVALID", count=0, memory=0, replicas=0, compute=(8, 0), family="ampere"
        )
        | {"nvidia.com/mig.strategy": "single"},
    ),
    lambda name: node(name, gpus=7, labels=_A100 | {"nvidia.com/mig.strategy": "mixed"}, allocatable={MIG: "7"}),
    lambda name: node(name, gpus=0, labels=_A100 | {"nvidia.com/mig.strategy": "mixed"}, allocatable={MIG: "14"}),
    lambda name: node(
        name,
        gpus=4,
        labels=gfd_labels("NVIDIA-A100-PCIE-80GB", count=4, memory=81920, compute=(8, 0), family="ampere"),
        allocatable={"nvidia.com/gpu.shared": "0"},
    ),
    lambda name: node(
        name,
        resource=AMD,
        gpus=8,
        labels={
            "amd.com/gpu.product-name": "AMD_Instinct_MI300X_OAM",
            "amd.com/gpu.vram": "192G",
            "amd.com/gpu.family": "AI",
            "amd.com/gpu.device-id": "74a1",
        },
    ),
    lambda name: node(name, resource=AMD, gpus=1),
    node,
    lambda name: node(name, gpus=None),
)
_ZONES = st.sampled_from(["a", "b", None])


def _placed(tree: Tree, zone: str | None) -> Tree:
    if zone is not None:
        tree["metadata"]["labels"]["zone"] = zone
    return tree


def nodes(models: tuple[Callable[[str], Tree], ...] = MODELS, most: int = 8) -> st.SearchStrategy[list[Tree]]:
    """Some nodes, each of one of the models, in a zone or in none."""
    return st.lists(st.tuples(st.sampled_from(models), _ZONES), min_size=1, max_size=most).map(
        lambda chosen: [_placed(model(f"n{turn}"), zone) for turn, (model, zone) in enumerate(chosen)]
    )


#: Rules that namespaces and pods share, their keys with `_` for `-`.
RULES: dict[str, st.SearchStrategy[str]] = {
    "families": st.sampled_from(["turing", "ampere, hopper", "ada", "turing, ampere, ada-lovelace, hopper", "cdna3"]),
    "products": st.sampled_from(["t4", "a100", "a100, h100-80gb", "l4, t4, a10g", "mi300x", "future-9000"]),
    "min_gpu_memory": st.sampled_from(["4Gi", "16Gi", "15360Mi", "15361Mi", "24G", "40Gi", "80Gi"]),
    "max_gpu_memory": st.sampled_from(["5G", "15360Mi", "15359Mi", "40Gi", "80G"]),
    "sharing": st.sampled_from(["none", "none, mig", "time-slicing", "mps", "none, time-slicing", "mig, mps"]),
    "min_cuda_version": st.sampled_from(["11.8", "12.4", "12.8"]),
    "min_driver_version": st.sampled_from(["535.54", "550.107.02", "550.107.03"]),
    "node_selector": st.sampled_from(["zone=a", "!zone", "zone in (a,b)", "zone notin (a)"]),
}


@st.composite
def policies(draw: st.DrawFn, rules: int = 3) -> dict[str, str]:
    """A few rules, most often none or one."""
    keys = draw(st.lists(st.sampled_from(sorted(RULES)), max_size=rules, unique=True))
    return {key: draw(RULES[key]) for key in keys}


def team(policy: dict[str, str]) -> Tree:
    """The namespace of the pods, with this policy."""
    return namespace("team-a", **policy)


def _annotations(policy: dict[str, str]) -> dict[str, str]:
    return {f"gpusched.io/{key.replace('_', '-')}": value for key, value in policy.items()}


_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_EXPRESSIONS = st.sampled_from(
    [
        {"key": "zone", "operator": "In", "values": ["a"]},
        {"key": "zone", "operator": "DoesNotExist"},
        {"key": "gpusched.io/mixed", "operator": "DoesNotExist"},
        {"key": "kubernetes.io/hostname", "operator": "NotIn", "values": ["n0"]},
    ]
)
_TERMS = st.lists(
    st.fixed_dictionaries({"matchExpressions": st.lists(_EXPRESSIONS, min_size=1, max_size=2)}), min_size=1, max_size=2
)
_AFFINITIES = st.none() | _TERMS.map(lambda terms: {"nodeAffinity": {_REQUIRED: {"nodeSelectorTerms": terms}}})
_CONTAINERS = st.lists(
    st.tuples(st.sampled_from([GPU, GPU, GPU, MIG, AMD]), st.sampled_from([1, 1, 1, 2])), min_size=1, max_size=2
)


@st.composite
def pods(draw: st.DrawFn, rules: int = 2) -> Tree:
    """A pod that asks for GPUs, perhaps with rules of its own and affinity."""
    asked = draw(_CONTAINERS)
    containers = [container(f"c{turn}", gpus=gpus, resource=resource) for turn, (resource, gpus) in enumerate(asked)]
    spec: dict[str, Any] = {"affinity": affinity} if (affinity := draw(_AFFINITIES)) else {}
    if draw(st.booleans()) and draw(st.booleans()):
        spec["nodeSelector"] = {"zone": "b"}
    return pod("p", "team-a", *containers, annotations=_annotations(draw(policies(rules))), **spec)


_CLAIMS = st.sampled_from(["1Gi", "4Gi", "20Gi", "100Gi", "6", "6GB"])
_ODD_RESOURCES = [GPU, GPU, MIG, AMD, "nvidia.com/gpus", "gpu", "nvidia.com/mig-1g.6gb", "cpu"]
_ODD_AMOUNTS = [1, 2, 8, 0, "0.5", "-1", "1"]
_ENV = [
    [],
    [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}],
    [{"name": "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", "value": "0=99G"}],
]
_ODD_KEYS = [
    {},
    {},
    {"gpusched.io/gpu-memroy": "1Gi"},
    {"gpusched.io/families": "hoper"},
    {"status.gpusched.io/bound": "n0"},
]


@st.composite
def odd_pods(draw: st.DrawFn) -> Tree:
    """A pod with anything that a rule of admission looks at, right or wrong."""
    containers = []
    for turn in range(draw(st.integers(1, 3))):
        resource, gpus = draw(st.sampled_from(_ODD_RESOURCES)), draw(st.sampled_from(_ODD_AMOUNTS))
        tree = container(f"c{turn}", gpus=gpus, resource=resource, env=list(draw(st.sampled_from(_ENV))))
        if draw(st.integers(0, 3)) == 0:
            tree["resources"]["requests"] = {resource: draw(st.sampled_from(_ODD_AMOUNTS))}
        containers.append(tree)
    annotations = _annotations(draw(policies(2))) | draw(st.sampled_from(_ODD_KEYS))
    if draw(st.integers(0, 2)) == 0:
        annotations["gpusched.io/gpu-memory"] = draw(_CLAIMS)
    spec: dict[str, Any] = {"nodeName": "n0"} if draw(st.integers(0, 5)) == 0 else {}
    if affinity := draw(_AFFINITIES):
        spec["affinity"] = affinity
    return pod("p", "team-a", *containers, annotations=annotations, **spec)
