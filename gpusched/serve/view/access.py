"""Who asks on the administration port and what he may read: answers of the API server, kept for a moment."""

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from typing import Final, Generic, Literal, Protocol, TypeVar

import msgspec

#: Seconds for which an answer of the API server is believed. A right that was taken away ends after this.
_BELIEVED: Final = 30.0
#: Seconds for which a token that was not accepted is not asked about again.
_REFUSED: Final = 5.0
_TOKENS: Final = 1_000
_RIGHTS: Final = 50_000
_LONGEST_TOKEN: Final = 16_384
_LOCAL_NAMES: Final = frozenset({"localhost", "127.0.0.1", "[::1]", "::1"})
_LOCAL_PEERS: Final = frozenset({"127.0.0.1", "::1", "::ffff:127.0.0.1"})

_HOW: Final = (
    "Send `Authorization: Bearer TOKEN` with a token of the cluster, such as `kubectl create token NAME` prints."
)
#: What the caller is told whose rights reach no pod.
NO_NAMESPACE: Final = (
    "You may list pods in no namespace that uses GPUs. It takes the verb list on pods there, such as a RoleBinding to"
    " the ClusterRole gpusched-viewer gives."
)


class Identity(msgspec.Struct, frozen=True):
    """A user as the API server knows him: authentication.k8s.io/v1 UserInfo."""

    username: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: tuple[tuple[str, tuple[str, ...]], ...] = ()


class Right(msgspec.Struct, frozen=True):
    """A verb on a resource of the core group; an empty namespace stands for all of them, or for the cluster."""

    verb: str
    resource: str
    namespace: str = ""


Extent = Literal["all", "some", "none"]


class Scope(msgspec.Struct, frozen=True):
    """What one caller may read: whether nodes, whether every namespace, and else which ones."""

    nodes: bool = False
    everywhere: bool = False
    namespaces: frozenset[str] = frozenset()

    @property
    def extent(self) -> Extent:
        """How much of the cluster's namespaces that is."""
        return "all" if self.everywhere else "some" if self.namespaces else "none"

    def sees(self, namespace: str) -> bool:
        """Whether pods of a namespace may be named to the caller."""
        return self.everywhere or namespace in self.namespaces


EVERYTHING: Final = Scope(nodes=True, everywhere=True)
#: Who asks on this machine where no token is wanted.
LOCAL: Final = Identity("")


class Denied(msgspec.Struct, frozen=True):
    """An HTTP status with the sentence that says what to do."""

    status: int
    message: str


def no_pods(namespace: str) -> Denied:
    """What a caller is told who asks about a namespace that he may not read."""
    return Denied(403, f"You may not list pods in namespace {namespace}.")


class Caller(msgspec.Struct, frozen=True):
    """What a request says of its sender. `token` is empty without an Authorization header."""

    peer: str
    host: str
    token: str = ""

    @property
    def local(self) -> bool:
        """Whether the request comes from this machine and names it. A web page that a browser here shows can reach the
        port under a name of its own that resolves to loopback; its requests carry that name.
        """
        name = self.host if self.host.startswith("[") and self.host.endswith("]") else self.host.rpartition(":")[0]
        return self.peer in _LOCAL_PEERS and (name or self.host).lower() in _LOCAL_NAMES


class Reviews(Protocol):
    """The questions to the API server. Each raises ReviewError where there is no answer."""

    async def identify(self, token: str) -> Identity | None:
        """Whose token it is; None when it is not accepted."""
        ...

    async def allowed(self, identity: Identity, rights: Iterable[Right]) -> Mapping[Right, bool]:
        """Which of the rights this user has."""
        ...


class ReviewError(Exception):
    """The API server did not answer a review, or refuses gpusched to ask for one."""


_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


class Kept(Generic[_Key, _Value]):
    """Answers with the time at which they end; the oldest go when there are too many."""

    def __init__(self, limit: int, clock: Callable[[], float]) -> None:
        self._limit = limit
        self._clock = clock
        self._items: OrderedDict[_Key, tuple[float, _Value]] = OrderedDict()

    def get(self, key: _Key) -> _Value | None:
        """The answer, None when there is none that still counts."""
        found = self._items.get(key)
        return found[1] if found is not None and self._clock() < found[0] else None

    def put(self, key: _Key, value: _Value, seconds: float) -> None:
        """Keep an answer for so long."""
        self._items[key] = (self._clock() + seconds, value)
        self._items.move_to_end(key)
        while len(self._items) > self._limit:
            self._items.popitem(last=False)


class Access:
    """Decides what callers may read. With `open_` callers on this machine need no token.

    `relevant` gives the namespaces that answers could name; rights are asked for those alone.
    """

    def __init__(
        self, reviews: Reviews, relevant: Callable[[], Iterable[str]], clock: Callable[[], float], *, open_: bool
    ) -> None:
        self._reviews = reviews
        self._relevant = relevant
        self._open = open_
        # Tokens themselves are not kept.
        self._identities: Kept[bytes, Identity | Denied] = Kept(_TOKENS, clock)
        self._rights: Kept[tuple[Identity, Right], bool] = Kept(_RIGHTS, clock)

    async def identity(self, caller: Caller) -> Identity | Denied:
        """Who asks, or why he may read nothing."""
        if not caller.token:
            return LOCAL if self._open and caller.local else Denied(401, f"Who are you? {_HOW}")
        try:
            return await self._identify(caller.token)
        except ReviewError as error:
            return _silent(error)

    async def scope(self, caller: Caller, namespace: str = "") -> Scope | Denied:
        """What the caller may read, or why nothing; with a namespace that he asks about, if any, among the rest."""
        identity = await self.identity(caller)
        if isinstance(identity, Denied):
            return identity
        if identity is LOCAL:
            return EVERYTHING
        try:
            return await self._scope(identity, namespace)
        except ReviewError as error:
            return _silent(error)

    async def _identify(self, token: str) -> Identity | Denied:
        if len(token) > _LONGEST_TOKEN:
            return Denied(401, f"The token is too long to be one. {_HOW}")
        key = hashlib.sha256(token.encode("utf-8", "replace")).digest()
        known = self._identities.get(key)
        if known is None:
            found = await self._reviews.identify(token)
            known = Denied(401, f"The API server does not accept this token. {_HOW}") if found is None else found
            self._identities.put(key, known, _REFUSED if found is None else _BELIEVED)
        return known

    async def _scope(self, identity: Identity, namespace: str) -> Scope:
        nodes, pods = Right("list", "nodes"), Right("list", "pods")
        cluster_wide = await self._allowed(identity, (nodes, pods))
        if cluster_wide[pods]:
            return Scope(nodes=cluster_wide[nodes], everywhere=True)
        names = {*self._relevant(), *filter(None, [namespace])}
        rights = [Right("list", "pods", name) for name in sorted(names)]
        single = await self._allowed(identity, rights)
        return Scope(
            nodes=cluster_wide[nodes], namespaces=frozenset(right.namespace for right in rights if single[right])
        )

    async def _allowed(self, identity: Identity, rights: Iterable[Right]) -> dict[Right, bool]:
        wanted = list(rights)
        known = {right: self._rights.get((identity, right)) for right in wanted}
        missing = [right for right, answer in known.items() if answer is None]
        if missing:
            for right, answer in (await self._reviews.allowed(identity, missing)).items():
                known[right] = answer
                self._rights.put((identity, right), answer, _BELIEVED)
        return {right: bool(answer) for right, answer in known.items()}


def _silent(error: ReviewError) -> Denied:
    return Denied(503, f"The API server did not say what you may read: {error}. Try again.")
