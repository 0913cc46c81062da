"""Which updates of workloads reach gpusched: those that change the pods, and no others."""

import pytest

from tests.build import container
from tests.e2e.definitions import defined
from tests.e2e.seen import denied, policy

MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"


def template(families=None):
    notes = {"gpusched.io/families": families} if families else {}
    return {"metadata": {"labels": {"app": "x"}, "annotations": notes}, "spec": {"containers": [container(gpus=1)]}}


def workload(version, kind, where, spec):
    return {"apiVersion": version, "kind": kind, "metadata": {"name": "x", "namespace": where}, "spec": spec}


def calls(installed):
    return installed.metric("gpusched_decisions_total", verb="validate")


def asked(installed, plane, path, change, content_type=MERGE):
    """How often gpusched is asked about a change, which is tried only so that no controller acts on it."""
    before = calls(installed)
    plane.request("PATCH", path, change, query={"dryRun": "All"}, content_type=content_type).expect()
    return calls(installed) - before


@pytest.fixture(scope="module")
def ray(control_plane):
    """KubeRay's RayCluster, with its status apart as KubeRay has it."""
    with defined(control_plane, "ray.io", "RayCluster", "rayclusters", status=True):
        yield


@pytest.fixture(scope="module")
def workflows(control_plane):
    """Argo's Workflow, whose controller writes the status into the object itself."""
    with defined(control_plane, "argoproj.io", "Workflow", "workflows", version="v1alpha1"):
        yield


DEPLOYMENT = {
    "scale": ({"spec": {"replicas": 0}}, 0),
    "pause": ({"spec": {"paused": True}}, 0),
    "label": ({"metadata": {"labels": {"a": "b"}}}, 0),
    "own annotation": ({"metadata": {"annotations": {"gpusched.io/families": "hopper"}}}, 0),
    "finalizer": ({"metadata": {"finalizers": ["example.com/hold"]}}, 0),
    "image": ({"spec": {"template": {"spec": {"containers": [{"name": "main", "image": "x:2"}]}}}}, 2),
    "GPUs": ({"spec": {"template": {"spec": {"containers": [container(gpus=2)]}}}}, 2),
    "restart": ({"spec": {"template": {"metadata": {"annotations": {"restartedAt": "now"}}}}}, 2),
}


@pytest.mark.parametrize(("change", "expected"), DEPLOYMENT.values(), ids=DEPLOYMENT)
def test_deployment(installed, control_plane, namespace, change, expected):
    """Two calls: one in each phase."""
    spec = {"replicas": 3, "paused": False, "selector": {"matchLabels": {"app": "x"}}, "template": template()}
    control_plane.create(workload("apps/v1", "Deployment", namespace, spec | {"replicas": 1})).expect()
    path = f"/apis/apps/v1/namespaces/{namespace}/deployments/x"
    # Its controller has done what it does at first.
    control_plane.wait_for(path, lambda tree: tree.get("status", {}).get("replicas") == 1)

    assert asked(installed, control_plane, path, change, STRATEGIC) == expected


CRON_JOB = {
    "suspend": ({"spec": {"suspend": True}}, 0),
    "schedule": ({"spec": {"schedule": "1 1 1 1 *"}}, 0),
    "pods": ({"spec": {"jobTemplate": {"spec": {"template": {"spec": {"priority": 0, "hostNetwork": True}}}}}}, 2),
}


@pytest.mark.parametrize(("change", "expected"), CRON_JOB.values(), ids=CRON_JOB)
def test_cron_job(installed, control_plane, namespace, change, expected):
    pods = template()
    pods["spec"]["restartPolicy"] = "Never"
    spec = {"schedule": "0 0 1 1 *", "jobTemplate": {"spec": {"template": pods}}}
    control_plane.create(workload("batch/v1", "CronJob", namespace, spec)).expect()

    path = f"/apis/batch/v1/namespaces/{namespace}/cronjobs/x"
    assert asked(installed, control_plane, path, change) == expected


CUSTOM = {
    "status": ({"status": {"phase": "Running"}}, 0),
    "label": ({"metadata": {"labels": {"a": "b"}}}, 0),
    "annotation": ({"metadata": {"annotations": {"last-activity": "now"}}}, 0),
    "finalizer": ({"metadata": {"finalizers": ["example.com/hold"]}}, 0),
    "spec": ({"spec": {"suspend": True}}, 1),
    "own annotation added": ({"metadata": {"annotations": {"gpusched.io/placement": "pack"}}}, 1),
    "own annotation changed": ({"metadata": {"annotations": {"gpusched.io/families": "ampere"}}}, 1),
    "own annotation removed": ({"metadata": {"annotations": {"gpusched.io/families": None}}}, 1),
    "no spec any more": ({"spec": None}, 1),
}


@pytest.mark.parametrize(("change", "expected"), CUSTOM.values(), ids=CUSTOM)
def test_custom_kind(installed, control_plane, namespace, ray, change, expected):
    tree = workload("ray.io/v1", "RayCluster", namespace, {"headGroupSpec": {"template": template()}})
    tree["metadata"]["annotations"] = {"gpusched.io/families": "hopper", "other": "x"}
    before = calls(installed)
    control_plane.create(tree).expect()
    assert calls(installed) == before + 1

    path = f"/apis/ray.io/v1/namespaces/{namespace}/rayclusters/x"
    assert asked(installed, control_plane, path, change) == expected
    assert asked(installed, control_plane, f"{path}/status", {"status": {"a": 1}, "spec": {"b": 1}}) == 0


@pytest.mark.parametrize(("change", "expected"), CUSTOM.values(), ids=CUSTOM)
def test_custom_kind_that_keeps_its_status_in_the_object(
    installed, control_plane, namespace, workflows, change, expected
):
    steps = [{"name": f"step-{number}", "container": container(gpus=1, env=[])} for number in range(200)]
    tree = workload("argoproj.io/v1alpha1", "Workflow", namespace, {"templates": steps})
    tree["metadata"]["annotations"] = {"gpusched.io/families": "hopper"}
    control_plane.create(tree).expect()

    path = f"/apis/argoproj.io/v1alpha1/namespaces/{namespace}/workflows/x"
    assert asked(installed, control_plane, path, change) == expected


def test_object_without_annotations_or_spec(installed, control_plane, namespace, workflows):
    tree = workload("argoproj.io/v1alpha1", "Workflow", namespace, None)
    del tree["spec"]
    control_plane.create(tree).expect()

    path = f"/apis/argoproj.io/v1alpha1/namespaces/{namespace}/workflows/x"
    assert asked(installed, control_plane, path, {"metadata": {"labels": {"a": "b"}}}) == 0
    assert asked(installed, control_plane, path, {"spec": {"templates": []}}) == 1


def test_a_change_of_a_custom_kind_is_judged_still(installed, control_plane, namespace, ray):
    policy(control_plane, namespace, families="turing")
    tree = workload("ray.io/v1", "RayCluster", namespace, {"headGroupSpec": {"template": template("turing")}})
    control_plane.create(tree).expect()

    change = {"spec": {"headGroupSpec": {"template": template("hopper")}}}
    path = f"/apis/ray.io/v1/namespaces/{namespace}/rayclusters/x"
    answer = control_plane.request("PATCH", path, change, content_type=MERGE)

    message = (
        f"gpu-policy-family: pod asks for hopper; namespace {namespace} allows turing. "
        "Set gpusched.io/families to one of these."
    )
    assert (answer.status, answer.message) == (403, denied(message, "custom-workloads.validate"))
