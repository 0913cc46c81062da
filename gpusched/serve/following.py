"""The reflectors together: whether the cache may be trusted, how old it is, and lists made anew on demand."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Final, Protocol

from gpusched.obs.logging import Log
from gpusched.obs.metrics import Metrics
from gpusched.state.events import Kind

_LOOK: Final = 0.05
_TELL: Final = 5.0
#: Kinds whose objects change all the time; the age of the cache is that of the stalest of them.
_VITAL: Final = frozenset({Kind.NODE, Kind.POD, Kind.NAMESPACE})


class Follower(Protocol):
    """A reflector, as far as the service looks at it."""

    kind: Kind
    synced: asyncio.Event
    problem: str
    lists: int

    def age(self, now: float) -> float:
        """Seconds since the API server last proved that the state is current."""
        ...

    async def run(self) -> None:
        """Follow the kind until cancelled; a second run starts with a list."""
        ...


class Following:
    """Runs the reflectors in a task group. `max_age` is how old in seconds the cache may get before nothing is decided
    on it; quiet watches bring a sign of life once a minute, so it must be well above that.
    """

    def __init__(
        self, followers: Sequence[Follower], tasks: asyncio.TaskGroup, clock: Callable[[], float], max_age: float
    ) -> None:
        self._followers = tuple(followers)
        self._tasks = tasks
        self._clock = clock
        self._max_age = max_age
        self._running: dict[Kind, asyncio.Task[None]] = {}

    def start(self) -> None:
        """Begin to follow every kind."""
        for follower in self._followers:
            self._running[follower.kind] = self._tasks.create_task(follower.run(), name=f"follow {follower.kind}")

    async def relist(self, kind: Kind) -> None:
        """List a kind anew, from the newest state, and wait for the end of the list."""
        follower = next(follower for follower in self._followers if follower.kind is kind)
        before = follower.lists
        former = self._running[kind]
        former.cancel()
        # A task of its own, so that whoever waits here may give up without leaving the kind unfollowed.
        self._running[kind] = self._tasks.create_task(_follow_after(former, follower), name=f"follow {kind}")
        while follower.lists == before:  # noqa: ASYNC110 - lists are counted, not signalled
            await asyncio.sleep(_LOOK)

    async def wait_synced(self) -> None:
        """Wait until every kind has been listed once."""
        for follower in self._followers:
            await follower.synced.wait()

    @property
    def synced(self) -> bool:
        """Whether every kind has been listed once."""
        return all(follower.synced.is_set() for follower in self._followers)

    def age(self) -> float:
        """Age of the cache in seconds."""
        now = self._clock()
        return max((follower.age(now) for follower in self._followers if follower.kind in _VITAL), default=0.0)

    def problems(self) -> list[str]:
        """What keeps kinds from being followed, for people."""
        return [follower.problem for follower in self._followers if follower.problem]

    async def tell(self, log: Log) -> None:
        """Log what keeps kinds from being followed, as often as it changes, and that it has passed, until cancelled."""
        told: list[str] = []
        while True:
            found = sorted(set(self.problems()))
            if found and found != told:
                log.warning("API server not followed", problems=found)
            elif told and not found:
                log.info("API server followed again")
            told = found
            await asyncio.sleep(_TELL)

    def closed(self) -> str | None:
        """Why nothing can be decided on the cache now, None when it can."""
        waiting = [str(follower.kind) for follower in self._followers if not follower.synced.is_set()]
        if waiting:
            return f"cache is not synced yet, waiting for {', '.join(waiting)}{self._because()}"
        age = self.age()
        if age > self._max_age:
            return f"cache is {age:.0f} s old, the limit is {self._max_age:.0f} s{self._because()}"
        return None

    def _because(self) -> str:
        problems = self.problems()
        return f" ({problems[0]})" if problems else ""

    def lines(self) -> list[str]:
        """The state of each kind, for people."""
        now = self._clock()
        return [
            f"{follower.kind}: {'synced' if follower.synced.is_set() else 'not synced'}, {follower.age(now):.0f} s old"
            f"{f', {follower.problem}' if follower.problem else ''}"
            for follower in self._followers
        ]

    def export(self, metrics: Metrics) -> None:
        """Let the metrics ask for age and sync of each kind."""
        for follower in self._followers:
            metrics.watch_kind(str(follower.kind), age=self._age_of(follower), synced=follower.synced.is_set)

    def _age_of(self, follower: Follower) -> Callable[[], float]:
        return lambda: follower.age(self._clock())


async def _follow_after(former: asyncio.Task[None], follower: Follower) -> None:
    await asyncio.wait({former})
    await follower.run()
