"""Keep the state of one kind equal to the server's: list in pages, then watch, for ever.

What is hard is what goes wrong, and a wrong turn is either a ghost that holds a GPU for ever or a storm of requests.
So: a version too old leads to a new list whose missing objects are reported gone; every way of failing waits, longer
each time; a connection that says nothing for longer than bookmarks are apart is dead.
"""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import aclosing
from typing import Final

import msgspec

from gpusched.kube.backoff import Backoff
from gpusched.kube.errors import StatusError, Unreachable, status_message
from gpusched.kube.pages import ListPage, WatchEvent, identity_of, version_of
from gpusched.kube.session import Session
from gpusched.kube.source import Source
from gpusched.kube.timing import Timing
from gpusched.state.events import Event, Gone, Upsert, key_of

_PAGE: Final = "500"
_LIST_SECONDS: Final = 60.0
#: The API server sends a bookmark about once a minute (watch cache, bookmarkFrequency); half as much again is dead.
IDLE_SECONDS: Final = 90.0
#: A watch that lasted this long was healthy even if it brought nothing.
_HEALTHY_SECONDS: Final = 10.0
#: Watches are not opened more often than this even when each brings something.
_SHORTEST_WATCH: Final = 1.0
#: As many failures in a row without progress, and the version itself is suspected: list anew.
_SUSPECT_AFTER: Final = 3
#: Failures that say nothing about the version: no answer, and an answer of a server that is busy or starting.
_NO_ANSWER: Final = -1
_UNSUSPICIOUS: Final = frozenset({_NO_ANSWER, 429, 503})
#: What makes the version useless at once: the kind is no longer served, or history does not reach back that far.
_GONE: Final = 410
_FATAL: Final = frozenset({404, _GONE})
#: An optional API that is not served may be installed later.
_ABSENT_SECONDS: Final = 300.0
#: Objects taken in before others get their turn on the event loop: some 3 ms of full nodes.
_CHUNK: Final = 8


