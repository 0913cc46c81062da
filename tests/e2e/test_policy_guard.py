"""Who may set policy, and that nobody but gpusched rewrites what a pod claims; by the shipped admission policies."""

import ssl

import pytest

from gpusched.local.api import Api
from tests.build import pod, t4_node

MERGE = "application/merge-patch+json"
RBAC = "rbac.authorization.k8s.io"
TENANT = "e2e-tenant"
#: All that a user could be given short of policy.
RULES = [
    {"apiGroups": [""], "resources": ["namespaces"], "verbs": ["*"]},
    {"apiGroups": [""], "resources": ["namespaces/status", "namespaces/finalize"], "verbs": ["*"]},
    {"apiGroups": [""], "resources": ["pods", "pods/status", "pods/binding", "bindings"], "verbs": ["*"]},
]
BOOKS = (
    "gpusched.io/ and status.gpusched.io/ annotations of a pod are fixed at its creation; create the pod anew with the "
    "values it should have"
)


def policy_denial(namespace):
    return (
        f"namespaces \"{namespace}\" is forbidden: ValidatingAdmissionPolicy 'gpusched-namespace-policy' with binding "
        f"'gpusched-namespace-policy' denied request: gpusched.io/ annotations and labels of namespace {namespace} are "
        "GPU policy: changing them needs the verb update on policies.gpusched.io (ClusterRole gpusched-policy-editor)"
    )


def books_denial(kind, name):
    return (
        f"{kind} \"{name}\" is forbidden: ValidatingAdmissionPolicy 'gpusched-pod-claims' with binding "
        f"'gpusched-pod-claims' denied request: {BOOKS}"
    )


def bind(name, role, user, namespace=None):
    about = {"name": name} | ({"namespace": namespace} if namespace else {})
    kind = "RoleBinding" if namespace else "ClusterRoleBinding"
    reference = {"apiGroup": RBAC, "kind": "ClusterRole", "name": role}
    subjects = [{"apiGroup": RBAC, "kind": "User", "name": user}]
    return {"apiVersion": f"{RBAC}/v1", "kind": kind, "metadata": about, "roleRef": reference, "subjects": subjects}


@pytest.fixture(scope="module")
def speak(installed, control_plane):
    """A client as some user: `tenant` has no right to policy, `editor` has it everywhere."""
    role = {"apiVersion": f"{RBAC}/v1", "kind": "ClusterRole", "metadata": {"name": TENANT}, "rules": RULES}
    control_plane.apply(
        [
            role,
            *(bind(f"{TENANT}-{user}", TENANT, user) for user in ("tenant", "editor", "local")),
            bind(f"{TENANT}-policy", "gpusched-policy-editor", "editor"),
        ]
    )
    context = ssl.create_default_context(cafile=str(control_plane.ca))
    clients = {}

    def client(user):
        if user not in clients:
            login = {"Authorization": f"Bearer {control_plane.token_for('admin')}", "Impersonate-User": user}
            clients[user] = Api(control_plane.server, context, login)
        return clients[user]

    # A policy is in force a moment after it is stored.
    probe = {"metadata": {"annotations": {"gpusched.io/mode": "off"}}}
    control_plane.wait_until(
        lambda: (
            client("tenant")
            .request("PATCH", "/api/v1/namespaces/default", probe, query={"dryRun": "All"}, content_type=MERGE)
            .message
            == policy_denial("default")
        ),
        what="admission policies in force",
    )
    yield client
    for each in clients.values():
        each.close()
    for name in ("tenant", "editor", "local", "policy"):
        control_plane.request("DELETE", f"/apis/{RBAC}/v1/clusterrolebindings/{TENANT}-{name}")
    control_plane.request("DELETE", f"/apis/{RBAC}/v1/clusterroles/{TENANT}")


def annotate(client, path, annotations, **more):
    return client.request("PATCH", path, {"metadata": {"annotations": annotations} | more}, content_type=MERGE)


FORBIDDEN = {
    "add": ({"gpusched.io/families": "hopper"}, {}),
    "change": ({"gpusched.io/quota": "*=99"}, {}),
    "remove": ({"gpusched.io/quota": None}, {}),
    "exempt label": ({}, {"labels": {"gpusched.io/exempt": "true"}}),
}


@pytest.mark.parametrize("subresource", ["", "/status"])
@pytest.mark.parametrize(("annotations", "more"), FORBIDDEN.values(), ids=FORBIDDEN)
def test_policy_needs_its_own_right(speak, control_plane, namespace, annotations, more, subresource):
    path = f"/api/v1/namespaces/{namespace}"
    annotate(speak("editor"), path, {"gpusched.io/quota": "*=1"}).expect()

    refused = annotate(speak("tenant"), path + subresource, annotations, **more)
    allowed = annotate(speak("editor"), path + subresource, annotations, **more)

    assert (refused.status, refused.message, refused.tree["reason"]) == (403, policy_denial(namespace), "Forbidden")
    assert allowed.status == 200


