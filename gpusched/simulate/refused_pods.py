"""What a workload's controller was told when it wanted to create pods, by conditions and events of the cluster."""

from collections.abc import Iterable, Iterator, Mapping

from gpusched.core.fields import Field
from gpusched.simulate.manifest import Manifest

#: Conditions that carry a refusal: type, status and, where other things have those too, the reason. Refused are pods,
#: or the ReplicaSet of a Deployment itself (pkg/controller/deployment/util of Kubernetes).
_CONDITIONS = {
    ("ReplicaFailure", "True", ""),
    ("Progressing", "False", "ReplicaSetCreateError"),
}
_EVENT = "FailedCreate"


def refusal_of(workload: Manifest, standing: Iterable[Manifest], events: Iterable[Manifest]) -> str:
    """The newest refusal of pods of the workload, or of the objects that it makes; empty where there is none.

    Conditions go before events: a condition is taken back once pods are created, an event stays for an hour.
    """
    family = _family(workload, standing)
    for item in family:
        for condition in Field(item.tree).get("status").get("conditions").items():
            state = _text(condition, "type"), _text(condition, "status")
            if {(*state, ""), (*state, _text(condition, "reason"))} & _CONDITIONS:
                return _text(condition, "message")
    if workload.kind in {"Deployment", "ReplicaSet", "ReplicationController"}:
        return ""
    names = {(item.kind, item.namespace, item.name) for item in family}
    told = sorted(_told(events, names))
    return told[-1][1] if told else ""


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


def _told(events: Iterable[Manifest], names: set[tuple[str, str, str]]) -> Iterator[tuple[str, str]]:
    for event in events:
        tree = Field(event.tree)
        about = tree.get("involvedObject")
        key = (_text(about, "kind"), _text(about, "namespace"), _text(about, "name"))
        if _text(tree, "reason") == _EVENT and key in names:
            yield _time(event.tree), _text(tree, "message")


def _time(tree: Mapping[str, object]) -> str:
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
