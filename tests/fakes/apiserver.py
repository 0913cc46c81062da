"""A small API server on loopback: one resourceVersion log, pages that expire, watches that bookmark, and faults.

What it stores and how it refuses writes is in `storage`.
"""

import asyncio
import json
import re
from collections import deque
from collections.abc import Iterator
from enum import Enum
from typing import Any, Self

from aiohttp import web

from tests.fakes.storage import (
    EVENTS,
    LEASES,
    MUTATING,
    NAMESPACES,
    NODES,
    PODS,
    RUNTIME_CLASSES,
    SECRETS,
    VALIDATING,
    Answer,
    Storage,
    Tree,
)

__all__ = [
    "EVENTS",
    "LEASES",
    "MUTATING",
    "NAMESPACES",
    "NODES",
    "PODS",
    "RUNTIME_CLASSES",
    "SECRETS",
    "VALIDATING",
    "ApiServer",
    "Fault",
    "WriteFault",
]

_PATH = re.compile(
    r"(?P<base>/api/v1|/apis/[^/]+/[^/]+)(?:/namespaces/(?P<namespace>[^/]+)(?=/))?"
    r"/(?P<resource>[^/]+)(?:/(?P<name>[^/]+))?(?:/(?P<sub>[^/]+))?"
)


class Fault(Enum):
    """What can go wrong once: with an open watch, or with the next list or watch request."""

    CLOSE = "clean close"
    RESET = "reset in the middle of a line"
    HANG = "silence on an open connection"
    EVENT_410 = "410 as an event"
    EVENT_500 = "500 as an event"
    STATUS_410 = "410 as HTTP status"
    STATUS_429 = "429 as HTTP status"
    STATUS_500 = "500 as HTTP status"


class WriteFault(Enum):
    """What can go wrong once with the next write."""

    LOST_BEFORE = "the connection breaks and nothing was done"
    LOST_AFTER = "it is done and the connection breaks"
    STATUS_500 = "500, nothing was done"
    STATUS_500_AFTER = "it is done and the answer is 500"


EXPIRED = Answer(410, "Expired", "too old resource version: 1 (2)")
INTERNAL = Answer(500, "InternalError", "Internal error occurred: etcdserver: request timed out")
BUSY = Answer(429, "TooManyRequests", "Too many requests, please try again later.")
_STATUS = {Fault.STATUS_410: EXPIRED, Fault.STATUS_429: BUSY, Fault.STATUS_500: INTERNAL}
_EVENT = {Fault.EVENT_410: EXPIRED, Fault.EVENT_500: INTERNAL}


class Watcher:
    """One open watch. `position` is the last version that it was given."""

    def __init__(self, collection: str, position: int) -> None:
        self.collection = collection
        self.position = position
        self.bookmark = False
        self.faults: deque[Fault] = deque()
        self.hung = False


