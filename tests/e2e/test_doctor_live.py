"""`gpusched doctor` on a live cluster: nothing to say about one in good order, and every injected fault is found."""

import base64
import contextlib
from datetime import UTC, datetime, timedelta

import pytest

from certs.issue import issue_ca
from gpusched.local.installed import Installed
from tests.build import bound, h100_node, pod, t4_node
from tests.cli.commands import run
from tests.e2e.scheduling import bound_node, create
from tests.e2e.seen import nodes_seen, policy

SECONDS = 60.0
MERGE = "application/merge-patch+json"
HOOKS = "/apis/admissionregistration.k8s.io/v1"
LEASE = "/apis/coordination.k8s.io/v1/namespaces/gpusched-system/leases/gpusched"


@pytest.fixture(scope="module")
def installed(control_plane):
    """With certificates from files: gpusched puts its own caBundles right before anybody sees that they are wrong."""
    control_plane.apply(
        [{"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "nvidia"}, "handler": "nvidia"}]
    )
    with Installed(control_plane, own_certificates=False) as running:
        yield running


@pytest.fixture
def cluster_in_order(control_plane, installed, fake_nodes, namespace):
    """Nodes, and a pod that gpusched has bound."""
    fake_nodes([t4_node("do-t4", gpus=2, replicas=4), h100_node("do-h100")])
    nodes_seen(control_plane, "do-t4", "do-h100")
    create(control_plane, pod("p", namespace))
    bound_node(control_plane, namespace, "p", SECONDS)


def doctor(plane, *arguments: str, identity: str = "admin"):
    return run("doctor", "--kubeconfig", plane.kubeconfig(identity), "-o", "json", *arguments)


def problems(plane) -> dict[str, list[dict[str, str]]]:
    ran = doctor(plane)
    assert ran.code in {0, 1}, ran.err
    return {item["check"]: item["sights"] for item in ran.json["problems"]}


@contextlib.contextmanager
def patched(plane, path: str, change, back):
    """Change an object, and put it right again."""
    plane.request("PATCH", path, change, content_type=MERGE).expect()
    try:
        yield
    finally:
        plane.request("PATCH", path, back, content_type=MERGE).expect()


@contextlib.contextmanager
def hooks_changed(plane, installed, change):
    """One webhook of the mutating configuration changed by `change`."""
    shipped = next(tree for tree in installed.webhooks() if tree["kind"] == "MutatingWebhookConfiguration")
    changed = next(tree for tree in installed.webhooks() if tree["kind"] == "MutatingWebhookConfiguration")
    change(changed["webhooks"])
    path = f"{HOOKS}/mutatingwebhookconfigurations/gpusched"
    with patched(plane, path, {"webhooks": changed["webhooks"]}, {"webhooks": shipped["webhooks"]}):
        yield


def test_a_healthy_installation_has_no_findings(control_plane, installed, cluster_in_order):
    ran = doctor(control_plane)

    assert ran.json["problems"] == []
    assert (ran.code, ran.errors, ran.notes) == (0, [], [])
    assert len(ran.json["checks"]) >= 40
    assert run("doctor", "--kubeconfig", control_plane.kubeconfig()).out.endswith(" checks, no problem found\n")


def test_registration_that_has_drifted(control_plane, installed, cluster_in_order):
    def change(webhooks):
        webhooks[0]["failurePolicy"] = "Ignore"
        webhooks[0]["matchConditions"] = webhooks[0]["matchConditions"][:-1]
        del webhooks[-1]

    name = installed.webhooks()[0]["webhooks"][-1]["name"]
    with hooks_changed(control_plane, installed, change):
        found = problems(control_plane)

    assert list(found) == ["webhook-drift"]
    assert [sight["seen"] for sight in found["webhook-drift"]] == [
        f"webhook {name} is missing",
        "webhook pods.mutate.gpusched.io differs in matchConditions, failurePolicy",
    ]


def test_a_bundle_of_another_authority(control_plane, installed, cluster_in_order):
    other = issue_ca("another", datetime.now(UTC), timedelta(days=30)).certificate

    def change(webhooks):
        for webhook in webhooks:
            webhook["clientConfig"]["caBundle"] = base64.b64encode(other).decode()

    with hooks_changed(control_plane, installed, change):
        found = problems(control_plane)

    assert set(found) == {"ca-bundle", "webhook-unreachable"}
    assert "which the bundle lacks" in found["ca-bundle"][0]["seen"]
    assert "failed calling webhook" in found["webhook-unreachable"][0]["seen"]


def test_an_authority_that_ends_soon(control_plane, installed, cluster_in_order):
    soon = issue_ca("soon", datetime.now(UTC), timedelta(days=3)).certificate
    good = (installed.certificates / "ca.crt").read_bytes()

    def change(webhooks):
        for webhook in webhooks:
            webhook["clientConfig"]["caBundle"] = base64.b64encode(good + soon).decode()

    with hooks_changed(control_plane, installed, change):
        found = problems(control_plane)

    assert list(found) == ["certificate-expiry"]
    assert "CN=soon" in found["certificate-expiry"][0]["seen"]


def test_a_service_that_is_down(control_plane, installed, cluster_in_order):
    installed.stop()
    try:
        found = control_plane.wait_until(
            lambda: (seen := problems(control_plane)).get("leader") and seen, SECONDS, "lease given back"
        )
    finally:
        installed.start()

    assert {"leader", "webhook-unreachable"} <= set(found)
    assert control_plane.wait_until(lambda: problems(control_plane) == {}, SECONDS, "a healthy cluster again")


def test_an_admission_policy_that_is_gone(control_plane, installed, cluster_in_order):
    path = f"{HOOKS}/validatingadmissionpolicybindings/gpusched-pod-claims"
    tree = control_plane.get(path)
    control_plane.request("DELETE", path).expect()
    found = problems(control_plane)
    control_plane.create(
        {key: value for key, value in tree.items() if key != "metadata"}
        | {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "ValidatingAdmissionPolicyBinding",
            "metadata": {"name": "gpusched-pod-claims", "labels": tree["metadata"].get("labels", {})},
        }
    ).expect()

    assert [sight["subject"] for sight in found["policy-guard-missing"]] == [
        "validatingadmissionpolicy/gpusched-pod-claims"
    ]


def test_faults_of_the_cluster(control_plane, installed, cluster_in_order, fake_nodes, namespace):
    fake_nodes(
        [
            t4_node("do-dead", gpus=0, capacity={"nvidia.com/gpu": "4"}),
            h100_node(
                "do-sick",
                gpus=7,
                capacity={"nvidia.com/gpu": "8"},
                taints=[{"key": "team", "value": "b", "effect": "NoSchedule"}],
            ),
        ]
    )
    policy(control_plane, namespace, families="blackwell", mode="warn")
    control_plane.create(bound(pod("round", namespace), "do-t4", ours=False)).expect()
    create(control_plane, pod("lost", namespace, nodeSelector={"disk": "fast"}))
    found = {check: [sight["subject"] for sight in sights] for check, sights in problems(control_plane).items()}

    assert found["node-without-allocatable"] == ["node/do-dead"]
    assert found["unhealthy-devices"] == ["node/do-sick"]
    assert found["untolerated-taint"] == ["node/do-sick"]
    assert found["family-absent"] == [f"namespace/{namespace}"]
    assert found["bound-elsewhere"] == [f"pod/{namespace}/round"]
    assert found["affinity-matches-nothing"] == [f"pod/{namespace}/lost"]

    own = run("doctor", "--kubeconfig", control_plane.kubeconfig(), "-n", namespace)
    assert own.code == 1
    assert "do-dead" not in own.out
    assert f"pod/{namespace}/round" in own.out
