"""Server-sent events for pages that are open: which generation there is, and which nodes changed since the last event.

https://html.spec.whatwg.org/multipage/server-sent-events.html
"""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Callable
from typing import Final

import msgspec

from gpusched.serve.view.access import Denied, Scope
from gpusched.serve.view.answers import View

#: Seconds between two looks at the state; what changes within is one event.
_PAUSE: Final = 0.5
#: Seconds of silence after which a comment shows that the connection lives.
_SILENCE: Final = 15.0
#: Seconds after which a stream ends, so that the caller says anew who he is.
_LIFE: Final = 300.0
#: Names in one event; above it the page is told to ask for all changes.
_NAMES: Final = 200
#: Streams that are open at a time, and those of them that one user may have.
_STREAMS: Final = 64
_SHARE: Final = 16
_INSTEAD: Final = "ask for /api/v1/nodes now and then"


class ChangeEvent(msgspec.Struct, frozen=True):
    """`nodes` are the names of nodes changed or gone since the event before, null when they are too many to name.
    `refusals` counts the refusals until now.
    """

    instance: str
    generation: int
    nodes: tuple[str, ...] | None
    refusals: int


class EventStreams:
    """The open streams, as many as one process serves at a time."""

    def __init__(self, view: View, ending: Callable[[], bool], clock: Callable[[], float]) -> None:
        self._view = view
        self._ending = ending
        self._clock = clock
        self._open: Counter[str] = Counter()

    def denied(self, user: str) -> Denied | None:
        """Why a user, given by name, gets no further stream now; None when he does."""
        if self._open[user] >= _SHARE:
            return Denied(429, f"You have {_SHARE} pages open on this replica, no user gets more: {_INSTEAD}.")
        if self._open.total() >= _STREAMS:
            return Denied(503, f"Too many pages are open on this replica: {_INSTEAD}.")
        return None

    async def stream(self, scope: Scope, user: str) -> AsyncGenerator[bytes, None]:
        """Events until the life of a stream is over or the service ends; the first says where things stand. Of streams
        that were asked for at once those beyond the bounds end at once.
        """
        if self.denied(user) is not None:
            return
        self._open[user] += 1
        try:
            changes = self._view.changes
            began = told_at = self._clock()
            told = (changes.look(), self._view.refused.count)
            yield b"retry: 2000\n\n" + self._event(told, ())
            while not self._ending() and self._clock() - began < _LIFE:
                await asyncio.sleep(_PAUSE)
                now = (changes.look(), self._view.refused.count)
                if now != told:
                    yield self._event(now, self._names(told[0]) if scope.nodes else ())
                    told, told_at = now, self._clock()
                elif self._clock() - told_at >= _SILENCE:
                    yield b": nothing new\n\n"
                    told_at = self._clock()
        finally:
            self._open -= Counter((user,))

    def _names(self, generation: int) -> tuple[str, ...] | None:
        changed = self._view.changes.since(generation)
        names = (*changed.nodes, *changed.gone)
        return None if changed.complete or len(names) > _NAMES else names

    def _event(self, now: tuple[int, int], names: tuple[str, ...] | None) -> bytes:
        event = ChangeEvent(self._view.instance, now[0], names, now[1])
        return b"event: change\ndata: " + msgspec.json.encode(event) + b"\n\n"
