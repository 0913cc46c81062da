"""Pods, events and audit records are read for what the demo tells of them."""

import json
from pathlib import Path

import pytest

from gpusched.local.demo_pods import Sighting, admitted_pods, manifests_of, newest_event, sighting
from gpusched.simulate.manifest import Manifest
from tests.build import pod


def seen(tree: dict[str, object]) -> Sighting:
    return sighting(Manifest("cluster", tree, "Pod"))


def scheduled(status: str, reason: str = "", message: str = "") -> dict[str, object]:
    return {"type": "PodScheduled", "status": status, "reason": reason, "message": message}


@pytest.mark.parametrize(
    ("fields", "status", "state", "decided", "waits"),
    [
        ({}, {"phase": "Pending"}, "Pending", False, False),
        ({"nodeName": "a"}, {"phase": "Pending", "conditions": [scheduled("True")]}, "Pending", False, False),
        ({"nodeName": "a"}, {"phase": "Running"}, "Running", True, False),
        ({"nodeName": "a"}, {"phase": "Succeeded"}, "Succeeded", True, False),
        ({}, {"phase": "Pending", "conditions": [scheduled("False", "SchedulerError")]}, "Pending", False, False),
        ({}, {"phase": "Pending", "conditions": [scheduled("False", "Unschedulable")]}, "Pending", True, True),
        (
            {"schedulingGates": [{"name": "x"}]},
            {"phase": "Pending", "conditions": [scheduled("False", "SchedulingGated")]},
            "SchedulingGated",
            True,
            True,
        ),
        ({"schedulingGates": [{"name": "x"}]}, {"phase": "Pending"}, "Pending", True, True),
    ],
)
def test_states_of_a_pod(
    fields: dict[str, object], status: dict[str, object], state: str, decided: bool, waits: bool
) -> None:
    found = seen(pod("p", **fields) | {"status": status})

    assert (found.state, found.decided, found.waits) == (state, decided, waits)


def test_a_sighting_tells_what_the_condition_says() -> None:
    tree = pod("p", "team-a") | {
        "status": {
            "phase": "Pending",
            "conditions": [{"type": "Ready", "status": "False"}, scheduled("False", "R", "m")],
        }
    }
    tree["metadata"]["uid"] = "u1"

    assert seen(tree) == Sighting("team-a", "p", "u1", "Pending", verdict="R", message="m")


def test_items_of_a_list_get_the_kind_of_the_list() -> None:
    item = {"metadata": {"name": "nvidia"}, "handler": "nvidia"}

    (found,) = manifests_of({"kind": "RuntimeClassList", "apiVersion": "node.k8s.io/v1", "items": [item]})

    assert found.tree == {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", **item}
    assert (found.kind, found.group, found.name, found.namespace) == ("RuntimeClass", "node.k8s.io", "nvidia", "")


def event(message: str, component: str = "default-scheduler", **fields: object) -> dict[str, object]:
    about = {"name": message, "creationTimestamp": "2026-01-01T00:00:00Z"}
    return {"metadata": about, "reason": "R", "message": message, "reportingComponent": component, **fields}


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([], ""),
        ([event("kubelet's", "kubelet")], ""),
        ([event("b", eventTime="2026-01-01T00:00:02.5Z"), event("a", eventTime="2026-01-01T00:00:01Z")], "R: b"),
        ([event("1", lastTimestamp="2026-01-01T00:00:01Z"), event("2", lastTimestamp="2026-01-02T00:00:00Z")], "R: 2"),
        (
            [
                event("again", eventTime="2026-01-01T00:00:01Z", series={"lastObservedTime": "2026-01-01T00:09:00Z"}),
                event("once", eventTime="2026-01-01T00:00:05Z"),
            ],
            "R: again",
        ),
        ([event("by source", "", source={"component": "default-scheduler"}, eventTime=None)], "R: by source"),
    ],
)
def test_the_newest_event_of_the_scheduler(events: list[dict[str, object]], expected: str) -> None:
    assert newest_event({"items": events}) == expected


def audit(tree: object, code: int = 201, *patches: list[dict[str, object]], **reference: str) -> str:
    annotations = {
        f"patch.webhook.admission.k8s.io/round_0_index_{index}": json.dumps({"webhook": "w", "patch": patch})
        for index, patch in enumerate(patches)
    }
    return json.dumps(
        {
            "verb": "create",
            "objectRef": {"resource": "pods", "namespace": "team-a", **reference},
            "requestObject": tree,
            "responseStatus": {"code": code},
            "annotations": annotations | {"authorization.k8s.io/decision": "allow"},
        }
    )


def test_patches_of_created_pods_are_in_the_audit_log(tmp_path: Path) -> None:
    bare, generated = pod("bare"), {"metadata": {"generateName": "job-"}, "spec": {}}
    first, second = [{"op": "add", "path": "/a"}], [{"op": "add", "path": "/b"}]
    log = tmp_path / "audit.log"
    log.write_text(
        "\n".join(
            [
                audit(bare, 201, first, second),
                audit(generated, 201),
                audit(bare, 403, first),
                audit({}, 201, first, subresource="binding"),
                audit({}, 201, first, resource="jobs"),
                audit([{"op": "add"}], 200, resource="nodes"),
            ]
        ),
        encoding="utf-8",
    )

    found = [(manifest.name, manifest.namespace, manifest.tree, ops) for manifest, ops in admitted_pods(log)]

    assert found == [("bare", "team-a", bare, (*first, *second)), ("", "team-a", generated, ())]
