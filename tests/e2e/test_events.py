"""What people read in the events of a pod that no node takes: kube-scheduler's sentence, gpusched's reasons in it."""

from tests.build import a100_node, gfd_labels, h100_node, node, pod, t4_node
from tests.e2e.scheduling import bound_node, create, events, refusal
from tests.e2e.seen import nodes_seen, policy

HOPELESS = "Preemption is not helpful for scheduling"


def told(plane, namespace, name):
    """The texts of the events, each once."""
    return {(item["type"], item["reason"], item["message"]) for item in events(plane, namespace, name)}


def test_mixed_reasons(control_plane, installed, unlowered, namespace, fake_nodes):
    """Equal sentences are counted together, and kube-scheduler's own stand among them in the order of the text."""
    old = {"labels": gfd_labels("NVIDIA-A100-SXM4-80GB", count=1, memory=81920, compute=(8, 0), cuda="11.8")}
    fake_nodes(
        [
            h100_node("ev-h100-1"),
            h100_node("ev-h100-2"),
            t4_node("ev-t4"),
            a100_node("ev-full", gpus=0),
            a100_node("ev-tainted", taints=[{"key": "dedicated", "value": "ml", "effect": "NoSchedule"}]),
            a100_node("ev-other", labels={"disk": "hdd"}),
            a100_node("ev-cordoned", unschedulable=True),
            node("ev-old", **old),
            node("ev-bare"),
            node("ev-cpu", gpus=None),
        ]
    )
    nodes_seen(control_plane, "ev-h100-1", "ev-h100-2", "ev-t4", "ev-other", "ev-old", "ev-bare")
    policy(
        control_plane,
        namespace,
        families="ampere, turing",
        min_cuda_version="12.0",
        min_gpu_memory="20Gi",
        node_selector="disk!=hdd",
    )
    create(control_plane, pod("p", namespace))
    text = (
        "0/10 nodes are available: 1 GPU driver or CUDA version too old, 1 GPU facts needed by a rule are unknown, "
        "1 GPU memory outside the allowed bounds, 1 node labels do not match the GPU node-selector, "
        "1 node(s) had untolerated taint(s), 1 node(s) were unschedulable, 2 GPU family not allowed, "
        f"2 Insufficient nvidia.com/gpu. preemption: 0/10 nodes are available: 10 {HOPELESS}."
    )
    assert refusal(control_plane, namespace, "p") == text
    assert told(control_plane, namespace, "p") == {("Warning", "FailedScheduling", text)}


def test_live_reasons(control_plane, installed, unlowered, namespace, fake_nodes):
    """What is short at the moment."""
    fake_nodes([t4_node("ev-shared", gpus=1, replicas=4), t4_node("ev-whole"), h100_node("ev-h100")])
    nodes_seen(control_plane, "ev-shared", "ev-whole", "ev-h100")
    policy(control_plane, namespace, families="turing")
    for name, claim, node_name in (("big", "10Gi", "ev-shared"), ("whole", "12Gi", "ev-whole")):
        selector = {"kubernetes.io/hostname": node_name}
        create(
            control_plane, pod(name, namespace, annotations={"gpusched.io/gpu-memory": claim}, nodeSelector=selector)
        )
        assert bound_node(control_plane, namespace, name) == node_name
    create(control_plane, pod("p", namespace, annotations={"gpusched.io/gpu-memory": "6Gi"}))
    text = (
        "0/3 nodes are available: 1 GPU family not allowed, 1 Insufficient nvidia.com/gpu, "
        "1 not enough unclaimed GPU memory. preemption: 0/3 nodes are available: "
        f"1 No preemption victims found for incoming pod, 2 {HOPELESS}."
    )
    assert refusal(control_plane, namespace, "p") == text
    assert told(control_plane, namespace, "p") == {("Warning", "FailedScheduling", text)}


def test_lowered_policy_is_told_by_the_scheduler(control_plane, installed, namespace, fake_nodes):
    """The annotation says which policy stands behind the affinity that did not match."""
    fake_nodes([h100_node("ev-h100"), t4_node("ev-t4"), node("ev-cpu", gpus=None)])
    nodes_seen(control_plane, "ev-h100", "ev-t4")
    policy(control_plane, namespace, families="ampere")
    tree = create(control_plane, pod("p", namespace))
    assert tree["metadata"]["annotations"]["status.gpusched.io/lowered"] == f"families=ampere (namespace {namespace})"
    assert refusal(control_plane, namespace, "p") == (
        "0/3 nodes are available: 3 node(s) didn't match Pod's node affinity/selector. preemption: 0/3 nodes are "
        f"available: 3 {HOPELESS}."
    )


def test_a_bound_pod_says_so(control_plane, installed, namespace, fake_nodes):
    fake_nodes([t4_node("ev-t4")])
    nodes_seen(control_plane, "ev-t4")
    create(control_plane, pod("p", namespace))
    assert bound_node(control_plane, namespace, "p") == "ev-t4"
    scheduled = ("Normal", "Scheduled", f"Successfully assigned {namespace}/p to ev-t4")
    control_plane.wait_until(lambda: told(control_plane, namespace, "p") == {scheduled}, what="event")
