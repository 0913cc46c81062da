"""What gpusched says in events: once for each change, and again before the API server forgets it."""

from collections.abc import Callable
from enum import StrEnum
from typing import Final

import msgspec

from gpusched.core.pod import Pod
from gpusched.kube.events import Reference, Severity

#: Seconds until what still holds is said again: API servers keep events for an hour (--event-ttl).
_REMIND: Final = 2_700.0
#: Seconds between two texts for one reason about one object; what changes meanwhile is told then.
_CHANGE: Final = 30.0
#: Seconds after which what nobody has found any more is forgotten.
_FORGET: Final = 600.0


class EventReason(StrEnum):
    """The reasons of events, which people search for."""

    UNSCHEDULABLE = "GPUUnschedulable"
    QUOTA_WAIT = "GPUQuotaWait"
    POLICY_STALE = "GPUPolicyStale"
    POLICY_INVALID = "GPUPolicyInvalid"
    NODE_UNUSABLE = "GPUNodeUnusable"
    CONFIG_INVALID = "GPUConfigInvalid"


class Saying(msgspec.Struct, frozen=True):
    """One thing to say about one object. The message stays the same for as long as nothing changes."""

    about: Reference
    reason: EventReason
    message: str


class _Said(msgspec.Struct):
    message: str
    at: float
    found: float


#: What hands an event on: object, reason, message, severity.
Record = Callable[[Reference, str, str, str], None]


def about_pod(pod: Pod, reason: EventReason, message: str) -> Saying:
    """Something to say about a pod."""
    return Saying(Reference("Pod", pod.name, pod.namespace, pod.uid), reason, message)


class Told:
    """Remembers what was said, and hands on only what is new. While `full` nothing more is, until it is found again."""

    def __init__(self, record: Record, full: Callable[[], bool], clock: Callable[[], float]) -> None:
        self._record = record
        self._full = full
        self._clock = clock
        self._said: dict[tuple[Reference, EventReason], _Said] = {}

    def tell(self, saying: Saying) -> None:
        """Something was found just now."""
        now, key = self._clock(), (saying.about, saying.reason)
        said = self._said.get(key)
        if said is not None:
            said.found = now
            if now - said.at < (_REMIND if said.message == saying.message else _CHANGE):
                return
        if self._full():
            return
        self._said[key] = _Said(saying.message, now, now)
        severity = Severity.NORMAL if saying.reason is EventReason.QUOTA_WAIT else Severity.WARNING
        self._record(saying.about, saying.reason, saying.message, severity)

    def forget_past(self) -> None:
        """Drop what has not been found for some time: said again later, it is news."""
        oldest = self._clock() - _FORGET
        self._said = {key: said for key, said in self._said.items() if said.found >= oldest}

    def forget(self) -> None:
        """Drop everything: another leader may have spoken meanwhile."""
        self._said.clear()
