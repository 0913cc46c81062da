"""Tell people through Events: one for each object and reason, counted up, and no object can flood the cluster."""

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from hashlib import blake2b
from typing import Final

import msgspec

from gpusched.kube.errors import Response, Unreachable
from gpusched.kube.session import Session
from gpusched.kube.timing import Timing
from gpusched.kube.writes import MERGE_PATCH

_SECONDS: Final = 10.0
_RETRY_SECONDS: Final = 5.0
_ATTEMPTS: Final = 3
#: Events waiting to be written, and kinds of events remembered; beyond this the oldest are forgotten.
_WAITING: Final = 1_000
_REMEMBERED: Final = 4_096
#: As client-go's EventSourceObjectSpamFilter: a burst for each object, then one in five minutes.
_BURST: Final = 25.0
_REFILL_SECONDS: Final = 300.0
#: API validation of core/v1 Event: at most 1,024 characters of note; names at most 253.
_LONGEST_MESSAGE: Final = 1_024
_LONGEST_NAME: Final = 253


class Reference(msgspec.Struct, frozen=True):
    """The object an event is about; `namespace` is empty for cluster-scoped ones."""

    kind: str
    name: str
    namespace: str = ""
    uid: str = ""
    api_version: str = "v1"


class Severity:
    """The two types of events that there are."""

    NORMAL: Final = "Normal"
    WARNING: Final = "Warning"


class _Said(msgspec.Struct):
    """What is said about one object for one reason: how often, since when, and whether the server has it."""

    about: Reference
    reason: str
    message: str
    severity: str
    first: str
    last: str
    count: int = 1
    stored: bool = False


class Recorder:
    """Collects events without waiting and writes them in `run()`. What cannot be written is dropped and counted;
    `on_drop` is called each time.

    For one reason an object has one Event, which says what was said last: a text that changes, such as a place in a
    line, takes no more room than one that does not. Events are a courtesy: no decision waits for them, and those not
    written are lost when `run` ends.
    """

    def __init__(
        self,
        session: Session,
        instance: str,
        *,
        component: str = "gpusched",
        timing: Timing | None = None,
        on_drop: Callable[[], None] = lambda: None,
    ) -> None:
        #: Events not written: too many about one object, too many waiting, or refused.
        self.dropped = 0
        self._session = session
        self._instance = instance
        self._component = component
        self._timing = timing or Timing()
        self._on_drop = on_drop
        self._said: OrderedDict[str, _Said] = OrderedDict()
        self._waiting: OrderedDict[str, None] = OrderedDict()
        self._buckets: OrderedDict[Reference, tuple[float, float]] = OrderedDict()
        self._wake = asyncio.Event()

    @property
    def full(self) -> bool:
        """Whether so many events wait to be written that a further one would drive out the oldest."""
        return len(self._waiting) >= _WAITING

    def record(self, about: Reference, reason: str, message: str, severity: str = Severity.WARNING) -> None:
        """Say something about an object: `reason` is one CamelCase word, `message` a sentence."""
        if not self._allowed(about):
            self._drop()
            return
        message = message if len(message) <= _LONGEST_MESSAGE else f"{message[: _LONGEST_MESSAGE - 4]} ..."
        now = self._timing.timestamp().partition(".")[0] + "Z"
        name = _event_name(about, reason)
        said = self._said.get(name)
        if said is None:
            self._said[name] = _Said(about, reason, message, severity, now, now)
        else:
            said.message = message
            said.count += 1
            said.last = now
        self._said.move_to_end(name)
        self._waiting[name] = None
        if len(self._waiting) > _WAITING:
            self._waiting.popitem(last=False)
            self._drop()
        self._forget()
        self._wake.set()

    async def run(self) -> None:
        """Write what is recorded until cancelled."""
        try:
            while True:
                while self._waiting:
                    name, _ = self._waiting.popitem(last=False)
                    await self._write(name, self._said[name])
                self._wake.clear()
                await self._wake.wait()
        finally:
            # What was true then may not be when the next run begins.
            self._waiting.clear()

    def _drop(self) -> None:
        self.dropped += 1
        self._on_drop()

    async def _write(self, name: str, said: _Said) -> None:
        for attempt in range(_ATTEMPTS):
            if attempt:
                await self._timing.sleep(_RETRY_SECONDS)
            try:
                response = await self._send(name, said)
            except Unreachable:
                continue
            if response.ok:
                said.stored = True
                return
            if response.status != 429 and response.status < 500:
                break
        self._drop()

    async def _send(self, name: str, said: _Said) -> Response:
        """Create the event, or raise the count of one that the server has (it keeps events for an hour)."""
        if not said.stored:
            response = await self._create(name, said)
            if response.status != 409:
                return response
        patch = {"count": said.count, "lastTimestamp": said.last, "message": said.message}
        response = await self._session.request(
            "PATCH",
            f"{_path(said.about)}/{name}",
            body=msgspec.json.encode(patch),
            content_type=MERGE_PATCH,
            timeout=_SECONDS,
        )
        return await self._create(name, said) if response.status == 404 else response

    async def _create(self, name: str, said: _Said) -> Response:
        about = said.about
        tree = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": name, "namespace": about.namespace or "default"},
            "involvedObject": {
                "apiVersion": about.api_version,
                "kind": about.kind,
                "name": about.name,
                "namespace": about.namespace,
                "uid": about.uid,
            },
            "reason": said.reason,
            "message": said.message,
            "type": said.severity,
            "source": {"component": self._component},
            "reportingComponent": self._component,
            "reportingInstance": self._instance,
            "firstTimestamp": said.first,
            "lastTimestamp": said.last,
            "count": said.count,
        }
        return await self._session.request("POST", _path(about), body=msgspec.json.encode(tree), timeout=_SECONDS)

    def _allowed(self, about: Reference) -> bool:
        """Take a token from the object's bucket."""
        now = self._timing.clock()
        tokens, since = self._buckets.pop(about, (_BURST, now))
        tokens = min(_BURST, tokens + (now - since) / _REFILL_SECONDS)
        allowed = tokens >= 1.0
        self._buckets[about] = (tokens - 1.0 if allowed else tokens, now)
        if len(self._buckets) > _REMEMBERED:
            self._buckets.popitem(last=False)
        return allowed

    def _forget(self) -> None:
        while len(self._said) > _REMEMBERED:
            name = next(iter(self._said))
            if name in self._waiting:
                return
            del self._said[name]


def _path(about: Reference) -> str:
    return f"/api/v1/namespaces/{about.namespace or 'default'}/events"


def _event_name(about: Reference, reason: str) -> str:
    """One object has one name for one reason, also after a restart."""
    digest = blake2b("\0".join((about.kind, about.uid, reason)).encode(), digest_size=8).hexdigest()
    return f"{about.name[: _LONGEST_NAME - len(digest) - 1]}.{digest}"
