"""What the service asks of the API server, in its own terms: every call ends with a value, none with an exception."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Final

from gpusched.core.names import BOUND_ANNOTATION, QUOTA_GATE, STATUS_PREFIX
from gpusched.core.pod import Pod
from gpusched.kube import node_pods, workloads, writes
from gpusched.kube.errors import StatusError, Unreachable
from gpusched.kube.session import Session
from gpusched.kube.writes import Outcome, Result
from gpusched.serve.promise import Promise, Verdict

#: Written on a pending pod so that kube-scheduler tries it again: when that was.
WOKEN_ANNOTATION: Final = STATUS_PREFIX + "woken"
#: Label of gpusched's own pod by which the extender's Service finds the leader.
LEADER_LABEL: Final = "gpusched.io/leader"

_VERDICTS: Final = {
    Result.BOUND: Verdict.BOUND,
    Result.DONE: Verdict.BOUND,
    Result.CONFLICT: Verdict.CONFLICT,
    Result.REFUSED: Verdict.REFUSED,
    Result.UNKNOWN: Verdict.UNKNOWN,
}


class ServiceApi:
    """The calls of one session. `wall_clock` stamps what people read; `bind_seconds` is what a binding is given."""

    def __init__(self, session: Session, wall_clock: Callable[[], datetime], bind_seconds: float) -> None:
        self._session = session
        self._wall_clock = wall_clock
        self._bind_seconds = bind_seconds

    async def bind(self, promise: Promise) -> tuple[Verdict, str]:
        """POST pods/binding, with the mark by which gpusched knows its own."""
        outcome = await writes.bind(
            self._session,
            promise.namespace,
            promise.name,
            promise.uid,
            promise.node,
            {BOUND_ANNOTATION: promise.node},
            self._bind_seconds,
        )
        return _VERDICTS[outcome.result], outcome.message

    async def get_pod(self, namespace: str, name: str) -> tuple[int, object]:
        """The newest pod; status 0 without an answer."""
        try:
            return await writes.get_pod(self._session, namespace, name)
        except Unreachable:
            return 0, None

    async def touch_pod(self, promise: Promise) -> tuple[int, object]:
        """Write on the pod, then read it; status 0 where the write may not have been carried out."""
        outcome = await self._annotate(promise.namespace, promise.name, promise.uid)
        if outcome.result is Result.UNKNOWN:
            return 0, None
        return await self.get_pod(promise.namespace, promise.name)

    async def pods_on(self, node_name: str) -> tuple[Pod, ...] | None:
        """All unfinished pods of a node, None where they cannot be read."""
        return await node_pods.pods_on(self._session, node_name)

    async def get_workload(self, kind: str, namespace: str, name: str) -> tuple[int, object]:
        """A workload as it is now; status 0 without an answer."""
        try:
            return await workloads.get_workload(self._session, kind, namespace, name)
        except Unreachable:
            return 0, None

    async def failed_creates(self, namespace: str) -> Sequence[Mapping[str, object]] | None:
        """FailedCreate events of a namespace, or with an empty name of all; None where they cannot be read."""
        try:
            return await workloads.failed_creates(self._session, namespace)
        except (StatusError, Unreachable):
            return None

    async def label_node(self, name: str, labels: Mapping[str, str | None]) -> str | None:
        """Set and remove labels of a node."""
        return _problem(await writes.patch_node_labels(self._session, name, labels))

    async def lift_gate(self, pod: Pod) -> str | None:
        """Take the quota gate off a pod."""
        return _problem(await writes.remove_gate(self._session, pod, QUOTA_GATE))

    async def wake(self, pod: Pod) -> str | None:
        """Give the scheduler a reason to try a pending pod again."""
        return _problem(await self._annotate(pod.namespace, pod.name, pod.uid))

    async def label_leader(self, namespace: str, name: str, *, leading: bool) -> str | None:
        """Say on gpusched's own pod whether it leads."""
        value = "true" if leading else None
        return _problem(await writes.patch_pod_labels(self._session, namespace, name, {LEADER_LABEL: value}))

    async def _annotate(self, namespace: str, name: str, uid: str) -> Outcome:
        stamp = self._wall_clock().strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        return await writes.patch_pod_annotations(self._session, namespace, name, {WOKEN_ANNOTATION: stamp}, uid=uid)


def _problem(outcome: Outcome) -> str | None:
    """Why a write is not done; an object that is gone, or another one by now, needs none."""
    if outcome.result is Result.DONE or outcome.status in {404, 409}:
        return None
    return outcome.message or f"HTTP {outcome.status}"
