"""What the service tells a user who may list pods of one namespace, and nothing else: what an administrator is told."""

import json
import re

import pytest
import yaml

from tests.build import container, pod, t4_node
from tests.cli.commands import Ran, run
from tests.e2e.scheduling import create, events, refusal
from tests.e2e.seen import nodes_seen, policy
from tests.e2e.test_refused_live import create as create_workload
from tests.e2e.test_refused_live import running

SECONDS = 60.0
AGE = re.compile(r"(?<=PENDING) \d+[smh]")
RBAC = "rbac.authorization.k8s.io"


@pytest.fixture
def nodes(control_plane, installed, fake_nodes):
    fake_nodes([t4_node("te-t4", gpus=8)])
    nodes_seen(control_plane, "te-t4")


@pytest.fixture
def tenant(control_plane, installed, namespace, tmp_path):
    """`gpusched why` as the user of the namespace."""
    metadata = {"name": "tenant", "namespace": namespace}
    subject = {"kind": "ServiceAccount"} | metadata
    role = {"apiGroup": RBAC, "kind": "ClusterRole", "name": "gpusched-viewer"}
    binding = {"kind": "RoleBinding", "metadata": metadata, "roleRef": role, "subjects": [subject]}
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}
    control_plane.apply([account, {"apiVersion": f"{RBAC}/v1"} | binding])
    asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    path = f"/api/v1/namespaces/{namespace}/serviceaccounts/tenant/token"
    kubeconfig = yaml.safe_load(control_plane.kubeconfig().read_text())
    kubeconfig["users"][0]["user"] = {"token": control_plane.request("POST", path, asked).expect()["status"]["token"]}
    kubeconfig["contexts"][0]["context"]["namespace"] = namespace
    own = tmp_path / "tenant"
    own.write_text(yaml.safe_dump(kubeconfig))

    def ask(*arguments: str) -> Ran:
        return run("why", *arguments, "--kubeconfig", own, "--server", installed.admin_url)

    return ask


@pytest.fixture
def admin(control_plane, namespace):
    """`gpusched why` as an administrator, of the cluster itself."""

    def ask(*arguments: str) -> Ran:
        return run("why", *arguments, "-n", namespace, "--kubeconfig", control_plane.kubeconfig())

    return ask


def told(plane, tenant, admin, *arguments):
    """The answer to both, once it is the same: each has it from watches and lists of its own."""

    def alike():
        ours, theirs = admin(*arguments), tenant(*arguments)
        return theirs if (ours.code, AGE.sub("", ours.out)) == (theirs.code, AGE.sub("", theirs.out)) else None

    ran = plane.wait_until(alike, SECONDS, f"one answer to why {' '.join(arguments)}")
    assert ran.errors == []
    return ran.code, " ".join(ran.out.split())


def test_a_misspelt_resource(control_plane, installed, nodes, namespace, tenant, admin):
    asks = {"requests": {"nvidia.com/gpus": "1"}, "limits": {"nvidia.com/gpus": "1"}}
    create(control_plane, pod("p", namespace, container(gpus=None, resources=asks)))
    refusal(control_plane, namespace, "p", SECONDS)

    code, text = told(control_plane, tenant, admin, "p")
    assert code == 1
    assert "no nvidia.com/gpus at all" in text
    assert "Change Ask for nvidia.com/gpu: 1 instead of nvidia.com/gpus" in text
    assert f"pod {namespace}/p PENDING" in told(control_plane, tenant, admin)[1]
    (card,) = json.loads(installed.admin(f"/api/v1/pods?namespace={namespace}")[1])["pods"]
    suggestion = "Ask for nvidia.com/gpu: 1 instead of nvidia.com/gpus"
    assert (card["name"], card["state"], card["why"]["suggestion"]) == ("p", "pending", suggestion)
    assert suggestion in run("top", "--server", installed.admin_url).out

    def event():
        found = events(control_plane, namespace, "p")
        return next((item["message"] for item in found if item["reason"] == "GPUUnschedulable"), None)

    assert control_plane.wait_until(event, SECONDS, "GPUUnschedulable").endswith(suggestion)


@pytest.mark.parametrize(
    ("kind", "spec"),
    [
        ("Deployment", {"replicas": 2}),
        ("ReplicaSet", {"replicas": 2}),
        ("StatefulSet", {"replicas": 2, "serviceName": "w"}),
        ("Job", {"parallelism": 1}),
        ("DaemonSet", {}),
    ],
)
def test_pods_refused_by_a_resource_quota(control_plane, installed, nodes, namespace, tenant, admin, kind, spec):
    # kwok ends the pods of Jobs, and a DaemonSet has one a node.
    wanted = spec.get("replicas", 1)
    hard = {"hard": {"requests.nvidia.com/gpu": str(wanted - 1)}}
    metadata = {"name": "gpus", "namespace": namespace}
    control_plane.create({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": metadata, "spec": hard}).expect()
    create_workload(control_plane, namespace, kind, "w", **spec)
    running(control_plane, namespace, wanted - 1)
    control_plane.wait_until(lambda: admin(f"{kind}/w").out.count("REFUSED"), SECONDS, "refusal")

    counts = f"{wanted - 1} of {wanted} pods run, 1 refused: ResourceQuota gpus is used up"
    for arguments in ((f"{kind.lower()}/w",), ("w",), ()):
        code, text = told(control_plane, tenant, admin, *arguments)
        assert code == 1
        assert f"{kind.lower()} {namespace}/w REFUSED" in text
        assert counts in text
        assert "Change Free some of ResourceQuota gpus, or let an admin raise it" in text
    (card,) = json.loads(installed.admin(f"/api/v1/workloads?namespace={namespace}")[1])["workloads"]
    assert (card["owner"], card["state"]) == (f"{kind}/w", "refused")
    assert counts in card["lacks"]


def test_pods_refused_by_gpusched_and_pod_security(control_plane, nodes, namespace, tenant, admin):
    create_workload(control_plane, namespace, "Deployment", "web", replicas=1)
    running(control_plane, namespace, 1)
    code, text = told(control_plane, tenant, admin, "deployment/web")
    assert code == 0
    assert "of Deployment/web ON NODE te-t4" in text

    policy(control_plane, namespace, {"pod-security.kubernetes.io/enforce": "restricted"})
    create_workload(control_plane, namespace, "StatefulSet", "db", replicas=1, serviceName="db")
    control_plane.wait_until(lambda: "PodSecurity" in admin("statefulset/db").out, SECONDS, "refusal")
    code, text = told(control_plane, tenant, admin, "statefulset/db")
    assert code == 1
    assert 'violates PodSecurity "restricted:latest"' in text
    code, text = told(control_plane, tenant, admin)
    assert code == 1
    assert f"statefulset {namespace}/db REFUSED" in text


def test_a_workload_without_pods(control_plane, nodes, namespace, tenant, admin):
    create_workload(control_plane, namespace, "Deployment", "web", replicas=0)
    code, text = told(control_plane, tenant, admin, "deployment/web")
    assert (code, "NO PODS" in text) == (0, True)
    ran = tenant("deployment/wbe")
    assert (ran.code, ran.out) == (2, "")
    assert f"There is no deployment {namespace}/wbe with GPUs" in ran.errors[0]
