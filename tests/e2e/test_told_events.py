"""What gpusched itself tells by events: why a pod waits and what would help, on the objects that it is about."""

import json
import re
import time

import pytest

from tests.build import h100_node, pod, t4_node
from tests.e2e.scheduling import annotate_namespace, bound_node, create, delete, say
from tests.e2e.seen import nodes_seen, policy

WATCHED_SECONDS = 10.0
#: A pod waits 10 s before anything is said, and rounds are 5 s apart.
SECONDS = 90.0
MANY = 50
MERGE = "application/merge-patch+json"


def own_events(plane, namespace):
    """Events that gpusched wrote in a namespace."""
    query = {"fieldSelector": "source=gpusched"}
    return plane.get(f"/api/v1/namespaces/{namespace}/events", query=query)["items"]


def about(plane, namespace, name, reason):
    return [
        item
        for item in own_events(plane, namespace)
        if item["involvedObject"]["name"] == name and item["reason"] == reason
    ]


def told(plane, namespace, name, reason, text=""):
    """The message of the one event of this reason, once it holds the text."""

    def message():
        found = about(plane, namespace, name, reason)
        assert len(found) <= 1
        return found[0]["message"] if found and text in found[0]["message"] else None

    found = plane.wait_until(message, SECONDS, f"{reason} about {name}")
    say(f"{reason}: {found}")
    return found


@pytest.fixture
def shared(control_plane, installed, namespace, fake_nodes):
    """One T4 for four pods, of whose memory one pod has claimed 10 GiB."""
    fake_nodes([t4_node("te-shared", gpus=1, replicas=4), h100_node("te-h100", unschedulable=True)])
    nodes_seen(control_plane, "te-shared", "te-h100")
    policy(control_plane, namespace, families="turing")
    create(control_plane, pod("holds", namespace, annotations={"gpusched.io/gpu-memory": "10Gi"}))
    bound_node(control_plane, namespace, "holds")
    return namespace


def test_the_change_that_is_suggested_makes_the_pod_run(control_plane, installed, shared):
    create(control_plane, pod("p", shared, annotations={"gpusched.io/gpu-memory": "8Gi"}))

    message = told(control_plane, shared, "p", "GPUUnschedulable")

    matched = re.fullmatch(
        r"0 of 2 nodes take it: 1 memory-claim \((\S+) left for a claim per slot\), "
        r"1 native-unschedulable \(te-h100 is cordoned\)\. Wait: pod \S+/holds on te-shared holds it; "
        r"or set gpusched\.io/gpu-memory: (\S+)",
        message,
    )
    assert matched, message
    assert matched[1] == matched[2]
    _, body = installed.admin(f"/api/v1/why?namespace={shared}&name=p")
    why = json.loads(body)["why"]
    reasons = ", ".join(f"{item['nodes']} {item['code']} ({item['message']})" for item in why["reasons"])
    assert message == f"0 of 2 nodes take it: {reasons}. {why['suggestion']}"
    delete(control_plane, shared, "p")
    create(control_plane, pod("p", shared, annotations={"gpusched.io/gpu-memory": matched[2]}))
    assert bound_node(control_plane, shared, "p") == "te-shared"


def test_policy_that_the_scheduler_judges_by_affinity(control_plane, installed, namespace, fake_nodes):
    """kube-scheduler says that some affinity does not match; gpusched says whose policy that is, and what then."""
    fake_nodes([t4_node("te-t4")])
    nodes_seen(control_plane, "te-t4")
    policy(control_plane, namespace, families="ampere")
    create(control_plane, pod("p", namespace))
    message = told(control_plane, namespace, "p", "GPUUnschedulable")
    assert message == (
        f"0 of 1 nodes take it: 1 family ({namespace} allows ampere; here: turing). "
        f"An admin may widen gpusched.io/families of namespace {namespace} (now ampere)"
    )

    annotate_namespace(control_plane, namespace, families="ampere, turing")

    assert told(control_plane, namespace, "p", "GPUPolicyStale") == (
        f"It was created under an older policy (families=ampere (namespace {namespace})): recreate it, so that the "
        "policy of today holds"
    )
    delete(control_plane, namespace, "p")
    create(control_plane, pod("p", namespace))
    assert bound_node(control_plane, namespace, "p") == "te-t4"


