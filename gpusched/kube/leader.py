"""Which replica acts: the holder of a Lease, by the rules of client-go's leaderelection.

The client library's own election reads the wall clock, ends the process on bad arguments and needs the models; a
clock that jumps would give two leaders. Here another's Lease is only ever timed by how long it was seen unchanged, and
`leading` itself looks at the clock, so that a stalled process knows that it has lost the Lease before it acts.
"""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Final

import msgspec

from gpusched.kube.errors import Unreachable
from gpusched.kube.session import Session
from gpusched.kube.timing import Timing

_GROUP: Final = "/apis/coordination.k8s.io/v1"
#: client-go's JitterFactor: followers spread out by up to this much.
_JITTER: Final = 1.2
_RELEASE_SECONDS: Final = 2.0


class LeaseSpec(msgspec.Struct, kw_only=True, rename="camel"):
    """Spec of a Lease; times are RFC 3339 with microseconds."""

    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    acquire_time: str | None = None
    renew_time: str | None = None
    lease_transitions: int | None = None


class Lease(msgspec.Struct, kw_only=True, rename={"api_version": "apiVersion"}):
    """A coordination.k8s.io/v1 Lease. Metadata is kept whole, since a PUT replaces it; its version is the condition."""

    metadata: dict[str, object]
    spec: LeaseSpec = msgspec.field(default_factory=LeaseSpec)
    api_version: str = "coordination.k8s.io/v1"
    kind: str = "Lease"


class Terms(msgspec.Struct, frozen=True):
    """Seconds: how long others respect a Lease, how long a holder may act on a renewal, and between attempts."""

    lease: int = 10
    renew: float = 5.0
    retry: float = 1.0

    @classmethod
    def lasting(cls, lease: int) -> "Terms":
        """A Lease of so many seconds, the others in proportion to the default."""
        return cls(lease, lease / 2, lease / 10)


class Former(msgspec.Struct, frozen=True):
    """The last Lease of another holder, and the reading of this process's clock when it was first seen."""

    lease: Lease
    seen_at: float


