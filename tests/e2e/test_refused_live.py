"""Workloads whose pods are refused stand in the overviews of a live cluster, whoever refuses them."""

import pytest
import yaml

from tests.build import pod, t4_node
from tests.cli.commands import Ran, run
from tests.e2e.seen import nodes_seen, policy
from tests.simulate.scene import workload

SECONDS = 60.0
PATCH = "application/merge-patch+json"


@pytest.fixture
def nodes(control_plane, installed, fake_nodes):
    fake_nodes([t4_node("rf-t4", gpus=8)])
    nodes_seen(control_plane, "rf-t4")


@pytest.fixture
def ask(control_plane, namespace):
    """A command about the namespace, as people get it, in one line of words."""

    def asked(*arguments: str) -> tuple[int, str]:
        ran = run(*arguments, "-n", namespace, "--kubeconfig", control_plane.kubeconfig())
        assert ran.errors == []
        return ran.code, " ".join(ran.out.split())

    return asked


def template(kind):
    tree = pod(annotations={"gpusched.io/families": "turing"}, labels={"app": kind.lower()})
    tree["spec"]["restartPolicy"] = "Never" if kind == "Job" else "Always"
    return tree


def create(plane, namespace, kind, name, **spec):
    if kind != "Job":
        spec["selector"] = {"matchLabels": {"app": kind.lower()}}
    plane.create(workload(kind, name, template=template(kind), namespace=namespace, **spec)).expect()


def change(plane, namespace, kind, name, **spec):
    group = "batch" if kind == "Job" else "apps"
    path = f"/apis/{group}/v1/namespaces/{namespace}/{kind.lower()}s/{name}"
    plane.request("PATCH", path, {"spec": spec}, content_type=PATCH).expect()


def running(plane, namespace, count):
    def bound():
        found = plane.get(f"/api/v1/namespaces/{namespace}/pods")["items"]
        return sum("nodeName" in tree["spec"] for tree in found) == count

    plane.wait_until(bound, SECONDS, f"{count} pods bound")


def test_pods_refused_by_gpusched(control_plane, nodes, namespace, ask):
    """A Deployment and a StatefulSet with fewer pods than they want, and a Job without any."""
    create(control_plane, namespace, "Deployment", "web", replicas=2)
    create(control_plane, namespace, "StatefulSet", "db", replicas=1, serviceName="db")
    create(control_plane, namespace, "Job", "train", suspend=True)
    running(control_plane, namespace, 3)
    assert ask("why") == (0, f"no GPU pod waits in namespace {namespace} (-A looks in all)")

    policy(control_plane, namespace, families="hopper")
    change(control_plane, namespace, "Deployment", "web", replicas=4)
    change(control_plane, namespace, "StatefulSet", "db", replicas=2)
    change(control_plane, namespace, "Job", "train", suspend=False)

    def told():
        code, text = ask("why")
        return (code, text) if text.count("its controller could not create pods") == 3 else None

    code, text = control_plane.wait_until(told, SECONDS, "three refusals seen")
    reason = f"gpu-policy-family: pod asks for turing; namespace {namespace} allows hopper"
    said = {
        "deployment/web": f"2 of 4 pods run, 2 refused: {reason}",
        "statefulset/db": f"1 of 2 pods run, 1 refused: {reason}",
        "job/train": f"0 of 1 pods run, 1 refused: {reason}",
    }
    assert code == 1
    for subject, counts in said.items():
        kind, _, name = subject.partition("/")
        assert f"{kind} {namespace}/{name} REFUSED {counts}" in text
        for named in (subject, name):
            code, answer = ask("why", named)
            assert (code, counts in answer) == (1, True)

    code, text = ask("doctor")
    assert code == 1
    assert "workloads lack pods, which are refused (pods-refused)" in text
    assert all(f"{subject.replace('/', f'/{namespace}/')}: {counts}" in text for subject, counts in said.items())


def test_pods_refused_by_a_resource_quota(control_plane, nodes, namespace, ask):
    metadata = {"name": "gpus", "namespace": namespace}
    hard = {"hard": {"requests.nvidia.com/gpu": "1"}}
    control_plane.create({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": metadata, "spec": hard}).expect()
    create(control_plane, namespace, "Deployment", "web", replicas=2)
    running(control_plane, namespace, 1)

    def told():
        code, text = ask("why")
        return text if code == 1 else None

    text = control_plane.wait_until(told, SECONDS, "refusal by the quota seen")
    counts = "1 of 2 pods run, 1 refused: ResourceQuota gpus is used up: 1 of 1 requests.nvidia.com/gpu, 1 requested"
    assert counts in text
    assert "Change Free some of ResourceQuota gpus, or let an admin raise it" in text
    for name in ("deployment/web", "web"):
        code, answer = ask("why", name)
        assert (code, counts in answer) == (1, True)


def test_who_may_list_no_workloads_is_told_so(control_plane, nodes, namespace, tmp_path):
    group = "rbac.authorization.k8s.io"
    subject = {"kind": "ServiceAccount", "name": "viewer", "namespace": namespace}
    name = f"viewer-{namespace}"
    rule = {"apiGroups": [""], "resources": ["nodes", "pods", "namespaces"], "verbs": ["list"]}
    role = {"apiGroup": group, "kind": "ClusterRole", "name": name}
    typed = {"apiVersion": f"{group}/v1", "metadata": {"name": name}}
    control_plane.apply(
        [
            {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "viewer", "namespace": namespace}},
            typed | {"kind": "ClusterRole", "rules": [rule]},
            typed | {"kind": "ClusterRoleBinding", "roleRef": role, "subjects": [subject]},
        ]
    )
    asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    path = f"/api/v1/namespaces/{namespace}/serviceaccounts/viewer/token"
    kubeconfig = yaml.safe_load(control_plane.kubeconfig().read_text())
    kubeconfig["users"][0]["user"] = {"token": control_plane.request("POST", path, asked).expect()["status"]["token"]}
    own = tmp_path / "viewer"
    own.write_text(yaml.safe_dump(kubeconfig))

    def seen() -> Ran | None:
        ran = run("why", "-n", namespace, "--kubeconfig", own)
        return ran if ran.code == 0 else None

    ran = control_plane.wait_until(seen, SECONDS, "rights of the viewer")
    assert ran.errors == []
    (note,) = [note for note in ran.notes if "are left out" in note]
    assert {"deployments", "events", "jobs"} < set(note.partition(" are left out")[0].split(", "))


def test_a_namespace_that_is_not_there(control_plane, nodes, namespace):
    ran = run("why", "-n", f"{namespace}x", "--kubeconfig", control_plane.kubeconfig())

    assert (ran.code, ran.out) == (2, "")
    assert ran.errors == [f"there is no namespace {namespace}x; did you mean {namespace}?"]