def test_shortage_that_gpusched_does_not_follow(control_plane, installed, namespace, fake_nodes):
    """Pods without a GPU hold the processors of the only node."""
    fake_nodes([t4_node("te-t4", allocatable={"cpu": "4"})])
    nodes_seen(control_plane, "te-t4")
    selector = {"nodeSelector": {"kubernetes.io/hostname": "te-t4"}}
    cpu = pod("cpu", namespace, gpus=None, **selector)
    cpu["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "3"}}
    create(control_plane, cpu)
    bound_node(control_plane, namespace, "cpu")
    tree = pod("p", namespace)
    tree["spec"]["containers"][0]["resources"]["requests"] = {"cpu": "2"}
    create(control_plane, tree)

    assert told(control_plane, namespace, "p", "GPUUnschedulable") == (
        "0 of 1 nodes take it: 1 native-resources (not enough cpu: asks for 2, 1 of 4 free). "
        f"Wait: pod {namespace}/cpu on te-t4 holds it; or ask for cpu: 1 in container main"
    )


def test_quota(control_plane, installed, namespace, fake_nodes):
    fake_nodes([t4_node("te-t4", gpus=4)])
    nodes_seen(control_plane, "te-t4")
    policy(control_plane, namespace, quota="turing=1", families="turing")
    create(control_plane, pod("holds", namespace))
    bound_node(control_plane, namespace, "holds")
    create(control_plane, pod("next", namespace))
    told(control_plane, namespace, "next", "GPUQuotaWait")
    create(control_plane, pod("last", namespace))

    text = f"Waits for the GPU quota of namespace {namespace}: place {{}} in the line, slots held by holds"
    assert told(control_plane, namespace, "next", "GPUQuotaWait") == text.format(1)
    assert told(control_plane, namespace, "last", "GPUQuotaWait") == text.format(2)

    delete(control_plane, namespace, "holds")
    bound_node(control_plane, namespace, "next")
    assert told(control_plane, namespace, "last", "GPUQuotaWait", "place 1") == (
        f"Waits for the GPU quota of namespace {namespace}: place 1 in the line, slots held by next"
    )


def test_policy_that_came_round_the_webhook(control_plane, installed, namespace):
    """namespaces/status takes metadata and is not seen by webhooks for namespaces."""
    tree = {"metadata": {"annotations": {"gpusched.io/min-gpu-memory": "20"}}}
    control_plane.request("PATCH", f"/api/v1/namespaces/{namespace}/status", tree, content_type=MERGE).expect()

    assert told(control_plane, "default", namespace, "GPUPolicyInvalid") == (
        'gpusched.io/min-gpu-memory: "20" has no unit; write 20Gi; '
        "until then its GPU pods are refused where it enforces"
    )


def test_nodes_that_nobody_can_use(control_plane, installed, namespace, fake_nodes):
    invalid = {"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB-MIG-INVALID", "nvidia.com/mig.strategy": "single"}
    changing = {"nvidia.com/mig.config.state": "pending", "nvidia.com/gpu.deploy.mig-manager": "true"}
    sick = {"nvidia.com/gpu": "8"}
    fake_nodes(
        [
            h100_node("te-sick", gpus=0, capacity=sick),
            h100_node("te-invalid", labels=invalid),
            h100_node("te-changing", labels=changing),
            h100_node("te-good"),
        ]
    )

    assert told(control_plane, "default", "te-sick", "GPUNodeUnusable") == (
        "nvidia.com/gpu: none of 8 is healthy: look at the device plugin"
    )
    assert told(control_plane, "default", "te-invalid", "GPUNodeUnusable").startswith(
        "nvidia.com/gpu: MIG configuration is invalid"
    )
    for name in ("te-changing", "te-good"):
        assert about(control_plane, "default", name, "GPUNodeUnusable") == []


def test_many_pods_have_one_event_each_and_nothing_is_repeated_or_dropped(control_plane, installed, shared):
    dropped = installed.metric("gpusched_events_dropped_total")
    names = {f"p{index}" for index in range(MANY)}
    for name in sorted(names):
        create(control_plane, pod(name, shared, annotations={"gpusched.io/gpu-memory": "8Gi"}))

    def all_told():
        return {item["involvedObject"]["name"] for item in own_events(control_plane, shared)} == names

    control_plane.wait_until(all_told, SECONDS, "an event about each pod")
    before = own_events(control_plane, shared)
    time.sleep(WATCHED_SECONDS)
    assert own_events(control_plane, shared) == before
    assert len(before) == MANY
    assert {item["count"] for item in before} == {1}
    assert installed.metric("gpusched_events_dropped_total") == dropped
