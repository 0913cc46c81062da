"""The few writes that gpusched makes, each with an outcome that says whether it is certain.

After a time-out, a reset or a 5xx nobody knows whether a write was carried out. That is an outcome of its own here: the
caller keeps what it promised until a read settles the matter.
"""

import asyncio
from collections.abc import Mapping
from enum import StrEnum
from typing import Final

import msgspec

from gpusched.core.pod import Pod
from gpusched.kube.errors import Response, Unreachable
from gpusched.kube.session import Session

MERGE_PATCH: Final = "application/merge-patch+json"
JSON_PATCH: Final = "application/json-patch+json"
_SECONDS: Final = 10.0


class Result(StrEnum):
    """How a write ended.

    BOUND, DONE: carried out. CONFLICT: 409, the object is not what it was taken for. REFUSED: certainly not carried
    out. UNKNOWN: it may have been or may yet be.
    """

    BOUND = "bound"
    DONE = "done"
    CONFLICT = "conflict"
    REFUSED = "refused"
    UNKNOWN = "unknown"


class Outcome(msgspec.Struct, frozen=True):
    """The result of a write; `message` is the API server's or the connection's sentence, empty on success.

    `status` is the HTTP status, 0 without an answer.
    """

    result: Result
    message: str = ""
    status: int = 0


async def bind(
    session: Session,
    namespace: str,
    name: str,
    uid: str,
    node: str,
    annotations: Mapping[str, str],
    timeout: float,  # noqa: ASYNC109 - sent to the API server, which keeps it too
) -> Outcome:
    """POST pods/binding. The API server merges `annotations` into the pod in the same write, and refuses when the pod
    of that name has another UID, so that a recreated pod is not bound (kube-apiserver, BindingREST).

    It is sent within `timeout` seconds or not at all, and the API server gives up its work on it so many seconds after
    it arrived: the query parameter bounds the context of a request (k8s.io/apiserver, WithRequestDeadline).
    """
    binding = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"namespace": namespace, "name": name, "uid": uid, "annotations": dict(annotations)},
        "target": {"apiVersion": "v1", "kind": "Node", "name": node},
    }
    path = f"{_pod_path(namespace, name)}/binding"
    try:
        # Around the session's own limit, which begins again when credentials are renewed.
        async with asyncio.timeout(timeout):
            outcome = await _write(
                session, "POST", path, binding, "application/json", timeout, {"timeout": f"{timeout:g}s"}
            )
    except TimeoutError:
        return Outcome(Result.UNKNOWN, "timed out")
    if outcome.result is Result.DONE:
        return msgspec.structs.replace(outcome, result=Result.BOUND)
    return outcome


async def get_pod(session: Session, namespace: str, name: str, *, timeout: float = _SECONDS) -> tuple[int, object]:  # noqa: ASYNC109 - handed to the session, which keeps it
    """The pod as it is now, as `get_object` has it."""
    return await get_object(session, _pod_path(namespace, name), timeout=timeout)


async def get_object(session: Session, path: str, *, timeout: float = _SECONDS) -> tuple[int, object]:  # noqa: ASYNC109 - handed to the session, which keeps it
    """The HTTP status and the object as it is now (without a resourceVersion the read is a quorum read), None unless
    200.

    Raises Unreachable; a body that is no JSON counts as status 500.
    """
    response = await session.request("GET", path, timeout=timeout)
    if response.status != 200:
        return response.status, None
    try:
        return 200, msgspec.json.decode(response.body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return 500, None


async def patch_node_labels(session: Session, name: str, labels: Mapping[str, str | None]) -> Outcome:
    """Set labels of a node and remove those given as None."""
    return await _patch_metadata(session, f"/api/v1/nodes/{name}", {"labels": dict(labels)})


async def patch_pod_annotations(
    session: Session, namespace: str, name: str, annotations: Mapping[str, str | None], *, uid: str = ""
) -> Outcome:
    """Set annotations of a pod and remove those given as None; with a UID only of that very pod."""
    metadata: dict[str, object] = {"annotations": dict(annotations)}
    return await _patch_metadata(session, _pod_path(namespace, name), metadata | ({"uid": uid} if uid else {}))


async def patch_pod_labels(
    session: Session, namespace: str, name: str, labels: Mapping[str, str | None], *, uid: str = ""
) -> Outcome:
    """Set labels of a pod and remove those given as None; with a UID only of that very pod."""
    metadata: dict[str, object] = {"labels": dict(labels)}
    return await _patch_metadata(session, _pod_path(namespace, name), metadata | ({"uid": uid} if uid else {}))


async def remove_gate(session: Session, pod: Pod, gate: str) -> Outcome:
    """Remove a scheduling gate from this very pod. REFUSED when its gates are no longer those of `pod`: try again with
    the pod as it is by then. DONE without a request when `pod` has no such gate.
    """
    if gate not in pod.spec.gates:
        return Outcome(Result.DONE)
    place = f"/spec/schedulingGates/{pod.spec.gates.index(gate)}"
    operations = [
        {"op": "test", "path": "/metadata/uid", "value": pod.uid},
        {"op": "test", "path": f"{place}/name", "value": gate},
        {"op": "remove", "path": place},
    ]
    return await _write(session, "PATCH", _pod_path(pod.namespace, pod.name), operations, JSON_PATCH, _SECONDS)


async def _patch_metadata(session: Session, path: str, metadata: Mapping[str, object]) -> Outcome:
    return await _write(session, "PATCH", path, {"metadata": metadata}, MERGE_PATCH, _SECONDS)


async def _write(
    session: Session,
    method: str,
    path: str,
    tree: object,
    content_type: str,
    seconds: float,
    query: Mapping[str, str] | None = None,
) -> Outcome:
    try:
        response = await session.request(
            method, path, query=query, body=msgspec.json.encode(tree), content_type=content_type, timeout=seconds
        )
    except Unreachable as error:
        return Outcome(Result.UNKNOWN if error.sent else Result.REFUSED, error.reason)
    return outcome_of(response)


def outcome_of(response: Response) -> Outcome:
    """What an answer says about a write. 408 and 5xx come while a write may still go on, other 4xx before it begins."""
    if response.ok:
        return Outcome(Result.DONE, status=response.status)
    if response.status == 409:
        result = Result.CONFLICT
    elif response.status == 408 or response.status >= 500:
        result = Result.UNKNOWN
    else:
        result = Result.REFUSED
    return Outcome(result, response.message, response.status)


def _pod_path(namespace: str, name: str) -> str:
    return f"/api/v1/namespaces/{namespace}/pods/{name}"
