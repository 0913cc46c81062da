"""Pods that no node takes, each for a reason of its own, with the start of what should be suggested."""

from tests.build import Tree, a100_node, bound, container, gfd_labels, h100_node, namespace, node, pod, t4_node
from tests.simulate.scene import cpu_node, cpu_pod

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def own(**annotations: str) -> dict[str, str]:
    return {f"gpusched.io/{key.replace('_', '-')}": value for key, value in annotations.items()}


def term(app: str, key: str = "kubernetes.io/hostname") -> list[Tree]:
    return [{"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}}]


def _node_affinity(key: str, *values: str) -> Tree:
    term = {"matchExpressions": [{"key": key, "operator": "In", "values": list(values)}]}
    return {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [term]}}}


def _mig_node() -> Tree:
    labels = gfd_labels("NVIDIA-A100-SXM4-80GB", count=1, memory=81920, compute=(8, 0), family="ampere")
    return node("mig", gpus=None, allocatable={"nvidia.com/mig-1g.10gb": "7"}, labels=labels)


def _cpu(cpu: str, memory: str = "1Gi") -> Tree:
    return container(resources={"requests": {"cpu": cpu, "memory": memory}})


_SPREAD = [
    {
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "x"}},
    }
]

STATE = "nvidia.com/mig.config.state"
PLUGIN = "nvidia.com/gpu.deploy.device-plugin"


