"""Pods about which kube-scheduler asked because of an event that gpusched had not seen yet.

Both follow the API server by watches of their own, and either may be first. A pod that was refused on the state before
the event would not be tried again: the event that could have helped it has passed.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Collection
from typing import Final

from gpusched.wire.decision import Decision

#: How far, in seconds, the scheduler's watch may be ahead of gpusched's.
_AHEAD: Final = 2.0
#: Seconds in which kube-scheduler tries the pods again by itself if it sees the event after gpusched.
_GRACE: Final = 0.25
_REMEMBERED: Final = 10_000


class Overtaken:
    """Remembers refusals of the last moments. `wake` is handed the keys of pods that were not asked about again."""

    def __init__(self, wake: Callable[[Collection[str]], None], clock: Callable[[], float]) -> None:
        self._wake = wake
        self._clock = clock
        self._refused: OrderedDict[str, float] = OrderedDict()
        self._doubtful: set[str] = set()
        self._timer: asyncio.TimerHandle | None = None

    def asked(self, decision: Decision) -> None:
        """A filter call was answered."""
        self._doubtful.discard(decision.uid)
        self._refused.pop(decision.uid, None)
        if decision.uid and not decision.kept:
            self._refused[decision.uid] = self._clock()
            if len(self._refused) > _REMEMBERED:
                self._refused.popitem(last=False)

    def made_room(self) -> None:
        """Something was seen by which a refused pod might fit: whoever was refused just before may have missed it."""
        oldest = self._clock() - _AHEAD
        self._doubtful.update(key for key, time in self._refused.items() if time >= oldest)
        self._refused.clear()
        if self._doubtful and self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_GRACE, self.settle)

    def settle(self) -> None:
        """Wake those that nobody asked about since."""
        self._timer = None
        doubtful, self._doubtful = self._doubtful, set()
        if doubtful:
            self._wake(doubtful)
