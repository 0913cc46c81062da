"""Evictions for the sake of GPU pods: those that help, and none that does not."""

import time

import pytest

from tests.build import a100_node, h100_node, node, pod, t4_node
from tests.e2e.scheduling import (
    CALLS_OF_A_REFUSAL,
    bound_in,
    bound_node,
    create,
    filter_calls,
    priority_class,
    read,
    refusal,
)
from tests.e2e.seen import nodes_seen, policy

WATCHED_SECONDS = 5.0
HIGH = {"priorityClassName": "e2e-high"}
#: A container that shares GPU nodes with the low pods and needs cpu that those hold.
BUSY = "40"


@pytest.fixture
def late(control_plane, unlowered):
    """kube-scheduler finds out too late for its own preemption, by a pod of high priority."""
    priority_class(control_plane, "e2e-high", 1000)


def busy(name, namespace, *, gpus=1, **extra):
    """A pod that needs more than half of a node's cpu besides its GPU."""
    tree = pod(name, namespace, gpus=gpus, terminationGracePeriodSeconds=0, **extra)
    tree["spec"]["containers"][0]["resources"].setdefault("requests", {})["cpu"] = BUSY
    return tree


def filled(plane, namespace, names, **extra):
    """A low pod on each node, which leaves GPU slots free but not the cpu."""
    lows = {}
    for index, name in enumerate(names):
        selector = {"nodeSelector": {"kubernetes.io/hostname": name}}
        create(plane, busy(f"low-{index}", namespace, **selector, **extra))
        lows[f"low-{index}"] = bound_node(plane, namespace, f"low-{index}")
    assert sorted(lows.values()) == sorted(names)
    return lows


def assert_nobody_leaves(plane, installed, namespace, lows, text, before):
    """Counted over a fixed time, in which the eviction of all low pods took a tenth."""
    assert refusal(plane, namespace, "high") == text
    time.sleep(WATCHED_SECONDS)
    assert bound_in(plane, namespace) == lows
    assert "nominatedNodeName" not in read(plane, namespace, "high")["status"]
    assert filter_calls(installed) - before <= CALLS_OF_A_REFUSAL


def test_a_useful_eviction(control_plane, installed, late, namespace, fake_nodes):
    """Only one node has the family, and only its pod goes."""
    fake_nodes([t4_node("pr-t4-1", gpus=4), t4_node("pr-t4-2", gpus=4), h100_node("pr-h100")])
    names = ["pr-t4-1", "pr-t4-2", "pr-h100"]
    nodes_seen(control_plane, *names)
    filled(control_plane, namespace, names)
    create(control_plane, busy("high", namespace, annotations={"gpusched.io/families": "hopper"}, **HIGH))
    assert bound_node(control_plane, namespace, "high") == "pr-h100"
    assert bound_in(control_plane, namespace) == {"low-0": "pr-t4-1", "low-1": "pr-t4-2", "high": "pr-h100"}


def test_a_useful_eviction_with_lowered_policy(control_plane, installed, namespace, fake_nodes):
    priority_class(control_plane, "e2e-high", 1000)
    fake_nodes([t4_node("pr-t4", gpus=4), h100_node("pr-h100")])
    nodes_seen(control_plane, "pr-t4", "pr-h100")
    filled(control_plane, namespace, ["pr-t4", "pr-h100"])
    create(control_plane, busy("high", namespace, annotations={"gpusched.io/families": "hopper"}, **HIGH))
    assert bound_node(control_plane, namespace, "high") == "pr-h100"
    assert bound_in(control_plane, namespace) == {"low-0": "pr-t4", "high": "pr-h100"}