def _going(tree: Tree) -> Tree:
    tree["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    return tree


def _mig(name: str, gpus: int = 2) -> Tree:
    labels = gfd_labels("NVIDIA-H100-80GB-HBM3", count=1, memory=81559, compute=(9, 0), family="hopper")
    return node(f"n-{name}", gpus=gpus, resource=f"nvidia.com/mig-{name}", labels=labels)


def _amd(gpus: int) -> Tree:
    return node("mi", gpus=gpus, resource="amd.com/gpu", labels={"amd.com/gpu.family": "AI"})


SITUATIONS: dict[str, tuple[list[Tree], Tree, str]] = {
    "claim larger than a slot": (
        [t4_node("t", gpus=2, replicas=4)],
        pod("p", annotations=own(gpu_memory="6Gi")),
        "Set gpusched.io/gpu-memory: 3648Mi",
    ),
    "claim beside others on one GPU": (
        [t4_node("t", replicas=4), bound(pod("old", annotations=own(gpu_memory="10Gi")), "t")],
        pod("p", annotations=own(gpu_memory="8Gi")),
        "Wait: pod team-a/old on t holds it; or set gpusched.io/gpu-memory: 4352Mi",
    ),
    "claim where nothing is left": (
        [t4_node("t", replicas=4), bound(pod("old", annotations=own(gpu_memory="14590Mi")), "t")],
        pod("p", annotations=own(gpu_memory="8Gi")),
        # What is left would not hold a CUDA context.
        "Wait: pod team-a/old on t holds it",
    ),
    "GPUs that are being partitioned": (
        [h100_node("a", gpus=1, labels={STATE: "pending"}), h100_node("h", gpus=4, labels={STATE: "rebooting"})],
        pod("p", gpus=2),
        "Wait until the GPUs of h are reconfigured",
    ),
    "GPUs that are away while they are partitioned": (
        [
            cpu_node(),
            h100_node("h", gpus=4, labels={PLUGIN: "paused-for-mig-change"}, allocatable={"nvidia.com/gpu": 0}),
        ],
        pod("p", gpus=2),
        "Wait until the GPUs of h are reconfigured",
    ),
    "more GPUs than any node": ([h100_node("h", gpus=4)], pod("p", gpus=6), "Ask for nvidia.com/gpu: 4"),
    "one GPU too many": (
        [h100_node("h", gpus=4), bound(pod("old"), "h")],
        pod("p", gpus=4),
        "Wait: pod team-a/old on h holds it; or ask for nvidia.com/gpu: 3 in container main",
    ),
    "several slots under MPS": (
        [node("m", gpus=4, labels=gfd_labels("Tesla-T4-SHARED", count=1, replicas=4, sharing="mps"))],
        pod("p", gpus=2),
        "Ask for nvidia.com/gpu: 1",
    ),
    "all GPUs taken": ([t4_node("t"), bound(pod("old"), "t")], pod("p"), "Wait: pod team-a/old on t holds it"),
    "two pods in the way": (
        [h100_node("h", gpus=2), bound(pod("a"), "h"), bound(pod("b"), "h")],
        pod("p", gpus=2, annotations=own(families="hopper")),
        "",
    ),
    "own families that are not there": (
        [t4_node("t"), a100_node("a")],
        pod("p", annotations=own(families="hopper")),
        "Set gpusched.io/families: ampere",
    ),
    "own families outside the namespace's": (
        [t4_node("t"), h100_node("h"), bound(pod("x", gpus=8), "h"), namespace(families="hopper, turing")],
        pod("p", annotations=own(families="hopper")),
        "Wait: pod team-a/x on h holds it; or set gpusched.io/families: turing",
    ),
    "own product": ([t4_node("t")], pod("p", annotations=own(products="a100")), "Set gpusched.io/products: t4"),
    "own memory": (
        [t4_node("t")],
        pod("p", annotations=own(min_gpu_memory="40Gi")),
        "Set gpusched.io/min-gpu-memory: 16Gi",
    ),
    "own upper bound": (
        [h100_node("h")],
        pod("p", annotations=own(max_gpu_memory="40Gi")),
        "Set gpusched.io/max-gpu-memory: 80Gi",
    ),
    "own driver": (
        [t4_node("t")],
        pod("p", annotations=own(min_driver_version="580.10")),
        "Set gpusched.io/min-driver-version: 550.107.02",
    ),
    "own sharing": (
        [t4_node("t", replicas=4)],
        pod("p", annotations=own(sharing="none")),
        "Remove gpusched.io/sharing",
    ),
    "own node selector": (
        [t4_node("t")],
        pod("p", annotations=own(node_selector="rack=7")),
        "Remove gpusched.io/node-selector",
    ),
    "two bounds at once": (
        [t4_node("t")],
        pod("p", annotations=own(min_gpu_memory="40Gi", min_cuda_version="13.0")),
        "",
    ),
    "a taint": (
        [t4_node("t", taints=[{"key": "team", "value": "b", "effect": "NoSchedule"}])],
        pod("p"),
        "Tolerate team=b:NoSchedule",
    ),
    "a taint without a value": (
        [t4_node("t", taints=[{"key": "reserved", "effect": "NoExecute"}])],
        pod("p"),
        "Tolerate reserved:NoExecute",
    ),
    "a node selector": (
        [t4_node("t", labels={"zone": "a"})],
        pod("p", nodeSelector={"zone": "b"}),
        "Remove zone: b from spec.nodeSelector",
    ),
    "node affinity": (
        [t4_node("t", labels={"zone": "a"})],
        pod("p", affinity=_node_affinity("zone", "b", "c")),
        "Remove the required node affinity",
    ),
    "a cordoned node": ([t4_node("t", unschedulable=True)], pod("p"), "Uncordon t"),
    "too much cpu": (
        [t4_node("t", allocatable={"cpu": "4"})],
        pod("p", "team-a", _cpu("8") | {"resources": {"limits": {"nvidia.com/gpu": 1, "cpu": "8"}}}),
        "Ask for cpu: 4 in container main",
    ),
    "too much memory": (
        [cpu_node("c", allocatable={"memory": "2Gi"})],
        pod("p", "team-a", _cpu("1", "8Gi")),
        "Ask for memory: 2Gi in container main",
    ),
    "cpu held by another": (
        [cpu_node("c", allocatable={"cpu": "4"}), bound(cpu_pod("old", cpu="4"), "c")],
        cpu_pod("p", cpu="1"),
        "Wait: pod team-a/old on c holds it",
    ),
    "anti-affinity": (
        [t4_node("t", gpus=2), bound(pod("old", labels={"app": "x"}), "t")],
        pod("p", affinity={"podAntiAffinity": {REQUIRED: term("x")}}),
        "Wait: pod team-a/old on t keeps it away; or remove the required pod anti-affinity",
    ),
    "affinity to nobody": (
        [t4_node("t")],
        pod("p", affinity={"podAffinity": {REQUIRED: term("nobody")}}),
        "Remove the required pod affinity",
    ),
    "spread": (
        [
            t4_node("t", gpus=4),
            h100_node("h", taints=[{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]),
            bound(pod("old", labels={"app": "x"}), "t"),
        ],
        pod("p", labels={"app": "x"}, topologySpreadConstraints=_SPREAD),
        "Wait: pod team-a/old on t keeps it away; or remove spec.topologySpreadConstraints",
    ),
    "only slices": ([_mig_node()], pod("p"), "Ask for nvidia.com/mig-1g.10gb: 1 instead of nvidia.com/gpu"),
    "the namespace's families": (
        [t4_node("t"), namespace(families="hopper")],
        pod("p"),
        "An admin may widen gpusched.io/families of namespace team-a (now hopper)",
    ),
    "the namespace's memory": (
        [t4_node("t"), namespace(min_gpu_memory="40Gi")],
        pod("p"),
        "An admin may widen gpusched.io/min-gpu-memory of namespace team-a (now 40Gi)",
    ),
    "a taint and too many GPUs": (
        [h100_node("h", gpus=2, taints=[{"key": "team", "value": "b", "effect": "NoSchedule"}])],
        pod("p", gpus=3),
        "",
    ),
    "slots that many hold": (
        [_amd(4), *(bound(pod(name, resource="amd.com/gpu"), "mi") for name in ("a", "b"))],
        pod("p", gpus=4, resource="amd.com/gpu"),
        "Wait: pods team-a/a, team-a/b on mi hold it; or ask for amd.com/gpu: 2 in container main",
    ),
    "a pod that is going": (
        [t4_node("t", gpus=2), h100_node("h", gpus=2, unschedulable=True), bound(_going(pod("old")), "t")],
        pod("p", gpus=2),
        "Wait: pod team-a/old on t is going; or ask for nvidia.com/gpu: 1 in container main",
    ),
    "one that is going before one that stays": (
        [t4_node("s"), bound(pod("stays"), "s"), t4_node("t", gpus=2)]
        + [bound(_going(pod(name)), "t") for name in ("a", "b")],
        pod("p", gpus=1),
        "Wait: pod team-a/a on t is going",
    ),
    "a cordoned node of the family": (
        [t4_node("t"), h100_node("h", unschedulable=True)],
        pod("p", annotations=own(families="hopper")),
        "Uncordon h; or set gpusched.io/families: turing",
    ),
    "a taint on the family": (
        [t4_node("t"), h100_node("h", taints=[{"key": "team", "value": "b", "effect": "NoSchedule"}])],
        pod("p", annotations=own(families="hopper")),
        "Tolerate team=b:NoSchedule",
    ),
    "a taint before a wider policy": (
        [t4_node("t"), h100_node("h", taints=[{"key": "x", "effect": "NoSchedule"}]), namespace(families="hopper")],
        pod("p"),
        "Tolerate x:NoSchedule",
    ),
    "own CUDA": (
        [t4_node("t"), h100_node("h", labels=gfd_labels(cuda="12.8"))],
        pod("p", annotations=own(min_cuda_version="13.0")),
        'Set gpusched.io/min-cuda-version: "12.8"',
    ),
    "more cpu than is left": (
        [
            t4_node("t", gpus=2, allocatable={"cpu": "192"}),
            cpu_node("c", allocatable={"cpu": "384"}),
            bound(cpu_pod("agent", cpu="32"), "t"),
        ],
        pod("p", "team-a", container(resources={"limits": {"nvidia.com/gpu": 1, "cpu": "200"}})),
        "Ask for cpu: 160 in container main",
    ),
    "more than is left in several containers": (
        [t4_node("t", allocatable={"cpu": "16", "memory": "2100Gi"})],
        pod(
            "p",
            "team-a",
            container("a", resources={"limits": {"nvidia.com/gpu": 1, "cpu": "12", "memory": "2200Gi"}}),
            container("b", resources={"limits": {"cpu": "6500m", "memory": "100Gi"}}),
        ),
        "Ask for cpu: 9500m in container a and ask for memory: 2000Gi in container a",
    ),
    "a whole GPU's slice": (
        [t4_node("t", replicas=4), _mig("3g.40gb"), _mig("1g.10gb")],
        pod("p", resource="nvidia.com/mig-7g.80gb"),
        "Ask for nvidia.com/mig-3g.40gb: 1 instead of nvidia.com/mig-7g.80gb in container main (40.0Gi)",
    ),
    "a slice where whole GPUs are": (
        [t4_node("t", replicas=4), h100_node("h")],
        pod("p", resource="nvidia.com/mig-7g.80gb"),
        "Ask for nvidia.com/gpu: 1 instead of nvidia.com/mig-7g.80gb in container main (79.6Gi) and set ",
    ),
    "more than any node, and shared slots": (
        [h100_node("h", gpus=4), t4_node("t", gpus=2, replicas=4)],
        pod("p", gpus=9),
        "Ask for nvidia.com/gpu: 4 in container main",
    ),
    "more than any node, and all are held": (
        [h100_node("h", gpus=2), bound(pod("a", gpus=2), "h")],
        pod("p", gpus=3),
        "Ask for nvidia.com/gpu: 2 in container main and wait: pod team-a/a on h holds it",
    ),
    "own CUDA where all are held": (
        [t4_node("t"), bound(pod("old"), "t")],
        pod("p", annotations=own(min_cuda_version="13.0")),
        'Set gpusched.io/min-cuda-version: "12.4" and wait: pod team-a/old on t holds it',
    ),
}
