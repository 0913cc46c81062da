"""Pods that no node takes, for which several measures must or may be taken, with the start of what is suggested."""

from tests.build import Tree, a100_node, bound, h100_node, pod, t4_node
from tests.simulate.situations import REQUIRED, own, term

ANTI: Tree = {"podAntiAffinity": {REQUIRED: term("x")}}

COMBINED: dict[str, tuple[list[Tree], Tree, str]] = {
    "more GPUs than any node of its families": (
        [h100_node("h"), t4_node("t", gpus=8, replicas=4)],
        pod("p", gpus=16, annotations=own(families="hopper")),
        "Ask for nvidia.com/gpu: 8",
    ),
    "more GPUs than any node, and few are free": (
        [h100_node("h"), a100_node("a"), bound(pod("x", gpus=7), "h")],
        pod("p", gpus=16, annotations=own(families="hopper")),
        "Ask for nvidia.com/gpu: 8 in container main and wait: pod team-a/x on h holds it; or ask for ",
    ),
    "a claim larger than any slot, and all are held": (
        [t4_node("t", replicas=2), bound(pod("a", gpus=2), "t")],
        pod("p", annotations=own(gpu_memory="40Gi")),
        "Set gpusched.io/gpu-memory: 14592Mi and wait: pod team-a/a on t holds it",
    ),
    "a claim larger than any slot, and too many slots": (
        [t4_node("t", replicas=2), bound(pod("a", gpus=2), "t")],
        pod("p", gpus=3, annotations=own(gpu_memory="40Gi")),
        "Set gpusched.io/gpu-memory: 7296Mi and ask for nvidia.com/gpu: 2 in container main (shared slots",
    ),
    "a claim larger than any slot of a cordoned node": (
        [t4_node("t", replicas=2, unschedulable=True)],
        pod("p", annotations=own(gpu_memory="40Gi")),
        "Set gpusched.io/gpu-memory: 14592Mi and uncordon t",
    ),
    "a cordoned node beside a full one": (
        [h100_node("a", unschedulable=True), h100_node("b"), bound(pod("x", gpus=8), "b")],
        pod("p"),
        "Wait: pod team-a/x on b holds it; or uncordon a",
    ),
    "a cordoned node beside a tainted one": (
        [t4_node("a", unschedulable=True), t4_node("b", taints=[{"key": "x", "effect": "NoSchedule"}])],
        pod("p"),
        "Tolerate x:NoSchedule; or uncordon a",
    ),
    "anti-affinity to itself": (
        [h100_node("h"), a100_node("a"), bound(pod("old", labels={"app": "x"}, affinity=ANTI), "h")],
        pod("p", labels={"app": "x"}, affinity=ANTI, annotations=own(families="hopper")),
        "Wait: pod team-a/old on h keeps it away; or set gpusched.io/families: ampere",
    ),
    "anti-affinity over several nodes": (
        [h100_node("h", labels={"zone": "z"}), t4_node("t", gpus=2, labels={"zone": "z"})]
        + [bound(pod(name, labels={"app": "x"}), name[0]) for name in ("h-1", "t-1")],
        pod("p", affinity={"podAntiAffinity": {REQUIRED: term("x", "zone")}}),
        "Wait: pods team-a/h-1, team-a/t-1 keep it away; or remove the required pod anti-affinity",
    ),
    "shared slots while whole GPUs are held": (
        [h100_node("h"), bound(pod("a", gpus=8), "h"), t4_node("t", gpus=2, replicas=4)],
        pod("p", gpus=9),
        "Ask for nvidia.com/gpu: 8 in container main and wait: pod team-a/a on h holds it; or ask for nvidia.com/gpu: ",
    ),
    "no other GPUs than shared ones": (
        [t4_node("t", gpus=2, replicas=4)],
        pod("p", gpus=9),
        "Ask for nvidia.com/gpu: 1 in container main (shared slots of t, 3.8Gi each)",
    ),
}
