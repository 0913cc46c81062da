"""What the status of a pod says about it: the words of kube-scheduler, of the kubelet and of the container runtime."""

from collections.abc import Iterator, Mapping

from gpusched.core.fields import Field

#: Reasons of the condition PodScheduled that say no more than the pod's own gates do.
_TOLD_ALREADY = "SchedulingGated"
#: How its word on a pod is introduced.
SCHEDULER_SAYS = "kube-scheduler says: "
#: What kube-scheduler appends about pods that it would not evict for this one.
_PREEMPTION = " preemption: "
#: The kubelet's reason for a pod that a device plugin or topology manager did not serve.
_UNADMITTED = "UnexpectedAdmissionError"


def status_notes(tree: Mapping[str, object]) -> tuple[str, ...]:
    """Sentences without a final period, the most telling first; none where there is no status."""
    pod = Field(tree)
    return tuple(_sentences(pod, pod.get("status")))


def scheduler_word(tree: object) -> str:
    """What the scheduler said of the pod when it last tried and failed; empty where it did not."""
    scheduled = _condition(Field(tree).get("status"), "PodScheduled")
    if scheduled is None or _text(scheduled, "status") != "False" or _text(scheduled, "reason") == _TOLD_ALREADY:
        return ""
    return _text(scheduled, "message").partition(_PREEMPTION)[0] or _text(scheduled, "reason")


def _sentences(pod: Field, status: Field) -> Iterator[str]:
    placed = pod.get("spec").get("nodeName").present
    if pod.get("metadata").get("deletionTimestamp").present:
        yield _deletion(pod, placed=placed)
    if placed:
        yield from _on_its_node(status)
        return
    said = scheduler_word(pod.value)
    if said:
        yield SCHEDULER_SAYS + said
    nominated = _text(status, "nominatedNodeName")
    if nominated:
        yield f"pods on {nominated} were asked to end for it: it is tried there again once they are gone"


def _deletion(pod: Field, *, placed: bool) -> str:
    """What a pod waits for that is going: its finalizers are taken off by whoever put them on."""
    names = [item.value for item in pod.get("metadata").get("finalizers").items() if isinstance(item.value, str)]
    waits = f"finalizer {', '.join(names)}, which its owner must remove" if names else ""
    if placed:
        return f"it is being deleted: it holds its GPUs until it is gone{f'; it waits for {waits}' if waits else ''}"
    return f"it is being deleted and holds no GPU: {f'it waits for {waits}' if waits else 'no scheduler places it'}"


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
