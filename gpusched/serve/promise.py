"""A promise: slots reserved for one pod on one node from before the binding is sent until its outcome has been seen."""

import asyncio
from enum import StrEnum
from typing import Protocol

import msgspec

from gpusched.core.read_pod import read_pod


class Verdict(StrEnum):
    """What the API server said to a binding. `UNKNOWN`: nothing, or nothing final; it may have been carried out."""

    BOUND = "bound"
    CONFLICT = "conflict"
    REFUSED = "refused"
    UNKNOWN = "unknown"


class BindingApi(Protocol):
    """The calls a bind makes. None raises for what the network or the API server does."""

    async def bind(self, promise: "Promise") -> tuple[Verdict, str]:
        """POST pods/binding with the pod's UID; the text says why where the verdict is not BOUND."""
        ...

    async def get_pod(self, namespace: str, name: str) -> tuple[int, object]:
        """The newest pod by a quorum read: HTTP status and tree; status 0 when there was no answer."""
        ...

    async def touch_pod(self, promise: "Promise") -> tuple[int, object]:
        """The same after a write on the pod. Storage takes a change only of the state it was made from, so that a
        binding which was on its way into storage cannot be carried out behind it.
        """
        ...


class Promise:
    """`sent` is when a binding was last sent, `unknown_since` when the last one without an outcome was, `bound` whether
    the API server confirmed it, `seen` whether the pod was ever in the cluster state. `task` is the attempt in flight.
    """

    __slots__ = ("bound", "name", "namespace", "node", "seen", "sent", "task", "uid", "unknown_since")

    def __init__(self, namespace: str, name: str, uid: str, node: str, now: float) -> None:
        self.namespace = namespace
        self.name = name
        self.uid = uid
        self.node = node
        self.sent = now
        self.bound = False
        self.seen = False
        self.unknown_since: float | None = None
        self.task: asyncio.Task[Attempt] | None = None

    @property
    def in_flight(self) -> bool:
        """Whether a binding is being sent right now."""
        return self.task is not None and not self.task.done()


class Attempt(msgspec.Struct, frozen=True):
    """How a bind ended: a code for logs and metrics, and the error for kube-scheduler, empty for success."""

    code: str
    error: str = ""


class Whereabouts(msgspec.Struct, frozen=True):
    """Where a pod of one UID is: `known` False without an answer, `gone` when it is deleted, replaced or finished, and
    its node, empty while it has none.
    """

    known: bool = True
    gone: bool = False
    node: str = ""


def whereabouts(status: int, tree: object, uid: str) -> Whereabouts:
    """What a quorum read says about the pod of this UID."""
    if status == 404:
        return Whereabouts(gone=True)
    if status != 200 or not isinstance(tree, dict):
        return Whereabouts(known=False)
    pod = read_pod(tree, [])
    return Whereabouts(gone=pod.uid != uid or pod.terminal, node=pod.spec.node_name)
