"""Quota: GPU pods wait behind a scheduling gate, which is lifted when there is room for them."""

import time

import pytest

from tests.build import container, node, pod, t4_node
from tests.e2e.seen import nodes_seen, policy

MERGE = "application/merge-patch+json"
GATE = {"name": "gpusched.io/quota"}
#: Lifting takes tenths of a second; the bound is for busy machines.
LIFTED_SECONDS = 5


def path(namespace, name):
    return f"/api/v1/namespaces/{namespace}/pods/{name}"


def set_quota(plane, namespace, quota):
    change = {"metadata": {"annotations": {"gpusched.io/quota": quota}}}
    plane.request("PATCH", f"/api/v1/namespaces/{namespace}", change, content_type=MERGE).expect()


def bound(plane, namespace, name, seconds=60.0):
    """Wait for the node of a pod."""
    return plane.wait_for(path(namespace, name), lambda tree: tree["spec"].get("nodeName"), seconds, f"{name} bound")


def gated(plane, namespace, *names):
    """Which of these pods wait behind the gate."""
    return [name for name in names if plane.get(path(namespace, name))["spec"].get("schedulingGates") == [GATE]]


def delete(plane, namespace, name):
    plane.request("DELETE", path(namespace, name), query={"gracePeriodSeconds": "0"}).expect()


@pytest.fixture
def nodes(installed, control_plane, fake_nodes):
    fake_nodes([t4_node("t4", gpus=8)])
    nodes_seen(control_plane, "t4")


def test_gated_at_creation_lifted_as_far_as_the_quota_goes_and_again_when_there_is_room(
    nodes, installed, control_plane, namespace
):
    policy(control_plane, namespace, quota="*=1")
    created = control_plane.create(pod("first", namespace)).expect()
    assert created["spec"]["schedulingGates"] == [GATE]
    began = time.monotonic()
    bound(control_plane, namespace, "first")
    assert time.monotonic() - began < LIFTED_SECONDS

    control_plane.create(pod("second", namespace)).expect()
    control_plane.create(pod("cpu", namespace, gpus=None)).expect()
    # Nothing is to happen to the second: it is looked at when the pod without GPU, created later, runs.
    bound(control_plane, namespace, "cpu")
    assert gated(control_plane, namespace, "first", "second") == ["second"]

    delete(control_plane, namespace, "first")
    began = time.monotonic()
    bound(control_plane, namespace, "second")
    assert time.monotonic() - began < LIFTED_SECONDS


def test_pod_says_that_it_is_gated(nodes, control_plane, namespace):
    policy(control_plane, namespace, quota="*=0")
    control_plane.create(pod("p", namespace)).expect()

    def reason(tree):
        conditions = tree["status"].get("conditions", [])
        return next((each["reason"] for each in conditions if each["type"] == "PodScheduled"), None)

    assert control_plane.wait_for(path(namespace, "p"), reason) == "SchedulingGated"


@pytest.mark.parametrize("quota", ["*=3", "turing=3", None])
def test_larger_quota_lifts_at_once(nodes, control_plane, namespace, quota):
    policy(control_plane, namespace, quota="*=1")
    names = ["a", "b", "c"]
    for name in names:
        control_plane.create(pod(name, namespace)).expect()
    control_plane.wait_until(lambda: len(gated(control_plane, namespace, *names)) == 2, what="one lifted")

    set_quota(control_plane, namespace, quota)

    began = time.monotonic()
    for name in names:
        bound(control_plane, namespace, name)
    assert time.monotonic() - began < LIFTED_SECONDS


def test_older_goes_first_and_priority_before_age(nodes, control_plane, namespace):
    urgent = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "e2e-urgent"},
        "value": 1000,
        "preemptionPolicy": "Never",
    }
    control_plane.apply([urgent])
    policy(control_plane, namespace, quota="*=0")
    for name, extra in (("old", {}), ("young", {}), ("urgent", {"priorityClassName": "e2e-urgent"})):
        control_plane.create(pod(name, namespace, **extra)).expect()
    names = ["urgent", "old", "young"]

    for count, name in enumerate(names, start=1):
        set_quota(control_plane, namespace, f"*={count}")
        bound(control_plane, namespace, name)
        assert gated(control_plane, namespace, *names) == names[count:]


