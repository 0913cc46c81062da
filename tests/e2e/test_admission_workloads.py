"""Workloads are refused when they are applied; what stands already can be restarted, scaled and deleted."""

import pytest

from tests.build import container, pod
from tests.e2e.definitions import defined
from tests.e2e.seen import denied, policy

APPS, BATCH = "/apis/apps/v1/namespaces", "/apis/batch/v1/namespaces"
MERGE = "application/merge-patch+json"
FAMILY = (
    "gpu-policy-family: pod asks for hopper; namespace {ns} allows turing. Set gpusched.io/families to one of these."
)


def template(gpus=1, families=None, labels=None, **spec):
    """A pod template that asks for GPUs, and for families if they are named."""
    notes = {"gpusched.io/families": families} if families else {}
    about = {"labels": labels or {"app": "x"}, "annotations": notes}
    return {"metadata": about, "spec": {"containers": [container(gpus=gpus)]} | spec}


def workload(version, kind, where, spec, name="x"):
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, "namespace": where}, "spec": spec}


def deployment(where, pods, replicas=0):
    selector = {"matchLabels": {"app": "x"}}
    spec = {"replicas": replicas, "selector": selector, "template": pods}
    return workload("apps/v1", "Deployment", where, spec)


def of_kind(kind, where, pods):
    """A workload of a kind with these pods."""
    once = {"template": pods | {"spec": pods["spec"] | {"restartPolicy": "Never"}}}
    selected = {"selector": {"matchLabels": {"app": "x"}}, "template": pods}
    schedule = {"schedule": "0 0 1 1 *", "jobTemplate": {"spec": once}}
    return {
        "Deployment": lambda: deployment(where, pods),
        "StatefulSet": lambda: workload("apps/v1", kind, where, selected | {"serviceName": "x", "replicas": 0}),
        "DaemonSet": lambda: workload("apps/v1", kind, where, selected),
        "ReplicaSet": lambda: workload("apps/v1", kind, where, selected | {"replicas": 0}),
        "Job": lambda: workload("batch/v1", kind, where, once | {"suspend": True}),
        "CronJob": lambda: workload("batch/v1", kind, where, schedule),
        "ReplicationController": lambda: workload("v1", kind, where, {"replicas": 0, "template": pods}),
        "PodTemplate": lambda: {
            "apiVersion": "v1",
            "kind": kind,
            "metadata": {"name": "x", "namespace": where},
            "template": pods,
        },
    }[kind]()


HOOKS = {
    "Deployment": "workloads",
    "StatefulSet": "workloads",
    "DaemonSet": "workloads",
    "ReplicaSet": "workloads",
    "Job": "workloads",
    "ReplicationController": "workloads",
    "CronJob": "cronjobs",
    "PodTemplate": "podtemplates",
}


@pytest.mark.parametrize("kind", HOOKS)
def test_workload_outside_policy_is_refused_and_one_within_it_is_not(installed, control_plane, namespace, kind):
    policy(control_plane, namespace, families="turing")
    bad, good = (of_kind(kind, namespace, template(families=family)) for family in ("hopper", "turing"))

    answer = control_plane.create(bad)

    expected = denied(FAMILY.format(ns=namespace), f"{HOOKS[kind]}.mutate")
    assert (answer.status, answer.message, answer.tree["reason"]) == (403, expected, "Forbidden")
    assert control_plane.create(good).status == 201


@pytest.mark.parametrize("kind", HOOKS)
def test_bad_amount_in_a_template_is_refused_before_the_api_server_does_it_in_its_own_words(
    installed, control_plane, namespace, kind
):
    answer = control_plane.create(of_kind(kind, namespace, template(gpus="0.5")))

    message = (
        "gpu-quantity: container main asks nvidia.com/gpu: 500m (0.5); use whole numbers. "
        "For part of a GPU: 1 plus gpusched.io/gpu-memory: 8Gi."
    )
    assert (answer.status, answer.message) == (403, denied(message, f"{HOOKS[kind]}.mutate"))


@pytest.fixture(scope="module")
def ray(control_plane):
    """KubeRay's RayCluster."""
    with defined(control_plane, "ray.io", "RayCluster", "rayclusters"):
        yield


def test_custom_kind_is_judged_by_its_templates(installed, control_plane, namespace, ray):
    policy(control_plane, namespace, families="turing")

    def cluster(family):
        group = {"groupName": "gpus", "replicas": 2, "template": template(families=family)}
        head = {"template": template(gpus=None)}
        return workload("ray.io/v1", "RayCluster", namespace, {"headGroupSpec": head, "workerGroupSpecs": [group]})

    answer = control_plane.create(cluster("hopper"))

    assert (answer.status, answer.message) == (
        403,
        denied(FAMILY.format(ns=namespace), "custom-workloads.validate"),
    )
    assert control_plane.create(cluster("turing")).status == 201


def test_mark_of_gpusched_in_a_template_is_warned_of_once(installed, control_plane, namespace):
    pods = template(gpus=None)
    pods["metadata"]["annotations"]["status.gpusched.io/bound"] = "t4"

    answer = control_plane.create(deployment(namespace, pods))

    warning = (
        "policy-malformed: template has status.gpusched.io/bound, which only gpusched writes: it is removed from pods."
    )
    assert (answer.status, answer.warnings) == (201, (warning,))