class Election:
    """Takes part in the election for one Lease; await `run()`, cancel it to step down and free the Lease at once.

    `identity` must differ between any two processes, restarts included. `on_start` and `on_stop` are called in turn,
    synchronously, when leadership comes and goes. Before cancelling `run`, finish what only a leader may do. While not
    all is `settled` the Lease is not given back then, but runs out.
    """

    def __init__(
        self,
        session: Session,
        namespace: str,
        name: str,
        identity: str,
        *,
        on_start: Callable[[], None] = lambda: None,
        on_stop: Callable[[], None] = lambda: None,
        terms: Terms = Terms(),  # noqa: B008 - a frozen record may be shared by all calls
        timing: Timing | None = None,
    ) -> None:
        if not terms.lease > terms.renew > terms.retry * _JITTER:
            raise ValueError("a lease must outlast the renewal deadline, and that some attempts")
        self.identity = identity
        #: Who holds the Lease as far as is known; empty for nobody.
        self.holder = ""
        #: Who held the Lease before this process: None where it was free, never held or given back.
        self.former: Former | None = None
        #: Asked at the end whether the Lease may be given back.
        self.settled: Callable[[], bool] = lambda: True
        #: Written on the Lease, for whoever holds it next.
        self.annotations: Mapping[str, str] = {}
        #: Why the Lease cannot be read or written at present; empty while all is well.
        self.problem = ""
        self._session = session
        self._namespace = namespace
        self._name = name
        self._on_start = on_start
        self._on_stop = on_stop
        self._terms = terms
        self._timing = timing or Timing()
        self._renewed: float | None = None
        self._told = False
        self._seen: Lease | None = None
        self._seen_at = 0.0

    @property
    def leading(self) -> bool:
        """Whether this process may act now: it holds the Lease and the last renewal is younger than the deadline."""
        return self._renewed is not None and self._timing.clock() - self._renewed < self._terms.renew

    @property
    def renewed(self) -> float:
        """The clock just before the request by which the Lease was last got or renewed; never: minus infinity."""
        return float("-inf") if self._renewed is None else self._renewed

    @property
    def predecessor(self) -> str:
        """The identity of the former holder, empty for nobody."""
        return "" if self.former is None else self.former.lease.spec.holder_identity or ""

    async def run(self) -> None:
        """Take part until cancelled."""
        try:
            while True:
                await self.step()
                wait = self._terms.retry
                await self._timing.sleep(wait if self.leading else wait * self._timing.chance.uniform(1.0, _JITTER))
        finally:
            held = self.leading
            self._renewed = None
            self._tell()
            if held and self.settled():
                await self._release()

    async def step(self) -> None:
        """Try once to get or renew the Lease, and tell of a change."""
        began = self._timing.clock()
        # A process that was stalled past its deadline lost a term, even if it wins the next one right away.
        self._tell()
        # A leader's request must end before its deadline, or leadership would lapse while it waits.
        left = self._terms.renew - (began - self._renewed) if self._renewed is not None else self._terms.renew
        try:
            async with asyncio.timeout(max(left, self._terms.retry)):
                won = await self._try()
        except TimeoutError:
            won = False
            self.problem = "the API server does not answer in time"
        except (Unreachable, msgspec.DecodeError) as error:
            won = False
            self.problem = str(error)
        if won:
            # From before the request: others time the Lease from when they see it, which is later.
            self._renewed = began
            self.problem = ""
        elif not self.leading or self.holder != self.identity:
            self._renewed = None
        self._tell()

    async def _try(self) -> bool:
        response = await self._session.request("GET", self._path(), timeout=self._terms.renew / 2)
        if response.status == 404:
            self._see(None)
            return await self._put("POST", self._mine(None))
        if not response.ok:
            self.problem = response.message
            return False
        lease = msgspec.json.decode(response.body, type=Lease)
        self._see(lease)
        if self.holder not in {"", self.identity} and not self._expired(lease):
            self.problem = ""
            return False
        return await self._put("PUT", self._mine(lease))

    def _see(self, lease: Lease | None) -> None:
        """Note when the Lease was last seen to change, by our own clock: clocks of others are not to be trusted."""
        if lease is None or lease != self._seen:
            self._seen = lease
            self._seen_at = self._timing.clock()
        self.holder = (lease.spec.holder_identity or "") if lease is not None else ""
        if self.holder != self.identity:
            self.former = Former(lease, self._seen_at) if lease is not None and self.holder else None

    def _expired(self, lease: Lease) -> bool:
        duration = lease.spec.lease_duration_seconds or self._terms.lease
        return self._timing.clock() - self._seen_at >= duration

    def _mine(self, old: Lease | None) -> Lease:
        now = self._timing.timestamp()
        kept = old is not None and old.spec.holder_identity == self.identity
        transitions = (old.spec.lease_transitions or 0) if old is not None else 0
        metadata: dict[str, object] = {"name": self._name, "namespace": self._namespace}
        if old is not None:
            metadata = old.metadata
        found = metadata.get("annotations")
        annotations = {**(found if isinstance(found, dict) else {}), **self.annotations}
        return Lease(
            metadata={**metadata, "annotations": annotations} if annotations else metadata,
            spec=LeaseSpec(
                holder_identity=self.identity,
                lease_duration_seconds=self._terms.lease,
                acquire_time=old.spec.acquire_time if kept and old is not None else now,
                renew_time=now,
                lease_transitions=transitions if kept or old is None else transitions + 1,
            ),
        )

    async def _put(self, method: str, lease: Lease) -> bool:
        """Write the Lease; a PUT carries the version it was read at, so that of two writers one gets 409."""
        path = self._path() if method == "PUT" else self._path().rpartition("/")[0]
        response = await self._session.request(
            method, path, body=msgspec.json.encode(lease), timeout=self._terms.renew / 2
        )
        if response.ok:
            self._see(msgspec.json.decode(response.body, type=Lease))
            return True
        # A conflict is how a race is lost, not a problem.
        self.problem = "" if response.status == 409 else response.message
        return False

    async def _release(self) -> None:
        """Give the Lease back, so that a successor need not wait for it to run out (client-go, ReleaseOnCancel)."""
        with suppress(Unreachable, msgspec.DecodeError, TimeoutError):
            async with asyncio.timeout(_RELEASE_SECONDS):
                if self._seen is None or await self._put("PUT", _given_back(self._seen)):
                    return
                # A renewal that was cancelled on its way may have been carried out all the same.
                response = await self._session.request("GET", self._path(), timeout=_RELEASE_SECONDS)
                lease = msgspec.json.decode(response.body, type=Lease)
                if response.ok and lease.spec.holder_identity == self.identity:
                    await self._put("PUT", _given_back(lease))

    def _tell(self) -> None:
        leading = self.leading
        if leading is self._told:
            return
        self._told = leading
        if leading:
            self._on_start()
        else:
            self._on_stop()

    def _path(self) -> str:
        return f"{_GROUP}/namespaces/{self._namespace}/leases/{self._name}"


def _given_back(lease: Lease) -> Lease:
    spec = msgspec.structs.replace(lease.spec, holder_identity="", lease_duration_seconds=1)
    return msgspec.structs.replace(lease, spec=spec)
