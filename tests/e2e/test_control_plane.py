"""The real thing starts, works as a cluster does, survives what may happen to it, and leaves nothing behind."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gpusched.local.errors import ApiError, ChildDiedError
from gpusched.local.existing import ExistingCluster
from tests.build import container, node, pod, t4_node

ANNOTATION = "stage.kwok.x-k8s.io/delay"
#: Runs a control plane until its standard input ends; says where it is.
HOLDER = """
import sys
from pathlib import Path
from gpusched.local.binaries import resolve
from gpusched.local.control_plane import ControlPlane
from gpusched.local.options import Options
with ControlPlane(resolve(), Options(parent=Path(sys.argv[1]))) as started:
    print(*(child.pid for child in started.children.values()), flush=True)
    sys.stdin.read()
"""


def pods(namespace: str) -> str:
    return f"/api/v1/namespaces/{namespace}/pods"


def phase(*wanted: str):
    """Accepts a pod in one of these phases."""
    return lambda tree: tree if tree["status"]["phase"] in wanted else None


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def test_pods_land_on_nodes_of_a_dump_and_run(cluster, namespace, fake_nodes):
    taint = {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}
    fake_nodes([node("plain", gpus=None), t4_node("t4", gpus=2, taints=[taint])])

    stored = cluster.get("/api/v1/nodes/t4")
    assert stored["spec"]["taints"] == [taint]
    assert stored["status"]["allocatable"]["nvidia.com/gpu"] == "2"

    tolerations = [{"key": "nvidia.com/gpu", "operator": "Exists"}]
    cluster.create(pod("gpu", namespace, tolerations=tolerations)).expect()
    cluster.create(pod("cpu", namespace, gpus=None)).expect()
    cluster.create(pod("too-many", namespace, gpus=3, tolerations=tolerations)).expect()

    placed = {
        name: cluster.wait_for(f"{pods(namespace)}/{name}", phase("Running"))["spec"]["nodeName"]
        for name in ("gpu", "cpu")
    }
    assert placed == {"gpu": "t4", "cpu": "plain"}

    def refused(tree):
        conditions = tree["status"].get("conditions", [])
        return next((each["message"] for each in conditions if each.get("reason") == "Unschedulable"), None)

    message = cluster.wait_for(f"{pods(namespace)}/too-many", refused)
    assert message.startswith("0/2 nodes are available: 1 Insufficient nvidia.com/gpu") or "2 Insufficient" in message


@pytest.mark.parametrize(
    ("annotations", "expected"),
    [({f"pod-complete.{ANNOTATION}": "200ms"}, "Succeeded"), ({f"pod-fail.{ANNOTATION}": "200ms"}, "Failed")],
)
def test_pod_ends_as_its_annotation_says(cluster, namespace, fake_nodes, annotations, expected):
    fake_nodes([node("plain")])
    cluster.create(pod("p", namespace, annotations=annotations, restartPolicy="Never")).expect()

    ended = cluster.wait_for(f"{pods(namespace)}/p", phase("Succeeded", "Failed"))

    assert ended["status"]["phase"] == expected


def test_workloads_make_pods_and_a_job_completes(cluster, namespace, fake_nodes):
    fake_nodes([node("plain", gpus=4)])
    labels = {"app": "x"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container(gpus=1)]}}
    about = {"name": "x", "namespace": namespace}
    job = template["spec"] | {"restartPolicy": "Never"}
    cluster.apply(
        [
            {
                "apiVersion": "apps/v1",
                "kind": "Deployment",
                "metadata": about,
                "spec": {"replicas": 2, "selector": {"matchLabels": labels}, "template": template},
            },
            {"apiVersion": "batch/v1", "kind": "Job", "metadata": about, "spec": {"template": {"spec": job}}},
        ]
    )

    root = f"/namespaces/{namespace}"
    cluster.wait_for(f"/apis/apps/v1{root}/deployments/x", lambda tree: tree["status"].get("availableReplicas") == 2)
    cluster.wait_for(f"/apis/batch/v1{root}/jobs/x", lambda tree: tree["status"].get("succeeded") == 1)


def test_deleted_pod_goes_at_once_unless_it_is_to_linger(cluster, namespace, fake_nodes):
    fake_nodes([node("plain", gpus=2)])
    linger = {f"pod-delete.{ANNOTATION}": "60s"}
    cluster.create(pod("quick", namespace)).expect()
    cluster.create(pod("slow", namespace, annotations=linger)).expect()
    for name in ("quick", "slow"):
        cluster.wait_for(f"{pods(namespace)}/{name}", phase("Running"))
        cluster.request("DELETE", f"{pods(namespace)}/{name}").expect()

    cluster.wait_until(lambda: cluster.request("GET", f"{pods(namespace)}/quick").status == 404, what="pod gone")

    assert "deletionTimestamp" in cluster.get(f"{pods(namespace)}/slow")["metadata"]
    cluster.request("DELETE", f"{pods(namespace)}/slow", query={"gracePeriodSeconds": "0"}).expect()


def test_rbac_holds_for_gpusched_and_a_binding_to_its_service_account_counts(control_plane, namespace):
    path = pods(namespace)
    refused = control_plane.request("GET", path, identity="gpusched")
    assert refused.status == 403
    assert "system:serviceaccount:gpusched-system:gpusched" in refused.message

    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"}
    subject = {"kind": "ServiceAccount", "name": "gpusched", "namespace": "gpusched-system"}
    about = {"name": "view", "namespace": namespace}
    version = "rbac.authorization.k8s.io/v1"
    control_plane.apply(
        [{"apiVersion": version, "kind": "RoleBinding", "metadata": about, "roleRef": role, "subjects": [subject]}]
    )

    allowed = control_plane.wait_until(
        lambda: control_plane.request("GET", path, identity="gpusched").ok, what="binding in force"
    )
    assert allowed
    assert control_plane.request("GET", "/api/v1/secrets", identity="gpusched").status == 403


def test_kubeconfig_of_a_cluster_that_is_there_gives_the_same_identities(control_plane):
    about = {"name": "gpusched", "namespace": "gpusched-system"}
    control_plane.apply(
        [
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "gpusched-system"}},
            {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": about},
        ]
    )

    with ExistingCluster(control_plane.kubeconfig()) as existing:
        assert existing.get("/version") == control_plane.get("/version")
        refused = existing.request("GET", "/api/v1/secrets", identity="gpusched")

    assert refused.status == 403
    assert refused.message == control_plane.request("GET", "/api/v1/secrets", identity="gpusched").message


def test_new_kinds_can_be_used_in_the_call_that_defines_them(cluster, namespace):
    names = {"plural": "widgets", "singular": "widget", "kind": "Widget"}
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema}
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.e2e.example.com"},
        "spec": {"group": "e2e.example.com", "names": names, "scope": "Namespaced", "versions": [version]},
    }
    widget = {
        "apiVersion": "e2e.example.com/v1",
        "kind": "Widget",
        "metadata": {"name": "w", "namespace": namespace},
        "size": 1,
    }
    try:
        stored = cluster.apply([definition, widget])
        assert stored[1]["size"] == 1
        assert cluster.apply([widget | {"size": 2}])[0]["size"] == 2
    finally:
        cluster.request("DELETE", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.e2e.example.com")


def test_refused_object_is_named(cluster, namespace):
    bad = pod("bad", namespace, gpus="0.5")

    with pytest.raises(ApiError, match=rf"Pod {namespace}/bad: .*must be an integer"):
        cluster.apply([bad])


def test_scheduler_takes_another_configuration_and_gives_its_metrics(control_plane, scheduler, namespace, fake_nodes):
    fake_nodes([node("plain")])
    scheduler({"profiles": [{"schedulerName": "second"}]})

    control_plane.create(pod("p", namespace, schedulerName="second")).expect()

    control_plane.wait_for(f"{pods(namespace)}/p", phase("Running"))
    assert "scheduler_pending_pods" in str(control_plane.scheduler_api().request("GET", "/metrics").tree)


def test_configuration_that_the_scheduler_refuses_is_told_in_its_own_words(scheduler):
    with pytest.raises(ChildDiedError, match="kube-scheduler ended with status 1"):
        scheduler({"profiles": [{"schedulerNom": "x"}]})


def test_killed_component_is_noticed_and_can_be_started_again(control_plane, scheduler):
    os.kill(control_plane.children["kube-scheduler"].pid, signal.SIGKILL)

    def noticed() -> bool:
        try:
            control_plane.check()
        except ChildDiedError as error:
            return error.name == "kube-scheduler" and error.code == -signal.SIGKILL
        return False

    end = time.monotonic() + 10
    while not noticed():
        assert time.monotonic() < end
    scheduler({})
    control_plane.check()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_nothing_is_left_whatever_ends_it(binaries, tmp_path, number):
    command = [sys.executable, "-c", HOLDER, str(tmp_path)]
    pipe, null = subprocess.PIPE, subprocess.DEVNULL
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=null) as holder:
        children = [int(word) for word in holder.stdout.readline().split()]
        assert len(children) == 5
        assert all(alive(pid) for pid in children)

        holder.send_signal(number)
        holder.wait(30)

    end = time.monotonic() + 30
    while any(alive(pid) for pid in children) or list(tmp_path.iterdir()):
        assert time.monotonic() < end
        time.sleep(0.02)
