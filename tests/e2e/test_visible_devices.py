"""Pods without a GPU: looked at in the namespaces that a label opens, by a webhook of their own, and nowhere else."""

import pytest

from tests.build import container, pod
from tests.e2e.seen import denied, namespaces_seen, policy

MERGE = "application/merge-patch+json"
OPENED = {"gpusched.io/gpu-less-pods": "true"}
VOID = [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "void"}]
WARNING = (
    "gpu-visible-devices: pods without a GPU do not reach gpusched. Label the namespace gpusched.io/gpu-less-pods=true."
)

MARKED = "has(object.data) && 'mark' in object.data"


def config_map(where, data):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x", "namespace": where}, "data": data}


def seeing(where, value, name="p"):
    entry = {"name": "NVIDIA_VISIBLE_DEVICES", "value": value}
    return pod(name, where, container(env=[entry]))


def mutations(installed):
    return installed.metric("gpusched_decisions_total", verb="mutate")


def env_of(answer):
    return [each.get("env") for each in answer.expect()["spec"]["containers"]]


def test_void_is_given_to_containers_that_do_not_choose(installed, control_plane, namespace):
    policy(control_plane, namespace, OPENED, visible_devices="void")

    several = pod("p", namespace, container("a"), container("b", env=VOID), initContainers=[container("i")])
    answer = control_plane.create(several)

    assert (answer.status, answer.warnings, env_of(answer)) == (201, (), [VOID, VOID])
    assert answer.tree["spec"]["initContainers"][0]["env"] == VOID
    refused = control_plane.create(seeing(namespace, "all", "q"))
    message = (
        "gpu-visible-devices: container main sets NVIDIA_VISIBLE_DEVICES to all, which goes round the GPU count. "
        "Remove it and ask for GPUs under resources.limits."
    )
    assert (refused.status, refused.message) == (403, denied(message, "gpu-less-pods.mutate"))


def test_deny_refuses_who_chooses_and_touches_nobody(installed, control_plane, namespace):
    policy(control_plane, namespace, OPENED, visible_devices="deny")

    assert control_plane.create(seeing(namespace, "0,1")).status == 403
    assert env_of(control_plane.create(seeing(namespace, "none", "q"))) == [[{**VOID[0], "value": "none"}]]
    assert env_of(control_plane.create(pod("r", namespace, gpus=None))) == [None]


@pytest.mark.parametrize(
    "labels", [None, {"gpusched.io/gpu-less-pods": "false"}, OPENED | {"gpusched.io/exempt": "true"}]
)
def test_a_namespace_that_does_not_ask_is_never_called_for(installed, control_plane, namespace, labels):
    policy(control_plane, namespace, labels, visible_devices="void")
    before = mutations(installed)

    answers = [control_plane.create(seeing(namespace, "all", f"p{number}")) for number in range(10)]
    answers += [control_plane.create(pod(f"q{number}", namespace, gpus=None)) for number in range(10)]

    assert {(answer.status, answer.warnings) for answer in answers} == {(201, ())}
    assert [env_of(answer) for answer in answers[10:]] == [[None]] * 10
    assert mutations(installed) == before


@pytest.mark.parametrize("gpus", [None, 1])
def test_a_pod_is_asked_about_once(installed, control_plane, namespace, gpus):
    policy(control_plane, namespace, OPENED)
    before = mutations(installed)

    control_plane.create(pod("p", namespace, gpus=gpus)).expect()

    assert mutations(installed) == before + 1


def test_while_gpusched_is_down_pods_are_created_as_they_are(installed, control_plane, namespace):
    policy(control_plane, namespace, OPENED, visible_devices="void")
    installed.stop()
    try:
        assert env_of(control_plane.create(pod("p", namespace, gpus=None))) == [None]
    finally:
        installed.start()
    assert env_of(control_plane.create(pod("q", namespace, gpus=None))) == [VOID]


def test_whoever_writes_the_policy_without_the_label_is_told(installed, control_plane, namespace):
    path = f"/api/v1/namespaces/{namespace}"

    def write(**metadata):
        return control_plane.request("PATCH", path, {"metadata": metadata}, content_type=MERGE)

    first = write(annotations={"gpusched.io/visible-devices": "void"})
    again = write(annotations={"other": "x"})
    labelled = write(labels=OPENED)
    unlabelled = write(labels={"gpusched.io/gpu-less-pods": None})

    assert [answer.status for answer in (first, again, labelled, unlabelled)] == [200] * 4
    assert [answer.warnings for answer in (first, again, labelled, unlabelled)] == [(WARNING,), (), (), (WARNING,)]
    write(labels=OPENED)
    namespaces_seen(control_plane)
    assert env_of(control_plane.create(pod("p", namespace, gpus=None))) == [VOID]


@pytest.mark.parametrize(
    ("expression", "called"), [("namespaceObject == null", True), ("namespaceObject != null", False)]
)
def test_a_condition_of_a_webhook_cannot_read_the_namespace(control_plane, namespace, expression, called):
    """Why a label is needed beside the annotation: the name is known to conditions of webhooks, and is null in them."""
    hook = {
        "name": "try.example.com",
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        # Nobody listens there: whoever is called for is refused.
        "clientConfig": {"url": "https://127.0.0.1:1/"},
        "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}],
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
        "matchConditions": [{"name": "policy", "expression": expression}],
    }
    configuration = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": namespace},
    }
    always = {"name": "always.example.com", "matchConditions": [{"name": "marked", "expression": MARKED}]}
    control_plane.create(configuration | {"webhooks": [hook, hook | always]}).expect()
    try:
        marked = config_map(namespace, {"mark": "x"})
        control_plane.wait_until(
            lambda: control_plane.create(marked, dry_run=True).status == 500, what="webhook in use"
        )

        assert (control_plane.create(config_map(namespace, {}), dry_run=True).status == 500) is called
    finally:
        path = f"/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/{namespace}"
        control_plane.request("DELETE", path).expect()
