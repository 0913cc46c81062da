"""Pods that wait, each for a reason of its own: the nodes, what runs there already, and the true cause."""

from typing import Any

import msgspec

from tests.build import Tree, a100_node, container, gfd_labels, h100_node, node, pod, t4_node

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


class Situation(msgspec.Struct, frozen=True):
    """`held` are created first and bound to `on`. `policy` is the namespace's; `later` replaces it once the pod waits.
    `cause` are the reasons that `why` must give; `blame` is part of what it says besides. `going` are held pods that
    are being deleted; with `alternative` the second of two suggestions is followed.
    """

    nodes: list[Tree]
    pod: Tree
    cause: set[str]
    held: list[Tree] = []
    policy: dict[str, str] = {}
    later: dict[str, str] | None = None
    blame: str = ""
    going: tuple[str, ...] = ()
    alternative: bool = False


def own(**annotations: str) -> dict[str, str]:
    return {f"gpusched.io/{key.replace('_', '-')}": value for key, value in annotations.items()}


def _affinity(key: str, *values: str) -> Tree:
    term = {"matchExpressions": [{"key": key, "operator": "In", "values": list(values)}]}
    return {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [term]}}}


def _anti(app: str) -> Tree:
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": app}}}
    return {"podAntiAffinity": {REQUIRED: [term]}}


def _with_cpu(cpu: str) -> Tree:
    return container(resources={"limits": {"nvidia.com/gpu": "1", "cpu": cpu}})


def _with_port(port: int) -> Tree:
    return container(gpus=1, ports=[{"containerPort": 80, "hostPort": port}])


def _mps_node(name: str) -> Tree:
    labels = gfd_labels("Tesla-T4-SHARED", count=1, replicas=4, sharing="mps", memory=15360)
    return node(name, gpus=4, labels=labels)


def _mig_node(name: str) -> Tree:
    labels = gfd_labels("NVIDIA-A100-SXM4-80GB", memory=81920, compute=(8, 0), family="ampere")
    return node(name, gpus=7, resource="nvidia.com/mig-1g.10gb", labels=labels)


def _held_up(name: str) -> Tree:
    """A pod that is not gone as soon as it is deleted."""
    tree = pod(name)
    tree["metadata"]["finalizers"] = ["example.com/cleans-up"]
    return tree


TEAM: list[dict[str, Any]] = [{"key": "team", "value": "b", "effect": "NoSchedule"}]