class ApiServer(Storage):
    """Use as `async with ApiServer() as server`."""

    def __init__(self, *collections: str, page: int = 500) -> None:
        super().__init__(*collections)
        self.forbidden: set[str] = set()
        self.compacted = 0
        self.requests: list[tuple[str, str, dict[str, str]]] = []
        self.watchers: list[Watcher] = []
        self.faults: deque[Fault] = deque()
        self.write_faults: deque[WriteFault] = deque()
        self.broken = False
        self.url = ""
        self._page = page
        self._snapshots: dict[tuple[str, int], list[Tree]] = {}
        self._news = asyncio.Event()

    async def __aenter__(self) -> Self:
        app = web.Application()
        app.router.add_route("*", "/{tail:.*}", self._handle)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1, handler_cancellation=True)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        for watcher in self.watchers:
            watcher.hung = False
            watcher.faults.append(Fault.CLOSE)
        self._changed()
        await self._runner.cleanup()

    # What a test does

    def compact(self) -> None:
        """Forget history and pages: what is older than now can be neither watched nor continued."""
        self.compacted = self.version
        self.log.clear()
        self._snapshots.clear()

    def expire_pages(self) -> None:
        """Let every continue token be too old."""
        self._snapshots.clear()

    def bookmark(self) -> None:
        """Give every open watch a bookmark."""
        for watcher in self.watchers:
            watcher.bookmark = True
        self._changed()

    def inject(self, fault: Fault) -> None:
        """Let open watches fail this way now; without any, and for an HTTP status, the next request fails."""
        status = fault in _STATUS
        if status or not self.watchers:
            self.faults.append(fault)
        for watcher in self.watchers:
            watcher.faults.append(Fault.CLOSE if status else fault)
        self._changed()

    @property
    def troubled(self) -> bool:
        """Whether faults are still to come or an open watch is silent."""
        return bool(self.faults) or any(watcher.faults or watcher.hung for watcher in self.watchers)

    def count(self, *, watch: bool | None = None) -> int:
        """How many list or watch requests came."""
        return sum(1 for _, _, query in self.requests if watch is None or ("watch" in query) is watch)

    # HTTP

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        self.requests.append((request.method, request.path, dict(request.query)))
        try:
            return await self._route(request)
        except Answer as answer:
            headers = {"Retry-After": "1"} if answer.code == 429 else {}
            return web.json_response(answer.tree, status=answer.code, headers=headers)

    async def _route(self, request: web.Request) -> web.StreamResponse:
        matched = _PATH.fullmatch(request.path)
        collection = f"{matched['base']}/{matched['resource']}" if matched else ""
        if matched is None or collection not in self.objects:
            raise Answer(404, "NotFound", "the server could not find the requested resource")
        if collection in self.forbidden:
            raise Answer(403, "Forbidden", f'{matched["resource"]} is forbidden: User "x" cannot list resource')
        identity = "/".join(filter(None, (matched["namespace"], matched["name"])))
        if request.method == "GET" and matched["name"] is None:
            return await self._read(collection, matched["namespace"], request)
        return await self._write(collection, identity, matched, request)

    async def _read(self, collection: str, namespace: str | None, request: web.Request) -> web.StreamResponse:
        if self.broken:
            raise INTERNAL
        watching = "watch" in request.query
        if self.faults and (watching or self.faults[0] in _STATUS):
            fault = self.faults.popleft()
            if fault in _STATUS:
                raise _STATUS[fault]
            return await self._watch(collection, request, fault)
        if watching:
            return await self._watch(collection, request, None)
        return web.json_response(self._list(collection, namespace, request.query))

    def _list(self, collection: str, namespace: str | None, query: Any) -> Tree:
        version, start = json.loads(query["continue"]) if query.get("continue") else (self.version, 0)
        if start == 0:
            self._snapshots[collection, version] = [tree for _, tree in sorted(self.objects[collection].items())]
        elif (collection, version) not in self._snapshots:
            raise Answer(
                410, "Expired", "The provided continue parameter is too old to display a consistent list result."
            )
        items = [
            tree
            for tree in self._snapshots[collection, version]
            if namespace in {None, tree["metadata"].get("namespace")}
        ]
        end = start + min(int(query.get("limit") or self._page), self._page)
        metadata = {"resourceVersion": str(version)}
        if end < len(items):
            metadata["continue"] = json.dumps([version, end])
        return {"kind": "List", "apiVersion": "v1", "metadata": metadata, "items": items[start:end] or None}

    async def _watch(self, collection: str, request: web.Request, fault: Fault | None) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        watcher = Watcher(collection, int(request.query.get("resourceVersion") or self.version))
        if fault is not None:
            watcher.faults.append(fault)
        self.watchers.append(watcher)
        try:
            while True:
                for line in self._due(watcher, bookmarks=request.query.get("allowWatchBookmarks") == "true"):
                    await response.write(line)
                if watcher.faults and not watcher.hung:
                    if await self._fail(watcher, watcher.faults.popleft(), request, response):
                        return response
                    continue
                self._news.clear()
                await self._news.wait()
        finally:
            self.watchers.remove(watcher)

    def _due(self, watcher: Watcher, *, bookmarks: bool) -> Iterator[bytes]:
        if watcher.hung:
            return
        if watcher.position < self.compacted:
            yield _line("ERROR", EXPIRED.tree)
            watcher.faults.append(Fault.CLOSE)
            return
        for version, collection, kind, tree in list(self.log):
            if version > watcher.position and collection == watcher.collection:
                watcher.position = version
                yield _line(kind, tree)
        if watcher.bookmark and bookmarks:
            watcher.bookmark = False
            watcher.position = self.version
            yield _line("BOOKMARK", {"kind": "X", "metadata": {"resourceVersion": str(self.version)}})

    async def _fail(self, watcher: Watcher, fault: Fault, request: web.Request, response: web.StreamResponse) -> bool:
        """Whether the watch is over."""
        if fault in _EVENT:
            await response.write(_line("ERROR", _EVENT[fault].tree))
        elif fault is Fault.HANG:
            watcher.hung = True
            return False
        elif fault is Fault.RESET:
            await response.write(_line("MODIFIED", {"metadata": {"name": "half"}})[:20])
            _abort(request)
        return True

    async def _write(
        self, collection: str, identity: str, matched: re.Match[str], request: web.Request
    ) -> web.StreamResponse:
        fault = self.write_faults.popleft() if self.write_faults and request.method != "GET" else None
        if fault is WriteFault.STATUS_500:
            raise INTERNAL
        if fault is WriteFault.LOST_BEFORE:
            _abort(request)
            return web.Response()
        tree = self.change(collection, identity, matched, request.method, request.content_type, await request.read())
        if fault is WriteFault.STATUS_500_AFTER:
            raise INTERNAL
        if fault is WriteFault.LOST_AFTER:
            _abort(request)
        return web.json_response(tree, status=201 if request.method == "POST" else 200)

    def _changed(self) -> None:
        news, self._news = self._news, asyncio.Event()
        news.set()


def _line(kind: str, tree: Tree) -> bytes:
    return json.dumps({"type": kind, "object": tree}).encode() + b"\n"


def _abort(request: web.Request) -> None:
    if request.transport is not None:
        request.transport.abort()
