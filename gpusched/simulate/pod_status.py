"""What the status of a pod says about it: the words of kube-scheduler, of the kubelet and of the container runtime."""

from collections.abc import Iterator, Mapping

from gpusched.core.fields import Field

#: Reasons of the condition PodScheduled that say no more than the pod's own gates do.
_TOLD_ALREADY = "SchedulingGated"
#: What kube-scheduler appends about pods that it would not evict for this one.
_PREEMPTION = " preemption: "
#: The kubelet's reason for a pod that a device plugin or topology manager did not serve.
_UNADMITTED = "UnexpectedAdmissionError"


def status_notes(tree: Mapping[str, object]) -> tuple[str, ...]:
    """Sentences without a final period, the most telling first; none where there is no status."""
    pod = Field(tree)
    return tuple(_sentences(pod, pod.get("status")))


def _sentences(pod: Field, status: Field) -> Iterator[str]:
    if pod.get("metadata").get("deletionTimestamp").present:
        yield "it is being deleted: it holds its GPUs until it is gone"
    placed = pod.get("spec").get("nodeName").present
    if placed:
        yield from _on_its_node(status)
        return
    scheduled = _condition(status, "PodScheduled")
    if scheduled is not None and _text(scheduled, "status") == "False" and _text(scheduled, "reason") != _TOLD_ALREADY:
        said = _text(scheduled, "message").partition(_PREEMPTION)[0] or _text(scheduled, "reason")
        yield f"kube-scheduler says: {said}"
    nominated = _text(status, "nominatedNodeName")
    if nominated:
        yield f"pods on {nominated} were asked to end for it: it is tried there again once they are gone"
    scheduler = _text(pod.get("spec"), "schedulerName")
    if scheduled is None and status.present and scheduler not in {"", "default-scheduler"}:
        yield f"no scheduler has said anything about it: it waits for {scheduler}"


def _on_its_node(status: Field) -> Iterator[str]:
    reason = _text(status, "reason")
    if reason:
        yield f"{reason}: {_text(status, 'message')}" if _text(status, "message") else reason
    if reason == _UNADMITTED:
        yield "the kubelet refused it: no device was left, or the device plugin was away; create it anew"
    if _text(status, "phase") not in {"", "Pending"}:
        return
    for kind in ("initContainerStatuses", "containerStatuses"):
        for container in status.get(kind).items():
            waiting = container.get("state").get("waiting")
            why = _text(waiting, "reason")
            if why and why not in {"PodInitializing", "ContainerCreating"}:
                message = _text(waiting, "message")
                yield f"container {_text(container, 'name')} waits: {why}{f': {message}' if message else ''}"


def _condition(status: Field, kind: str) -> Field | None:
    return next((item for item in status.get("conditions").items() if _text(item, "type") == kind), None)


def _text(field: Field, key: str) -> str:
    value = field.get(key).value
    return value if isinstance(value, str) else ""
