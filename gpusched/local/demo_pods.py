"""What the API server, its audit log and kube-scheduler's events tell about the pods of the demo."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import msgspec

from gpusched.simulate.manifest import Manifest

#: The lists of a dump, by their paths.
PATHS: Final = ("/api/v1/nodes", "/api/v1/namespaces", "/apis/node.k8s.io/v1/runtimeclasses", "/api/v1/pods")
_SCHEDULER: Final = "default-scheduler"
#: Audit annotations of mutating webhooks (k8s.io/apiserver, admission/plugin/webhook/mutating/dispatcher.go).
_PATCH: Final = "patch.webhook.admission.k8s.io/"


class _Condition(msgspec.Struct, frozen=True):
    type: str
    status: str
    reason: str = ""
    message: str = ""


class _Status(msgspec.Struct, frozen=True):
    phase: str = ""
    conditions: list[_Condition] = []


class _Gate(msgspec.Struct, frozen=True):
    name: str


class _Spec(msgspec.Struct, frozen=True, rename="camel"):
    node_name: str = ""
    scheduling_gates: list[_Gate] = []


class _Metadata(msgspec.Struct, frozen=True, rename="camel"):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    creation_timestamp: str = ""


class _Pod(msgspec.Struct, frozen=True):
    metadata: _Metadata
    spec: _Spec
    status: _Status = _Status()


class _Source(msgspec.Struct, frozen=True):
    component: str = ""


class _Series(msgspec.Struct, frozen=True, rename="camel"):
    last_observed_time: str = ""


class _Event(msgspec.Struct, frozen=True, rename="camel"):
    metadata: _Metadata
    reason: str = ""
    message: str = ""
    reporting_component: str = ""
    source: _Source = _Source()
    series: _Series | None = None
    event_time: str | None = None
    last_timestamp: str | None = None

    @property
    def latest(self) -> str:
        """When it was seen last, as text that sorts."""
        seen = self.series.last_observed_time if self.series is not None else ""
        return seen or self.event_time or self.last_timestamp or self.metadata.creation_timestamp


class _Events(msgspec.Struct, frozen=True):
    items: list[_Event] = []


class _ObjectRef(msgspec.Struct, frozen=True):
    resource: str = ""
    namespace: str = ""
    subresource: str = ""


class _Answered(msgspec.Struct, frozen=True):
    code: int = 0


class _AuditEvent(msgspec.Struct, frozen=True, rename="camel"):
    verb: str = ""
    object_ref: _ObjectRef = _ObjectRef()
    request_object: object = None
    response_status: _Answered = _Answered()
    annotations: dict[str, str] = {}


class Sighting(msgspec.Struct, frozen=True):
    """A pod at one moment. `verdict` is the reason of its PodScheduled condition, `message` what that says."""

    namespace: str
    name: str
    uid: str
    phase: str
    node: str = ""
    gates: tuple[str, ...] = ()
    verdict: str = ""
    message: str = ""

    @property
    def waits(self) -> bool:
        """Whether it has no node, and it was said why."""
        return not self.node and (bool(self.gates) or self.verdict == "Unschedulable")

    @property
    def decided(self) -> bool:
        """Whether it runs, or waits for a reason that is known."""
        return self.waits or (bool(self.node) and self.phase in {"Running", "Succeeded", "Failed"})

    @property
    def state(self) -> str:
        """The STATUS of `kubectl get pods`."""
        return self.verdict if self.gates and self.verdict else self.phase


def manifests_of(listing: Mapping[str, object]) -> Iterator[Manifest]:
    """The objects of a list as the API server answers it; its items leave out what kind they are."""
    kind = str(listing["kind"]).removesuffix("List")
    version = str(listing["apiVersion"])
    items = listing.get("items")
    for item in items if isinstance(items, list) else []:
        about = msgspec.convert(item["metadata"], _Metadata)
        tree = {"apiVersion": version, "kind": kind, **item}
        yield Manifest("cluster", tree, kind, version, about.name, about.namespace)


def sighting(manifest: Manifest) -> Sighting:
    """What matters of a Pod object."""
    pod = msgspec.convert(manifest.tree, _Pod)
    scheduled = next((item for item in pod.status.conditions if item.type == "PodScheduled"), None)
    refused = scheduled if scheduled is not None and scheduled.status == "False" else None
    return Sighting(
        namespace=pod.metadata.namespace,
        name=pod.metadata.name,
        uid=pod.metadata.uid,
        phase=pod.status.phase,
        node=pod.spec.node_name,
        gates=tuple(gate.name for gate in pod.spec.scheduling_gates),
        verdict=refused.reason if refused is not None else "",
        message=refused.message if refused is not None else "",
    )


def newest_event(listing: Mapping[str, object]) -> str:
    """Reason and message of kube-scheduler's newest event in a list of events, empty if it has none."""
    events = [
        event
        for event in msgspec.convert(listing, _Events).items
        if _SCHEDULER in {event.reporting_component, event.source.component}
    ]
    newest = max(events, key=lambda event: event.latest, default=None)
    return f"{newest.reason}: {newest.message}" if newest is not None else ""


def admitted_pods(log: Path) -> list[tuple[Manifest, tuple[dict[str, object], ...]]]:
    """The pods whose creation an audit log tells, as they were sent, with the patches that webhooks made to them.

    The log is the API server's own word on what was changed: a gate that is lifted by now is still in it.
    """
    pods = []
    for line in log.read_text(encoding="utf-8").splitlines():
        event = msgspec.json.decode(line, type=_AuditEvent)
        about = event.object_ref
        tree = event.request_object
        if (event.verb, about.resource, about.subresource) != ("create", "pods", "") or not isinstance(tree, dict):
            continue
        if event.response_status.code < 300:
            name = msgspec.convert(tree.get("metadata", {}), _Metadata).name
            manifest = Manifest("audit", tree, "Pod", "v1", name, about.namespace)
            pods.append((manifest, _patch(event.annotations)))
    return pods


def _patch(annotations: Mapping[str, str]) -> tuple[dict[str, object], ...]:
    told = [json.loads(text) for key, text in sorted(annotations.items()) if key.startswith(_PATCH)]
    return tuple(op for each in told for op in each.get("patch", []))
