"""Quota of namespaces: the gate, who goes first, and how soon a pod moves once something gives way."""

import time

import pytest

from tests.build import h100_node, pod, t4_node
from tests.e2e.scheduling import (
    annotate_namespace,
    bound_in,
    bound_node,
    bound_nodes,
    create,
    delete,
    priority_class,
    read,
    reconfigure,
    refusal,
    say,
)
from tests.e2e.seen import nodes_seen, policy

GATE = [{"name": "gpusched.io/quota"}]
WATCHED_SECONDS = 3.0
#: Waking gathers changes for a fraction of a second, and two rounds are 2 s apart.
SOON_SECONDS = 5.0


@pytest.fixture
def nodes(control_plane, installed, fake_nodes):
    fake_nodes([t4_node("qu-t4", gpus=8), h100_node("qu-h100")])
    nodes_seen(control_plane, "qu-t4", "qu-h100")


def of(family):
    return {"gpusched.io/families": family}


def gated(plane, namespace, name):
    return read(plane, namespace, name)["spec"].get("schedulingGates") == GATE


def stays_gated(plane, namespace, *names):
    """Looked at after a fixed time, in which a pod that may go would be bound ten times."""
    time.sleep(WATCHED_SECONDS)
    return [name for name in names if gated(plane, namespace, name)]


def timed(what, holds):
    began = time.monotonic()
    found = holds()
    seconds = time.monotonic() - began
    say(f"{what}: {seconds:.2f} s")
    assert seconds < SOON_SECONDS
    return found


def test_quota_per_family(control_plane, nodes, namespace):
    """A pod waits for its own family alone."""
    policy(control_plane, namespace, quota="turing=2, hopper=1, *=4")
    for index in range(3):
        create(control_plane, pod(f"t{index}", namespace, annotations=of("turing")))
    for index in range(2):
        create(control_plane, pod(f"h{index}", namespace, annotations=of("hopper")))
    assert bound_nodes(control_plane, namespace, ["t0", "t1", "h0"]) == ["qu-t4", "qu-t4", "qu-h100"]
    assert stays_gated(control_plane, namespace, "t2", "h1") == ["t2", "h1"]
    assert bound_in(control_plane, namespace) == {"t0": "qu-t4", "t1": "qu-t4", "h0": "qu-h100"}
    delete(control_plane, namespace, "h0")
    assert timed("deleted pod, gate lifted and bound", lambda: bound_node(control_plane, namespace, "h1")) == "qu-h100"
    assert gated(control_plane, namespace, "t2")


def test_all_families_together(control_plane, nodes, namespace):
    policy(control_plane, namespace, quota="*=3")
    create(control_plane, pod("two", namespace, gpus=2))
    assert bound_node(control_plane, namespace, "two")
    create(control_plane, pod("more", namespace, gpus=2))
    create(control_plane, pod("small", namespace, gpus=1))
    assert stays_gated(control_plane, namespace, "more", "small") == ["more", "small"]
    delete(control_plane, namespace, "two")
    bound_nodes(control_plane, namespace, ["more", "small"])


def test_a_higher_quota_lets_the_pod_go(control_plane, nodes, namespace):
    policy(control_plane, namespace, quota="turing=1", families="turing")
    for name in ("one", "two", "three"):
        create(control_plane, pod(name, namespace))
        if name == "one":
            bound_node(control_plane, namespace, name)
    assert stays_gated(control_plane, namespace, "two", "three") == ["two", "three"]
    annotate_namespace(control_plane, namespace, quota="turing=2")
    timed("quota raised, gate lifted and bound", lambda: bound_node(control_plane, namespace, "two"))
    annotate_namespace(control_plane, namespace, quota=None)
    timed("quota removed, gate lifted and bound", lambda: bound_node(control_plane, namespace, "three"))