SITUATIONS: dict[str, Situation] = {
    "all GPUs are taken": Situation(
        [t4_node("pe-t4")],
        pod("p"),
        {"native-resources"},
        held=[pod("old")],
        blame="Wait: pod",
    ),
    "more GPUs than any node has": Situation([h100_node("pe-h", gpus=4)], pod("p", gpus=6), {"native-resources"}),
    "a claim larger than a slot": Situation(
        [t4_node("pe-t4", gpus=2, replicas=4)],
        pod("p", annotations=own(gpu_memory="6Gi")),
        {"memory-claim"},
        blame="3648Mi left",
    ),
    "a claim beside another": Situation(
        [t4_node("pe-t4", replicas=4)],
        pod("p", annotations=own(gpu_memory="8Gi")),
        {"memory-claim"},
        held=[pod("old", annotations=own(gpu_memory="10Gi"))],
        blame="or set gpusched.io/gpu-memory: 4352Mi",
        alternative=True,
    ),
    "several slots under MPS": Situation([_mps_node("pe-mps")], pod("p", gpus=2), {"shared-single"}),
    "own families that are not there": Situation(
        [t4_node("pe-t4")],
        pod("p", annotations=own(families="hopper")),
        {"family"},
        blame="pod asks for hopper",
    ),
    "own product that is not there": Situation(
        [t4_node("pe-t4")],
        pod("p", annotations=own(products="a100")),
        {"product"},
    ),
    "own lower bound of memory": Situation(
        [t4_node("pe-t4")],
        pod("p", annotations=own(min_gpu_memory="40Gi")),
        {"memory"},
        blame="at least 40Gi",
    ),
    "own upper bound of memory": Situation(
        [h100_node("pe-h")],
        pod("p", annotations=own(max_gpu_memory="40Gi")),
        {"memory"},
    ),
    "own driver version": Situation(
        [t4_node("pe-t4")],
        pod("p", annotations=own(min_driver_version="580.10")),
        {"version"},
    ),
    "own kind of sharing": Situation(
        [t4_node("pe-t4", replicas=4)],
        pod("p", annotations=own(sharing="none")),
        {"sharing"},
    ),
    "own node selector in an annotation": Situation(
        [t4_node("pe-t4")],
        pod("p", annotations=own(node_selector="rack=7")),
        {"node-selector"},
    ),
    "the namespace's families": Situation(
        [t4_node("pe-t4")],
        pod("p"),
        {"family"},
        policy={"families": "hopper"},
        blame="allows hopper",
    ),
    "the namespace's memory": Situation(
        [t4_node("pe-t4")],
        pod("p"),
        {"memory"},
        policy={"min_gpu_memory": "40Gi"},
    ),
    "a policy that was widened since": Situation(
        [t4_node("pe-t4")],
        pod("p"),
        {"native-affinity"},
        policy={"families": "hopper"},
        later={"families": "hopper, turing"},
        blame="older policy",
    ),
    "a taint": Situation([t4_node("pe-t4", taints=TEAM)], pod("p"), {"native-taint"}, blame="team=b:NoSchedule"),
    "a node selector": Situation(
        [t4_node("pe-t4")],
        pod("p", nodeSelector={"zone": "b"}),
        {"native-affinity"},
        blame="zone=b",
    ),
    "node affinity beside a policy": Situation(
        [t4_node("pe-t4", labels={"zone": "a"})],
        pod("p", affinity=_affinity("zone", "b")),
        {"native-affinity"},
        policy={"families": "turing"},
        blame="zone",
    ),
    "a cordoned node": Situation(
        [t4_node("pe-t4", unschedulable=True)],
        pod("p"),
        {"native-unschedulable"},
        blame="Uncordon",
    ),
    "too much CPU beside the GPU": Situation(
        [t4_node("pe-t4", allocatable={"cpu": "4"})],
        pod("p", "team-a", _with_cpu("8")),
        {"native-resources"},
        blame="cpu",
    ),
    "a host port that is taken": Situation(
        [h100_node("pe-h", gpus=2)],
        pod("p", "team-a", _with_port(8080)),
        {"native-resources"},
        held=[pod("old", "team-a", _with_port(8080))],
        blame="host port 8080 is taken by pod",
    ),
    "a label's value that is misspelt": Situation(
        [t4_node("pe-t4", labels={"disk": "nvme"})],
        pod("p", nodeSelector={"disk": "nvm"}),
        {"native-affinity"},
        blame="disk is nvme",
    ),
    "anti-affinity": Situation(
        [t4_node("pe-t4", gpus=2)],
        pod("p", affinity=_anti("x")),
        {"native-pod-affinity"},
        held=[pod("old", labels={"app": "x"})],
    ),
    "only MIG slices": Situation([_mig_node("pe-mig")], pod("p"), {"no-resource"}),
    "a misspelt resource": Situation(
        [t4_node("pe-t4")],
        pod("p", resource="nvidia.com/gpus"),
        {"native-resources"},
        blame="nvidia.com/gpu",
    ),
    "one node for each of two reasons": Situation(
        [t4_node("pe-t4", taints=TEAM), a100_node("pe-a100")],
        pod("p", annotations=own(max_gpu_memory="20Gi")),
        {"native-taint", "memory"},
    ),
    "slots that several pods hold": Situation(
        [h100_node("pe-h", gpus=4)],
        pod("p", gpus=4),
        {"native-resources"},
        held=[pod("a"), pod("b")],
        blame="hold it; or ask for nvidia.com/gpu: 2",
    ),
    "a pod that is going": Situation(
        [h100_node("pe-h", gpus=2)],
        pod("p", gpus=2),
        {"native-resources"},
        held=[_held_up("old")],
        going=("old",),
        blame="old on pe-h is going; or ask for nvidia.com/gpu: 1",
    ),
    "a cordoned node of the family": Situation(
        [t4_node("pe-t4"), h100_node("pe-h", unschedulable=True)],
        pod("p", annotations=own(families="hopper")),
        {"native-unschedulable", "family"},
        blame="Uncordon pe-h; or set gpusched.io/families: turing",
    ),
    "own CUDA": Situation(
        [t4_node("pe-t4")],
        pod("p", annotations=own(min_cuda_version="13.0")),
        {"version"},
        blame='Set gpusched.io/min-cuda-version: "12.4"',
    ),
    "more CPU than is left": Situation(
        [t4_node("pe-t4", gpus=2, allocatable={"cpu": "192"}), node("pe-cpu", gpus=None, allocatable={"cpu": "384"})],
        pod("p", "team-a", _with_cpu("200")),
        {"native-resources", "no-resource"},
        held=[pod("old", "team-a", _with_cpu("32"))],
        blame="Ask for cpu: 160 in container main",
    ),
    "a MIG profile that is not there": Situation(
        [t4_node("pe-t4", replicas=4), _mig_node("pe-mig")],
        pod("p", resource="nvidia.com/mig-7g.80gb"),
        {"no-resource"},
        blame="Ask for nvidia.com/mig-1g.10gb: 1 instead of nvidia.com/mig-7g.80gb",
    ),
    "more than any node, and shared slots": Situation(
        [h100_node("pe-h", gpus=4), t4_node("pe-t4", gpus=2, replicas=4)],
        pod("p", gpus=9),
        {"native-resources"},
        blame="Ask for nvidia.com/gpu: 4 in container main",
    ),
}
