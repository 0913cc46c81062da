"""What makes an extender and kube-scheduler call each other without end, or hold up pods without a GPU: not here.

That something does not happen is shown by counting over a fixed time.
"""

import os
import signal
import time

import pytest

from tests.build import pod, t4_node
from tests.e2e.scheduling import (
    CALLS_OF_A_REFUSAL,
    bound_node,
    create,
    events,
    filter_calls,
    priority_class,
    refusal,
    say,
)
from tests.e2e.seen import nodes_seen

WATCHED_SECONDS = 20.0
CLAIM = {"gpusched.io/gpu-memory": "10Gi"}
NODES = ["hl-1", "hl-2", "hl-3"]


@pytest.fixture
def claimed(control_plane, installed, namespace, fake_nodes):
    """Nodes with free slots, on each of which a pod of low priority claims most of the memory."""
    fake_nodes(t4_node(name, gpus=1, replicas=4) for name in NODES)
    nodes_seen(control_plane, *NODES)
    priority_class(control_plane, "e2e-high", 1000)
    for index, _ in enumerate(NODES):
        create(control_plane, pod(f"low-{index}", namespace, annotations=CLAIM))
        bound_node(control_plane, namespace, f"low-{index}")
    return namespace


def test_a_shortage_that_only_the_extender_knows(control_plane, installed, claimed):
    """Pods of lower priority stand on every node, so preemption is tried; refused in FailedNodes it never ends."""
    before = filter_calls(installed)
    create(control_plane, pod("high", claimed, annotations=CLAIM, priorityClassName="e2e-high"))
    text = (
        "0/3 nodes are available: 3 not enough unclaimed GPU memory. preemption: 0/3 nodes are available: "
        "3 Preemption is not helpful for scheduling."
    )
    assert refusal(control_plane, claimed, "high") == text
    time.sleep(WATCHED_SECONDS)
    assert filter_calls(installed) - before == CALLS_OF_A_REFUSAL
    told = [item for item in events(control_plane, claimed, "high") if item["source"].get("component") != "gpusched"]
    assert [(item["reason"], item["note" if "note" in item else "message"]) for item in told] == [
        ("FailedScheduling", text)
    ] * len(told)
    assert sum(item.get("series", item).get("count") or 1 for item in told) <= CALLS_OF_A_REFUSAL


def test_many_refused_pods_of_unequal_claims(control_plane, installed, claimed):
    """What is left differs from node to node and from pod to pod, and changes; the sentence does not."""
    pods = 10
    before = filter_calls(installed)
    for index in range(pods):
        create(control_plane, pod(f"p{index}", claimed, annotations={"gpusched.io/gpu-memory": f"{5 + index}Gi"}))
        refusal(control_plane, claimed, f"p{index}")
    time.sleep(WATCHED_SECONDS)
    assert filter_calls(installed) - before == pods * CALLS_OF_A_REFUSAL
    create(control_plane, pod("small", claimed, annotations={"gpusched.io/gpu-memory": "1Gi"}))
    bound_node(control_plane, claimed, "small")
    time.sleep(WATCHED_SECONDS / 4)
    calls = filter_calls(installed) - before
    say(f"{pods} waiting pods and one that was bound and ran: {calls:.0f} filter calls")
    assert calls <= (pods + 1) * 5 * CALLS_OF_A_REFUSAL


def latency(plane, namespace, name):
    """Seconds from the creation of a pod without a GPU until it is bound."""
    began = time.monotonic()
    create(plane, pod(name, namespace, gpus=None))
    bound_node(plane, namespace, name, 60)
    return time.monotonic() - began


def waiting_pods(plane, namespace, count=5):
    for index in range(count):
        create(plane, pod(f"wait-{index}", namespace, annotations=CLAIM))
        refusal(plane, namespace, f"wait-{index}")


def test_pods_without_a_gpu_do_not_wait_for_a_dead_extender(control_plane, installed, claimed):
    waiting_pods(control_plane, claimed)
    # In order, so that the next leader need not wait for bindings of this one.
    installed.stop()
    try:
        seconds = [latency(control_plane, claimed, f"cpu-{index}") for index in range(8)]
    finally:
        installed.start()
    say(f"extender dead, 5 GPU pods pending, CPU pods bound after {', '.join(f'{s:.2f}' for s in seconds)} s")
    assert max(seconds) < 2


def test_pods_without_a_gpu_wait_little_for_a_stopped_extender(control_plane, installed, claimed):
    """Every call takes the 1 s of httpTimeout; with the default of 5 s it was 24 to 28 s a pod."""
    waiting_pods(control_plane, claimed)
    pid = control_plane.children["gpusched"].pid
    os.kill(pid, signal.SIGSTOP)
    try:
        seconds = [latency(control_plane, claimed, f"cpu-{index}") for index in range(8)]
    finally:
        os.kill(pid, signal.SIGCONT)
    say(f"extender stopped, 5 GPU pods pending, CPU pods bound after {', '.join(f'{s:.2f}' for s in seconds)} s")
    assert max(seconds) < 10