def test_controller_tells_why_its_pods_are_refused(installed, control_plane, namespace):
    control_plane.create(deployment(namespace, template(families="hopper"))).expect()
    # A ReplicaSet made after the policy would itself be refused, and there would be no pods to refuse.
    control_plane.wait_for(f"{APPS}/{namespace}/replicasets", lambda tree: tree["items"])
    policy(control_plane, namespace, families="turing")
    path = f"{APPS}/{namespace}/deployments/x"
    control_plane.request("PATCH", path, {"spec": {"replicas": 1}}, content_type=MERGE).expect()

    def failure(tree):
        conditions = tree.get("status", {}).get("conditions", [])
        return next((each["message"] for each in conditions if each["type"] == "ReplicaFailure"), None)

    assert control_plane.wait_for(path, failure) == denied(FAMILY.format(ns=namespace))


@pytest.fixture
def outdated(installed, control_plane, namespace):
    """The path of a Deployment and of its ReplicaSet, whose GPUs the policy of today would refuse."""
    tree = deployment(namespace, template(families="hopper"))
    tree["metadata"]["finalizers"] = ["example.com/hold"]
    control_plane.create(tree).expect()
    sets = f"{APPS}/{namespace}/replicasets"
    name = control_plane.wait_for(sets, lambda tree: [item["metadata"]["name"] for item in tree["items"]])[0]
    policy(control_plane, namespace, families="turing")
    assert control_plane.create(deployment(namespace, template(families="hopper")), dry_run=True).status == 403
    path = f"{APPS}/{namespace}/deployments/x"
    yield path, f"{sets}/{name}"
    control_plane.request("PATCH", path, {"metadata": {"finalizers": []}}, content_type=MERGE)


RESTART = {"template": {"metadata": {"annotations": {"kubectl.kubernetes.io/restartedAt": "2026-01-01T00:00:00Z"}}}}
STRATEGIC = "application/strategic-merge-patch+json"
PASSES = {
    "rollout restart": {"spec": RESTART},
    "scale": {"spec": {"replicas": 2}},
    "label": {"metadata": {"labels": {"team": "a"}}},
    "finalizer removed": {"metadata": {"finalizers": []}},
    "pause": {"spec": {"paused": True}},
    "image": {"spec": {"template": {"spec": {"containers": [{"name": "main", "image": "registry.example/app:2"}]}}}},
}


@pytest.mark.parametrize("change", PASSES.values(), ids=PASSES)
def test_change_beside_the_gpu_part_passes(control_plane, outdated, change):
    answer = control_plane.request("PATCH", outdated[0], change, content_type=STRATEGIC)

    assert (answer.status, answer.warnings) == (200, ())


def test_scale_subresource_and_controllers_own_updates_pass(control_plane, outdated):
    scale = {"spec": {"replicas": 3}}
    control_plane.request("PATCH", f"{outdated[0]}/scale", scale, content_type=MERGE).expect()

    # The controller writes the new number into the ReplicaSet.
    control_plane.wait_for(outdated[1], lambda tree: tree["spec"]["replicas"] == 3)


def test_object_being_deleted_may_be_changed_in_any_way(control_plane, outdated):
    control_plane.request("DELETE", outdated[0]).expect()
    more = {"spec": {"template": {"spec": {"containers": [container(gpus=2)]}}}}

    control_plane.request("PATCH", outdated[0], more, content_type=STRATEGIC).expect()
    control_plane.request("PATCH", outdated[0], {"metadata": {"finalizers": []}}, content_type=MERGE).expect()

    control_plane.wait_until(lambda: control_plane.request("GET", outdated[0]).status == 404, what="Deployment gone")


CHANGED = {
    "amount": {"spec": {"containers": [container(gpus=2)]}},
    "own policy": {"metadata": {"annotations": {"gpusched.io/min-gpu-memory": "10Gi"}}},
}


@pytest.mark.parametrize("change", CHANGED.values(), ids=CHANGED)
def test_change_of_the_gpu_part_is_judged(control_plane, namespace, outdated, change):
    answer = control_plane.request("PATCH", outdated[0], {"spec": {"template": change}}, content_type=STRATEGIC)

    expected = denied(FAMILY.format(ns=namespace), "workloads.mutate")
    assert (answer.status, answer.message) == (403, expected)


def test_running_pod_may_be_labelled_and_deleted_whatever_the_policy(installed, control_plane, namespace):
    held = pod("p", namespace, annotations={"gpusched.io/families": "hopper"})
    held["metadata"]["finalizers"] = ["example.com/hold"]
    control_plane.create(held).expect()
    policy(control_plane, namespace, families="turing")
    path = f"/api/v1/namespaces/{namespace}/pods/p"

    control_plane.request("PATCH", path, {"metadata": {"labels": {"a": "b"}}}, content_type=MERGE).expect()
    control_plane.request("DELETE", path, query={"gracePeriodSeconds": "0"}).expect()
    control_plane.request("PATCH", path, {"metadata": {"finalizers": []}}, content_type=MERGE).expect()

    control_plane.wait_until(lambda: control_plane.request("GET", path).status == 404, what="pod gone")