def test_finalize_carries_no_policy_past_the_guard(speak, control_plane, namespace):
    path = f"/api/v1/namespaces/{namespace}"
    tree = control_plane.get(path)
    tree["metadata"]["annotations"] = {"gpusched.io/quota": "*=99"}

    speak("tenant").request("PUT", f"{path}/finalize", tree)

    # This subresource may drop metadata or be refused, by version of the API server; the policy must not be there.
    assert "gpusched.io/quota" not in control_plane.get(path)["metadata"].get("annotations", {})


def test_namespace_cannot_be_created_with_policy_without_the_right(speak):
    tree = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": "e2e-new", "annotations": {"gpusched.io/families": "hopper"}},
    }
    answers = {
        user: speak(user).request("POST", "/api/v1/namespaces", tree, query={"dryRun": "All"})
        for user in ("tenant", "editor")
    }

    assert (answers["tenant"].status, answers["tenant"].message) == (403, policy_denial("e2e-new"))
    assert answers["editor"].status == 201


def test_other_metadata_stays_the_tenants_own(speak, namespace):
    path = f"/api/v1/namespaces/{namespace}"
    annotate(speak("editor"), path, {"gpusched.io/quota": "*=1"}).expect()

    assert annotate(speak("tenant"), path, {"example.com/a": "b"}, labels={"team": "a"}).status == 200


def test_right_in_one_namespace_is_a_right_there_alone(speak, control_plane, namespace):
    control_plane.apply([bind("policy", "gpusched-policy-editor", "local", namespace)])
    families = {"gpusched.io/families": "hopper"}

    control_plane.wait_until(
        lambda: annotate(speak("local"), f"/api/v1/namespaces/{namespace}", families).ok, what="binding in force"
    )

    elsewhere = annotate(speak("local"), "/api/v1/namespaces/default", families)
    assert (elsewhere.status, elsewhere.message) == (403, policy_denial("default"))


@pytest.fixture
def claiming(speak, control_plane, namespace, fake_nodes):
    """The path of a bound pod with a claim."""
    fake_nodes([t4_node("t4")])
    control_plane.create(pod("p", namespace, annotations={"gpusched.io/gpu-memory": "6Gi"})).expect()
    path = f"/api/v1/namespaces/{namespace}/pods/p"
    control_plane.wait_for(path, lambda tree: tree["spec"].get("nodeName"))
    # Stored after that of Namespaces, this policy may be in force after it too.
    probe = {"metadata": {"annotations": {"gpusched.io/gpu-memory": "1Gi"}}}
    control_plane.wait_until(
        lambda: (
            speak("tenant").request("PATCH", path, probe, query={"dryRun": "All"}, content_type=MERGE).status == 403
        ),
        what="policy of pods in force",
    )
    return path


REWRITES = {
    "smaller claim": {"gpusched.io/gpu-memory": "1Gi"},
    "no claim": {"gpusched.io/gpu-memory": None},
    "another rule": {"gpusched.io/families": "hopper"},
    "no mark": {"status.gpusched.io/bound": None},
    "forged mark": {"status.gpusched.io/bound": "elsewhere"},
}


@pytest.mark.parametrize("subresource", ["", "/status"])
@pytest.mark.parametrize("annotations", REWRITES.values(), ids=REWRITES)
def test_nobody_rewrites_the_claims_of_a_pod(speak, control_plane, claiming, annotations, subresource):
    before = control_plane.get(claiming)["metadata"]["annotations"]
    for client in (speak("tenant"), speak("editor"), control_plane.api("admin")):
        answer = annotate(client, claiming + subresource, annotations)

        assert (answer.status, answer.message) == (403, books_denial("pods", "p"))
    assert control_plane.get(claiming)["metadata"]["annotations"] == before


def test_gpusched_itself_may_and_others_may_write_the_rest(speak, control_plane, claiming):
    stamp = {"status.gpusched.io/woken": "2026-01-01T00:00:00Z"}

    assert annotate(control_plane.api("gpusched"), claiming, stamp).status == 200
    assert annotate(speak("tenant"), claiming, {"example.com/a": "b"}, labels={"c": "d"}).status == 200


def test_binding_of_another_scheduler_cannot_carry_the_mark(speak, control_plane, namespace, fake_nodes):
    fake_nodes([t4_node("t4")])
    control_plane.create(pod("p", namespace, schedulerName="other")).expect()
    path = f"/api/v1/namespaces/{namespace}/pods/p"
    target = {"apiVersion": "v1", "kind": "Node", "name": "t4"}
    mark = {"status.gpusched.io/bound": "t4"}
    about = {"name": "p", "namespace": namespace}

    def posted(annotations):
        tree = {"apiVersion": "v1", "kind": "Binding", "metadata": about | annotations, "target": target}
        return speak("tenant").request("POST", f"{path}/binding", tree)

    refused = posted({"annotations": mark})
    bound = posted({})

    assert (refused.status, refused.message) == (403, books_denial("pods", "p"))
    assert bound.status == 201
    stored = control_plane.get(path)
    assert stored["spec"]["nodeName"] == "t4"
    assert "status.gpusched.io/bound" not in stored["metadata"].get("annotations", {})
