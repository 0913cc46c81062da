"""Pods that wait, each for a reason of its own: the nodes, what runs there already, and the true cause."""

from typing import Any

import msgspec

from tests.build import Tree, a100_node, container, gfd_labels, h100_node, node, pod, t4_node

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


class Situation(msgspec.Struct, frozen=True):
    """`held` are created first and bound to `on`. `policy` is the namespace's; `later` replaces it once the pod waits.
    `cause` are the reasons that `why` must give; `blame` is part of what it says besides.
    """

    nodes: list[Tree]
    pod: Tree
    cause: set[str]
    held: list[Tree] = []
    policy: dict[str, str] = {}
    later: dict[str, str] | None = None
    blame: str = ""


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


def _mps_node(name: str) -> Tree:
    labels = gfd_labels("Tesla-T4-SHARED", count=1, replicas=4, sharing="mps", memory=15360)
    return node(name, gpus=4, labels=labels)


def _mig_node(name: str) -> Tree:
    labels = gfd_labels("NVIDIA-A100-SXM4-80GB", memory=81920, compute=(8, 0), family="ampere")
    return node(name, gpus=7, resource="nvidia.com/mig-1g.10gb", labels=labels)


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
    "anti-affinity": Situation(
        [t4_node("pe-t4", gpus=2)],
        pod("p", affinity=_anti("x")),
        {"native-pod-affinity"},
        held=[pod("old", labels={"app": "x"})],
    ),
    "only MIG slices": Situation([_mig_node("pe-mig")], pod("p"), {"native-resources"}),
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
}
