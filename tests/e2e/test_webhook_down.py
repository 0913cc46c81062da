"""While gpusched is dead or hangs: who waits for it, who does not, and what the others are told."""

import os
import signal
import time

import pytest

from tests.build import container, h100_node, node, pod
from tests.e2e.seen import nodes_seen, policy

MERGE = "application/merge-patch+json"
#: Less than the time-out of the webhook, so a create within it did not wait for gpusched.
AT_ONCE_SECONDS = 1.5
FAILED = 'Internal error occurred: failed calling webhook "pods.mutate.gpusched.io": failed to call webhook: '


@pytest.fixture
def nodes(installed, control_plane, fake_nodes):
    fake_nodes([node("cpu", gpus=None), h100_node("h100")])
    nodes_seen(control_plane, "h100")


@pytest.fixture
def dead(nodes, installed):
    """gpusched is gone; it is back when the test ends. A killed one would make its successor wait, which is not looked
    at here.
    """
    installed.stop()
    yield
    installed.start()


@pytest.fixture
def hanging(nodes, control_plane):
    """gpusched takes connections and answers nothing."""
    process = control_plane.children["gpusched"].pid
    os.kill(process, signal.SIGSTOP)
    yield
    os.kill(process, signal.SIGCONT)


def deployment(where):
    labels = {"app": "x"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container(gpus=1)]}}
    spec = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}
    about = {"name": "x", "namespace": where}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": about, "spec": spec}


def timed(call):
    began = time.monotonic()
    return call(), time.monotonic() - began


def pod_path(namespace, name="p"):
    return f"/api/v1/namespaces/{namespace}/pods/{name}"


def test_pod_without_gpu_runs_although_gpusched_is_dead(dead, control_plane, namespace):
    answer, seconds = timed(lambda: control_plane.create(pod("p", namespace, gpus=None)))

    assert (answer.status, answer.warnings) == (201, ())
    assert seconds < AT_ONCE_SECONDS
    control_plane.wait_for(pod_path(namespace), lambda tree: tree["status"]["phase"] == "Running")


def test_gpu_pod_is_refused_by_name_of_the_webhook(dead, installed, control_plane, namespace):
    answer, seconds = timed(lambda: control_plane.create(pod("p", namespace)))

    address = installed.webhook_url.removeprefix("https://")
    expected = (
        f'{FAILED}Post "{installed.webhook_url}/mutate?timeout=3s": dial tcp {address}: connect: connection refused'
    )
    assert (answer.status, answer.message) == (500, expected)
    assert seconds < AT_ONCE_SECONDS


def test_excluded_namespace_does_not_wait(nodes, installed, control_plane, namespace):
    policy(control_plane, namespace, {"gpusched.io/exempt": "true"})
    installed.stop()
    try:
        assert control_plane.create(pod("p", namespace)).status == 201
    finally:
        installed.start()


def test_workloads_and_namespaces_can_be_changed_and_pods_deleted(nodes, installed, control_plane, namespace):
    control_plane.create(pod("p", namespace)).expect()
    control_plane.wait_for(pod_path(namespace), lambda tree: tree["spec"].get("nodeName"))
    installed.stop()
    try:
        control_plane.create(deployment(namespace)).expect()
        change = {"metadata": {"annotations": {"gpusched.io/families": "hopper"}}}
        control_plane.request("PATCH", f"/api/v1/namespaces/{namespace}", change, content_type=MERGE).expect()
        label = {"metadata": {"labels": {"a": "b"}}}
        control_plane.request("PATCH", pod_path(namespace), label, content_type=MERGE).expect()
        control_plane.request("DELETE", pod_path(namespace)).expect()
        control_plane.wait_until(
            lambda: control_plane.request("GET", pod_path(namespace)).status == 404, what="pod gone"
        )
    finally:
        installed.start()

    # The Deployment's pods, refused meanwhile, are created by its controller's next attempt.
    selected = {"labelSelector": "app=x"}
    path = f"/api/v1/namespaces/{namespace}/pods"
    found = control_plane.wait_until(
        lambda: [
            item for item in control_plane.get(path, query=selected)["items"] if item["status"]["phase"] == "Running"
        ],
        seconds=60,
        what="pod of the Deployment running",
    )
    assert found[0]["spec"]["nodeName"] == "h100"
    assert "status.gpusched.io/lowered" in found[0]["metadata"]["annotations"]


def test_pod_without_gpu_runs_although_gpusched_hangs(hanging, control_plane, namespace):
    answer, seconds = timed(lambda: control_plane.create(pod("p", namespace, gpus=None)))

    assert (answer.status, answer.warnings) == (201, ())
    assert seconds < AT_ONCE_SECONDS
    control_plane.wait_for(pod_path(namespace), lambda tree: tree["status"]["phase"] == "Running")


def test_gpu_pod_waits_three_seconds_for_a_gpusched_that_hangs(hanging, installed, control_plane, namespace):
    answer, seconds = timed(lambda: control_plane.create(pod("p", namespace)))

    expected = f'{FAILED}Post "{installed.webhook_url}/mutate?timeout=3s": context deadline exceeded'
    assert (answer.status, answer.message) == (500, expected)
    assert 2.5 < seconds < 5
