"""What the API server's audit log shows of gpusched: reasons beside the pods, and writes of no more than changed."""

import json

import pytest

from gpusched.local.control_plane import ControlPlane
from gpusched.local.installed import Installed
from gpusched.local.options import Options
from tests.build import h100_node, pod, t4_node
from tests.e2e.seen import nodes_seen, policy

MERGE = "application/merge-patch+json"
WEBHOOK = "pods.mutate.gpusched.io/"
GPUSCHED = "system:serviceaccount:gpusched-system:gpusched"


@pytest.fixture(scope="module")
def plane(binaries):
    """A control plane that keeps an audit log, with gpusched on it and two nodes."""
    with ControlPlane(binaries, Options(audit=True)) as started:
        nvidia = {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "nvidia"}}
        started.apply([nvidia | {"handler": "nvidia"}])
        with Installed(started):
            started.create_nodes([t4_node("t4", gpus=2, replicas=4), h100_node("h100")])
            nodes_seen(started, "t4", "h100")
            yield started


@pytest.fixture
def cluster(plane):
    """Namespaces of this module are those of its own control plane."""
    return plane


def entries(plane, **wanted):
    """Finished requests of the audit log with these values at the top of `objectRef` or of the event."""
    for line in (plane.logs / "audit.log").read_text(encoding="utf-8").splitlines():
        event = json.loads(line)
        if event["stage"] == "ResponseComplete":
            about = event | event.get("objectRef", {})
            if all(about.get(key) == value for key, value in wanted.items()):
                yield event


def annotations(plane, namespace, name):
    """gpusched's audit annotations of the creation of a pod, under their short keys."""
    event = next(entries(plane, verb="create", resource="pods", name=name, namespace=namespace))
    found = event.get("annotations", {})
    return {key.removeprefix(WEBHOOK): value for key, value in found.items() if key.startswith(WEBHOOK)}


NOTES = {
    "helped": ({}, "set nvidia: the nodes need it for nvidia"),
    "kept": ({"runtimeClassName": "nvidia"}, "kept nvidia, which the pod names itself"),
}


@pytest.mark.parametrize(("spec", "expected"), NOTES.values(), ids=NOTES)
def test_why_a_pod_was_changed_is_noted(plane, namespace, request, spec, expected):
    name = request.node.callspec.id
    policy(plane, namespace, families="turing")

    plane.create(pod(name, namespace, **spec)).expect()

    lowered = f"families=turing (namespace {namespace})"
    assert annotations(plane, namespace, name) == {"runtime-class": expected, "lowered": lowered}


def test_audit_mode_notes_what_would_have_been_refused(plane, namespace):
    policy(plane, namespace, families="turing", mode="audit")

    answer = plane.create(pod("noted", namespace, annotations={"gpusched.io/families": "hopper"}))

    assert (answer.status, answer.warnings) == (201, ())
    assert annotations(plane, namespace, "noted")["gpu-policy-family"] == (
        f"pod asks for hopper; namespace {namespace} allows turing."
    )


def label_patches(plane, node):
    """What gpusched wrote on a node, oldest first."""
    wanted = {"verb": "patch", "resource": "nodes", "name": node}
    return [
        event["requestObject"]["metadata"]["labels"]
        for event in entries(plane, **wanted)
        if event["user"]["username"] == GPUSCHED
    ]


def test_labeller_patches_changed_keys_alone_and_writes_nothing_else(plane):
    before = len(label_patches(plane, "t4"))
    # Another version each time: what is there already would be no change.
    driver = f"560.35.{before}"
    change = {"metadata": {"labels": {"nvidia.com/cuda.driver-version.full": driver, "unrelated": driver}}}
    plane.request("PATCH", "/api/v1/nodes/t4", change, content_type=MERGE).expect()

    patches = plane.wait_until(lambda: label_patches(plane, "t4")[before:], what="patch of the labeller")

    assert patches == [{"gpusched.io/driver-version": f"560035{before:03}"}]
    assert len(label_patches(plane, "h100")) == 1


def test_gpusched_writes_nothing_but_what_it_says_it_writes(plane, namespace):
    """No write is refused to it either: the shipped role has all that it needs."""
    policy(plane, namespace, quota="*=8")
    plane.create(pod("gated", namespace)).expect()
    plane.wait_for(f"/api/v1/namespaces/{namespace}/pods/gated", lambda tree: tree["spec"].get("nodeName"))

    ours = [event for event in entries(plane) if event["user"]["username"] == GPUSCHED]

    written = {
        (event["verb"], event["objectRef"]["resource"], event["objectRef"].get("subresource", ""))
        for event in ours
        if event["verb"] not in {"get", "list", "watch"}
    }
    allowed = {
        ("patch", "nodes", ""),
        ("patch", "pods", ""),
        ("create", "pods", "binding"),
        ("create", "leases", ""),
        ("update", "leases", ""),
        ("create", "events", ""),
        ("patch", "events", ""),
        # Its certificates, and the caBundles of its webhooks.
        ("create", "secrets", ""),
        ("update", "secrets", ""),
        ("patch", "mutatingwebhookconfigurations", ""),
        ("patch", "validatingwebhookconfigurations", ""),
    }
    assert ("create", "pods", "binding") in written
    assert written <= allowed
    # A Namespace that terminates refuses its pods' bindings whatever the rights.
    assert [event for event in ours if event["annotations"]["authorization.k8s.io/decision"] == "forbid"] == []
