"""gpusched may do what it does, and no more: the audit log of a run that uses everything, against the manifest."""

import http.client
import json

import pytest

from gpusched.local.installed import documents
from gpusched.local.replicas import Replicas
from tests.build import h100_node, pod, t4_node
from tests.cli.commands import run
from tests.e2e.audited import Right, right
from tests.e2e.definitions import defined
from tests.e2e.extender_client import SecondScheduler
from tests.e2e.scheduling import annotate_namespace, bound_node, create, delete, events, refusal
from tests.e2e.seen import nodes_seen, policy
from tests.manifests.overlays import MANIFESTS

#: A text that changed is written half a minute later at the soonest.
LATER = {("", "events", "patch")}


def allowed() -> set[Right]:
    """Group, resource and verb of every rule; those of named objects too."""
    return {
        (group, resource, verb)
        for tree in documents(MANIFESTS / "base" / "rbac.yaml")
        if tree["kind"] in {"ClusterRole", "Role"} and tree["metadata"]["name"] == "gpusched"
        for rule in tree["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def asked_by_name(port, token, path) -> int:
    """The status of an answer to the page for a caller who reaches the admin port by a name."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    headers = {"Host": "gpusched.example", "Authorization": f"Bearer {token}"}
    try:
        connection.request("GET", f"/api/v1/{path}", headers=headers)
        return connection.getresponse().status
    finally:
        connection.close()


@pytest.fixture
def entries(control_plane):
    """The audit log from where the test begins."""
    log = control_plane.logs / "audit.log"
    start = len(log.read_text(encoding="utf-8").splitlines()) if log.exists() else 0

    def read():
        lines = log.read_text(encoding="utf-8").splitlines()[start:]
        return [entry for line in lines if "objectRef" in (entry := json.loads(line))]

    return read


@pytest.fixture
def cluster_policies(control_plane):
    """The kind that comes with the GPU Operator; without it there is nothing to watch."""
    with defined(control_plane, "nvidia.com", "ClusterPolicy", "clusterpolicies", scope="Cluster"):
        yield


def test_every_right_is_used_and_none_is_missing(control_plane, cluster_policies, entries, fake_nodes, namespace):
    fake_nodes([t4_node("rb-t4", gpus=2), h100_node("rb-h100", gpus=1)])
    with Replicas(control_plane) as installed:
        nodes_seen(control_plane, "rb-t4", "rb-h100")
        policy(control_plane, namespace, quota="turing=1")
        turing = {"gpusched.io/families": "turing"}
        create(control_plane, pod("first", namespace, annotations=turing))
        bound_node(control_plane, namespace, "first")
        create(control_plane, pod("gated", namespace, annotations=turing))
        delete(control_plane, namespace, "first")
        bound_node(control_plane, namespace, "gated")

        # A pod that only the extender refuses is woken by its namespace's policy.
        annotate_namespace(control_plane, namespace, quota=None)
        large = {"gpusched.io/gpu-memory": "200Gi", "gpusched.io/families": "hopper"}
        create(control_plane, pod("waits", namespace, annotations=large))
        refusal(control_plane, namespace, "waits")
        annotate_namespace(control_plane, namespace, placement="spread")
        control_plane.wait_until(
            lambda: [
                each for each in events(control_plane, namespace, "waits") if each["reason"] == "GPUUnschedulable"
            ],
            what="event of the pod that waits",
        )
        # Whoever opens the page from elsewhere proves who he is.
        token = control_plane.token_for("admin")
        # A name of no kind is looked for among all.
        answers = {"nodes": 200, "workloads": 200, f"why?namespace={namespace}&name=nosuch": 404}
        for path, status in answers.items():
            assert asked_by_name(installed.leader().admin, token, path) == status

        # A pod that asks for no GPU is not among those that are followed.
        tree = create(control_plane, pod("other", namespace, gpus=None, schedulerName="other"))
        assert SecondScheduler(installed).bind(tree, "rb-h100") == ""

        ran = run("certs", "rotate", "--kubeconfig", control_plane.kubeconfig())
        assert (ran.code, ran.err) == (0, "")
    found = entries()
    assert [right(entry) for entry in found if entry["responseStatus"]["code"] == 403] == []
    used = {right(entry) for entry in found}
    assert allowed() - used - LATER == set()
    assert used - allowed() == set()