class Reflector:
    """Follows one kind; await `run()` in a task group, cancel it to stop. A second `run()` starts with a new list.

    `apply` is given an Upsert for every object kept and a Gone for every one that is no more, in an order in which the
    state could have come about; it must not fail. An optional kind that is not served counts as synced and empty, and
    is looked for again every few minutes.

    No path but `problem` reports failure: whatever the server does, `run` goes on.
    """

    def __init__(
        self,
        session: Session,
        source: Source,
        apply: Callable[[Event], None],
        *,
        idle_timeout: float = IDLE_SECONDS,
        timing: Timing | None = None,
    ) -> None:
        self.kind = source.kind
        #: Set once the whole kind was read; stays set, since from then on age tells what the state is worth.
        self.synced = asyncio.Event()
        #: Why the kind cannot be followed at present; empty while all is well.
        self.problem = ""
        #: Whether an optional kind is not served.
        self.absent = False
        #: The last resourceVersion known to be taken in.
        self.version = ""
        #: How often the whole kind was listed, and how often reading it failed.
        self.lists = 0
        self.failures = 0
        self._session = session
        self._source = source
        self._path = source.paths[0]
        self._apply = apply
        self._idle_timeout = idle_timeout
        self._timing = timing or Timing()
        self._backoff = Backoff(self._timing.chance)
        self._sign_of_life = self._timing.clock()
        self._keys: dict[str, str] = {}
        self._received = 0
        # Whether a watch went well since the last list; if none did, another list will not help either.
        self._proven = False
        self._turn = 0

    def age(self, now: float) -> float:
        """Seconds since the server last showed that the state is current: by a page, an event, a bookmark, or by
        opening a watch from the version that is known.

        A kind that never changes is heard of only when its watch is opened anew, so limits belong well above
        IDLE_SECONDS, at 120 or more. 0 while an optional kind is not served.
        """
        return 0.0 if self.absent else max(0.0, now - self._sign_of_life)

    async def run(self) -> None:
        """Follow the kind until cancelled."""
        self.version = ""
        while True:
            await self.step()

    async def step(self) -> None:
        """One list if there is no version to go on from, else one watch; then whatever wait is due."""
        try:
            if self.version:
                await self._watch()
            else:
                await self._list()
        except StatusError as error:
            await self._failed(str(error), code=error.code, at_least=error.retry_after or 0.0)
        except Unreachable as error:
            await self._failed(error.reason, code=_NO_ANSWER)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            await self._failed(f"cannot read the answer: {error}")

    async def _failed(self, reason: str, *, code: int = 0, at_least: float = 0.0) -> None:
        self.failures += 1
        if code == 404 and self._source.optional and not self.version:
            await self._missing()
            return
        self.absent = False
        self.problem = f"{self.kind}: {reason}"
        suspect = code not in _UNSUSPICIOUS and self._backoff.failures + 1 >= _SUSPECT_AFTER
        if code in _FATAL or suspect:
            self.version = ""
        wait = max(at_least, self._backoff.next())
        if code == _GONE and self._proven:
            # Usual after a restart of the API server, whose history starts anew: a list helps, waiting does not.
            self._proven = False
            wait = self._timing.chance.uniform(0.0, _SHORTEST_WATCH)
        await self._timing.sleep(wait)

    async def _missing(self) -> None:
        for identity in list(self._keys):
            self._drop(identity)
        self.absent = True
        self.problem = ""
        self._backoff.reset()
        self.synced.set()
        await self._timing.sleep(_ABSENT_SECONDS * self._timing.chance.uniform(0.8, 1.2))

    # Listing

    async def _list(self) -> None:
        """Read all pages. Unset resourceVersion asks for the newest state, so that time never runs backwards."""
        listed: set[str] = set()
        version, token = "", ""
        self._path = await self._served_path()
        while True:
            page = await self._page(self._path, token)
            # Finding where each object of a page of full nodes ends is a turn's work by itself.
            await asyncio.sleep(0)
            for raw in page.items or ():
                tree = msgspec.json.decode(raw)
                self._take(tree)
                identity = identity_of(tree)
                if identity in self._keys:
                    listed.add(identity)
                await self._breathe()
            version, token = page.metadata.resource_version, page.metadata.token
            self._sign_of_life = self._timing.clock()
            if not token:
                break
        for identity in self._keys.keys() - listed:
            self._drop(identity)
            await self._breathe()
        self.version = version
        self.lists += 1
        self._proven = False
        self.absent = False
        self.synced.set()

    async def _served_path(self) -> str:
        """The first path that is served; with one path alone the list itself will tell."""
        for path in self._source.paths[:-1]:
            response = await self._session.request(
                "GET", path, query=dict(self._source.query) | {"limit": "1"}, timeout=_LIST_SECONDS
            )
            if response.status != 404:
                return path
        return self._source.paths[-1]

    async def _page(self, path: str, token: str) -> ListPage:
        query = dict(self._source.query) | {"limit": _PAGE} | ({"continue": token} if token else {})
        response = await self._session.request("GET", path, query=query, timeout=_LIST_SECONDS)
        if response.status != 200:
            raise StatusError(response.status, response.message, response.retry_after)
        return msgspec.json.decode(response.body, type=ListPage)

    # Watching

    async def _watch(self) -> None:
        """Take in events until the stream ends; a stream that ends well but at once counts as a failure."""
        began = self._timing.clock()
        query = dict(self._source.query) | {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": self.version,
            # Spread over a fleet, so that not all watches are opened anew at the same time.
            "timeoutSeconds": str(self._timing.chance.randint(300, 600)),
        }
        before = self._received
        try:
            await self._listen(query)
        except Unreachable:
            # A kind that never changed since the API server started gets no bookmarks at all, so that a long silence
            # on an open watch is how such a watch ends.
            if self._timing.clock() - began < _HEALTHY_SECONDS:
                raise
        lasted = self._timing.clock() - began
        if self._received > before or lasted >= _HEALTHY_SECONDS:
            self._progress()
            await self._timing.sleep(max(0.0, _SHORTEST_WATCH - lasted))
        else:
            await self._failed("the server ended the watch at once")

    async def _listen(self, query: Mapping[str, str]) -> None:
        async with aclosing(self._session.stream(self._path, query, self._idle_timeout)) as lines:
            async for line in lines:
                self._sign_of_life = self._timing.clock()
                self.problem = ""
                if line:
                    self._event(msgspec.json.decode(line, type=WatchEvent))
                    self._received += 1
                    self._progress()
                    await self._breathe()

    def _event(self, event: WatchEvent) -> None:
        if event.type == "ERROR":
            status = msgspec.json.decode(event.object)
            code = status.get("code") if isinstance(status, dict) else None
            code = code if isinstance(code, int) else 500
            raise StatusError(code, status_message(code, bytes(event.object)))
        tree = msgspec.json.decode(event.object)
        if event.type in {"ADDED", "MODIFIED"}:
            self._take(tree)
        elif event.type == "DELETED":
            self._drop(identity_of(tree))
        self.version = version_of(tree) or self.version

    # Keeping the state

    def _take(self, tree: object) -> None:
        """Take in an object as it is now. One of the same name but another key was recreated: the old one is gone."""
        identity = identity_of(tree)
        seen = self._source.reader(tree, [])
        key = None if seen is None else key_of(seen)
        if self._keys.get(identity, key) != key:
            self._drop(identity)
        if seen is not None and key is not None:
            self._keys[identity] = key
            self._apply(Upsert(seen))

    def _drop(self, identity: str) -> None:
        key = self._keys.pop(identity, None)
        if key is not None:
            self._apply(Gone(self.kind, key))

    def _progress(self) -> None:
        self._backoff.reset()
        self._proven = True

    async def _breathe(self) -> None:
        """Let others run every few objects: neither a buffered stream nor a decoded page would give way by itself."""
        self._turn += 1
        if self._turn % _CHUNK == 0:
            await asyncio.sleep(0)