def test_priority_before_age(control_plane, nodes, namespace):
    priority_class(control_plane, "e2e-high", 1000)
    policy(control_plane, namespace, quota="turing=1", families="turing")
    create(control_plane, pod("first", namespace))
    bound_node(control_plane, namespace, "first")
    for name in ("older", "younger"):
        create(control_plane, pod(name, namespace))
    create(control_plane, pod("high", namespace, priorityClassName="e2e-high"))
    order = []
    for expected in ("high", "older", "younger"):
        control_plane.wait_until(lambda: gated(control_plane, namespace, "younger"), what="in line")
        delete(control_plane, namespace, order[-1] if order else "first")
        bound_node(control_plane, namespace, expected)
        order.append(expected)
        assert set(bound_in(control_plane, namespace)) == {expected}


def test_the_wider_policy_of_a_namespace_wakes_its_pods(control_plane, unlowered, nodes, namespace):
    """A Namespace is no event for kube-scheduler; gpusched annotates the pod that waits."""
    policy(control_plane, namespace, families="ampere")
    create(control_plane, pod("p", namespace))
    assert refusal(control_plane, namespace, "p").startswith("0/2 nodes are available: 2 GPU family not allowed.")
    time.sleep(WATCHED_SECONDS)
    assert bound_in(control_plane, namespace) == {}
    annotate_namespace(control_plane, namespace, families="ampere, turing")
    assert timed("namespace changed, bound", lambda: bound_node(control_plane, namespace, "p")) == "qu-t4"


@pytest.fixture
def ceiling(control_plane, installed):
    """A ceiling in the configuration, taken off when the test ends if not before."""
    reconfigure(control_plane, installed, {"ceiling": {"families": "ampere"}})
    yield
    reconfigure(control_plane, installed, {"ceiling": {}})


def test_the_configuration_wakes_pods(control_plane, installed, unlowered, nodes, namespace, ceiling):
    policy(control_plane, namespace, families="ampere, turing")
    create(control_plane, pod("p", namespace))
    refusal(control_plane, namespace, "p")
    reconfigure(control_plane, installed, {"ceiling": {}})
    timed("configuration changed, bound", lambda: bound_node(control_plane, namespace, "p"))


def test_a_deleted_pod_wakes_the_one_that_waits_for_its_claim(control_plane, installed, namespace, fake_nodes):
    fake_nodes([t4_node("qu-shared", gpus=1, replicas=4)])
    nodes_seen(control_plane, "qu-shared")
    claim = {"gpusched.io/gpu-memory": "8Gi"}
    create(control_plane, pod("holds", namespace, annotations=claim))
    bound_node(control_plane, namespace, "holds")
    create(control_plane, pod("waits", namespace, annotations=claim))
    refusal(control_plane, namespace, "waits")
    delete(control_plane, namespace, "holds")
    timed("deleted pod, claim free and bound", lambda: bound_node(control_plane, namespace, "waits"))


def test_no_wake_is_lost_when_the_scheduler_hears_of_it_first(control_plane, installed, namespace, fake_nodes):
    """kube-scheduler asks at once when a pod is deleted, about one time in five before gpusched has seen it go."""
    fake_nodes([t4_node("qu-shared", gpus=1, replicas=4)])
    nodes_seen(control_plane, "qu-shared")
    claim = {"gpusched.io/gpu-memory": "8Gi"}
    woken = installed.metric("gpusched_pods_woken_total")
    create(control_plane, pod("p0", namespace, annotations=claim))
    bound_node(control_plane, namespace, "p0")
    for turn in range(1, 25):
        create(control_plane, pod(f"p{turn}", namespace, annotations=claim))
        refusal(control_plane, namespace, f"p{turn}")
        delete(control_plane, namespace, f"p{turn - 1}")
        bound_node(control_plane, namespace, f"p{turn}", SOON_SECONDS)
    say(f"{installed.metric('gpusched_pods_woken_total') - woken:.0f} of 24 pods woken by gpusched")
