"""What a workload's controller was told when it wanted to create pods, by conditions and events of the cluster."""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from gpusched.core.fields import Field
from gpusched.simulate.manifest import Manifest

#: Conditions that carry a refusal: type, status and, where other things have those too, the reason. Refused are pods,
#: or the ReplicaSet of a Deployment itself (pkg/controller/deployment/util of Kubernetes).
_CONDITIONS = {
    ("ReplicaFailure", "True", ""),
    ("Progressing", "False", "ReplicaSetCreateError"),
}
_EVENT = "FailedCreate"


class Refusal(NamedTuple):
    """What a controller was told last, and when, as the API server writes it: empty for a condition, which holds."""

    time: str
    message: str


def refusal_of(workload: Manifest, standing: Iterable[Manifest], events: Iterable[Manifest]) -> Refusal | None:
    """The newest refusal of pods of the workload, or of the objects that it makes; None where there is none.

    Conditions go before events: a condition is taken back once pods are created, an event stays for an hour.
    """
    family = _family(workload, standing)
    for item in family:
        message = condition_of(item)
        if message:
            return Refusal("", message)
    if workload.kind in {"Deployment", "ReplicaSet", "ReplicationController"}:
        return None
    names = {(item.kind, item.namespace, item.name) for item in family}
    return max(_told(events, names), default=None)


def condition_of(workload: Manifest) -> str:
    """The refusal that a condition of the object itself tells; empty where none does."""
    for condition in Field(workload.tree).get("status").get("conditions").items():
        state = _text(condition, "type"), _text(condition, "status")
        if {(*state, ""), (*state, _text(condition, "reason"))} & _CONDITIONS:
            return _text(condition, "message")
    return ""


def _family(workload: Manifest, standing: Iterable[Manifest]) -> list[Manifest]:
    """The workload and the objects that it controls: ReplicaSets of a Deployment, Jobs of a CronJob."""
    made = [
        item
        for item in standing
        if item.namespace == workload.namespace
        and item.kind != "Pod"
        and any(
            _text(owner, "kind") == workload.kind and _text(owner, "name") == workload.name
            for owner in Field(item.tree).get("metadata").get("ownerReferences").items()
        )
    ]
    return [workload, *made]


def _told(events: Iterable[Manifest], names: set[tuple[str, str, str]]) -> Iterator[Refusal]:
    for event in events:
        tree = Field(event.tree)
        about = tree.get("involvedObject")
        key = (_text(about, "kind"), _text(about, "namespace"), _text(about, "name"))
        if _text(tree, "reason") == _EVENT and key in names:
            yield Refusal(time_of(event.tree), _text(tree, "message"))


def time_of(tree: Mapping[str, object]) -> str:
    """When an event was last seen, as the API server writes it."""
    event = Field(tree)
    times = (
        _text(event.get("series"), "lastObservedTime"),
        _text(event, "lastTimestamp"),
        _text(event, "eventTime"),
        _text(event.get("metadata"), "creationTimestamp"),
    )
    return next((time for time in times if time), "")


def _text(field: Field, key: str) -> str:
    value = field.get(key).value
    return value if isinstance(value, str) else ""