def test_pods_of_one_job_are_lifted_together(nodes, control_plane, namespace):
    policy(control_plane, namespace, quota="*=2")
    control_plane.create(pod("holder", namespace)).expect()
    bound(control_plane, namespace, "holder")
    template = {"spec": {"containers": [container(gpus=1)], "restartPolicy": "Never"}}
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "pair", "namespace": namespace},
        "spec": {"parallelism": 2, "completions": 2, "template": template},
    }
    control_plane.create(job).expect()
    pods, selected = f"/api/v1/namespaces/{namespace}/pods", {"labelSelector": "job-name=pair"}

    def of_job():
        return control_plane.get(pods, query=selected)["items"]

    control_plane.wait_until(lambda: len(of_job()) == 2, what="pods of the Job")
    control_plane.create(pod("cpu", namespace, gpus=None)).expect()
    bound(control_plane, namespace, "cpu")
    assert [item["spec"].get("schedulingGates") for item in of_job()] == [[GATE], [GATE]]

    delete(control_plane, namespace, "holder")

    control_plane.wait_until(lambda: all(item["spec"].get("nodeName") for item in of_job()), what="Job's pods bound")


def test_quota_that_is_only_warned_of_gates_nobody(nodes, control_plane, namespace):
    policy(control_plane, namespace, quota="*=0", mode="enforce,quota=warn")

    created = control_plane.create(pod("p", namespace)).expect()

    assert "schedulingGates" not in created["spec"]
    bound(control_plane, namespace, "p")


def test_pod_older_than_the_quota_is_refused_by_the_extender_and_woken_by_a_larger_one(
    nodes, installed, control_plane, namespace, fake_nodes
):
    """It has no gate, and no change of a Namespace is an event for kube-scheduler."""
    control_plane.create(pod("holder", namespace)).expect()
    bound(control_plane, namespace, "holder")
    control_plane.create(pod("older", namespace, nodeSelector={"late": "yes"})).expect()
    policy(control_plane, namespace, quota="*=1")
    late = {"metadata": {"labels": {"late": "yes"}}}
    control_plane.request("PATCH", "/api/v1/nodes/t4", late, content_type=MERGE).expect()

    def refusal(tree):
        conditions = tree["status"].get("conditions", [])
        message = next((each.get("message", "") for each in conditions if each["type"] == "PodScheduled"), "")
        return message if "quota" in message else None

    told = control_plane.wait_for(path(namespace, "older"), refusal)
    assert told.startswith("0/1 nodes are available: 1 GPU quota of the namespace is used up.")

    set_quota(control_plane, namespace, "*=2")
    began = time.monotonic()
    bound(control_plane, namespace, "older")
    assert time.monotonic() - began < LIFTED_SECONDS
    assert "status.gpusched.io/woken" in control_plane.get(path(namespace, "older"))["metadata"]["annotations"]


def test_gate_of_somebody_else_stays(nodes, control_plane, namespace):
    policy(control_plane, namespace, quota="*=1")
    theirs = {"name": "example.com/hold"}

    created = control_plane.create(pod("p", namespace, schedulingGates=[theirs])).expect()

    assert created["spec"]["schedulingGates"] == [theirs, GATE]
    control_plane.wait_for(path(namespace, "p"), lambda tree: tree["spec"]["schedulingGates"] == [theirs])


def test_pod_on_a_node_of_its_own_choice_gets_no_gate(nodes, control_plane, namespace, fake_nodes):
    fake_nodes([node("plain")])
    policy(control_plane, namespace, quota="*=1", mode="enforce,node-name=warn")

    created = control_plane.create(pod("p", namespace, nodeName="plain")).expect()

    assert "schedulingGates" not in created["spec"]