def test_a_victim_frees_the_last_slot(control_plane, installed, late, namespace, fake_nodes):
    """The GPU itself is what is short, natively."""
    fake_nodes([t4_node("pr-t4"), a100_node("pr-a100", gpus=1)])
    nodes_seen(control_plane, "pr-t4", "pr-a100")
    filled(control_plane, namespace, ["pr-t4", "pr-a100"])
    before = installed.metric("gpusched_decisions_total", verb="preempt", code="kept")
    create(control_plane, pod("high", namespace, annotations={"gpusched.io/families": "ampere"}, **HIGH))
    assert bound_node(control_plane, namespace, "high") == "pr-a100"
    assert bound_in(control_plane, namespace) == {"low-0": "pr-t4", "high": "pr-a100"}
    assert installed.metric("gpusched_decisions_total", verb="preempt", code="kept") - before >= 1


def test_nobody_leaves_for_a_pod_that_policy_refuses(control_plane, installed, late, namespace, fake_nodes):
    names = ["pr-1", "pr-2", "pr-3", "pr-4"]
    fake_nodes(t4_node(name, gpus=4) for name in names)
    nodes_seen(control_plane, *names)
    lows = filled(control_plane, namespace, names)
    before = filter_calls(installed)
    create(control_plane, busy("high", namespace, annotations={"gpusched.io/families": "hopper"}, **HIGH))
    text = "0/4 nodes are available: 4 Insufficient cpu. preemption: no candidate node for preemption"
    assert_nobody_leaves(control_plane, installed, namespace, lows, text, before)


def test_nobody_leaves_for_a_claim_that_does_not_fit_anyway(control_plane, installed, late, namespace, fake_nodes):
    """The victims hold the cpu; the memory is claimed by pods that stay."""
    names = ["pr-1", "pr-2"]
    fake_nodes(t4_node(name, gpus=1, replicas=4) for name in names)
    nodes_seen(control_plane, *names)
    lows = filled(control_plane, namespace, names)
    keep = {}
    for index, name in enumerate(names):
        tree = pod(
            f"keep-{index}",
            namespace,
            annotations={"gpusched.io/gpu-memory": "8Gi"},
            nodeSelector={"kubernetes.io/hostname": name},
            **HIGH,
        )
        create(control_plane, tree)
        keep[f"keep-{index}"] = bound_node(control_plane, namespace, f"keep-{index}")
    before = filter_calls(installed)
    create(control_plane, busy("high", namespace, annotations={"gpusched.io/gpu-memory": "8Gi"}, **HIGH))
    text = "0/2 nodes are available: 2 Insufficient cpu. preemption: no candidate node for preemption"
    assert_nobody_leaves(control_plane, installed, namespace, lows | keep, text, before)


def test_nobody_leaves_for_a_pod_over_quota(control_plane, installed, late, namespace, fake_nodes):
    """The pod passed its gate while there was room; then the quota was lowered."""
    fake_nodes([t4_node("pr-t4", gpus=4), node("pr-cpu", gpus=None)])
    nodes_seen(control_plane, "pr-t4")
    policy(control_plane, namespace, quota="turing=3")
    lows = filled(control_plane, namespace, ["pr-t4"])
    create(control_plane, pod("keep", namespace, **HIGH))
    lows["keep"] = bound_node(control_plane, namespace, "keep")
    held = busy("high", namespace, nodeSelector={"kubernetes.io/hostname": "pr-none"}, **HIGH)
    create(control_plane, held)
    refusal(control_plane, namespace, "high")
    policy(control_plane, namespace, quota="turing=1")
    before = filter_calls(installed)
    control_plane.request(
        "PATCH",
        "/api/v1/nodes/pr-t4",
        {"metadata": {"labels": {"kubernetes.io/hostname": "pr-none"}}},
        content_type="application/merge-patch+json",
    ).expect()
    text = (
        "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) didn't match Pod's node affinity/selector. "
        "preemption: no candidate node for preemption"
    )
    control_plane.wait_until(lambda: refusal(control_plane, namespace, "high") == text, what="tried again")
    assert_nobody_leaves(control_plane, installed, namespace, lows, text, before)
