"""What every application that answers POST requests shares: when to answer, whom to tell, how to hang up."""

from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Final, Protocol

import msgspec
from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

JSON: Final = "application/json"
_TEXT: Final = "text/plain; charset=utf-8"


class Clock(Protocol):
    """Seconds from an arbitrary moment, never backwards."""

    def __call__(self) -> float:
        """The reading."""
        ...


class Edge(msgspec.Struct, frozen=True):
    """`closed` says in words why nothing can be decided now, None when it can. `draining` says that the server is
    about to stop: each answer then ends its connection, so that clients move on without a reset. `record` is told the
    path, the status and the seconds of every request; `failed` of the path whose handler raised, inside the handler
    of that exception.
    """

    clock: Clock
    closed: Callable[[], str | None] = lambda: None
    draining: Callable[[], bool] = lambda: False
    record: Callable[[str, int, float], None] = lambda _path, _status, _seconds: None
    failed: Callable[[str], None] = lambda _path: None


def bare_application() -> FastAPI:
    """An application of raw routes alone: no documentation pages, no redirects (Go re-posts some and not others)."""
    return FastAPI(openapi_url=None, docs_url=None, redoc_url=None, redirect_slashes=False)


def add_post(app: FastAPI, path: str, edge: Edge, answer: Callable[[Request], Awaitable[Response]]) -> None:
    """Serve POST on one path, timed and counted."""
    app.router.routes.append(Route(path, _Post(path, edge, answer), methods=["POST"], include_in_schema=False))


class _Post:
    """A route that speaks ASGI itself: what FastAPI puts round a function, for dependencies that there are none of,
    takes as long as many an answer.
    """

    def __init__(self, path: str, edge: Edge, answer: Callable[[Request], Awaitable[Response]]) -> None:
        self._path = path
        self._edge = edge
        self._answer = answer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        edge = self._edge
        started = edge.clock()
        response = await self._answer(Request(scope, receive))
        if edge.draining():
            response.headers["connection"] = "close"
        edge.record(self._path, response.status_code, edge.clock() - started)
        await response(scope, receive, send)


def json_response(body: bytes, *, close: bool = False) -> Response:
    """200 with these bytes."""
    return Response(body, media_type=JSON, headers={"connection": "close"} if close else None)


def text_response(status: int, reason: str, *, close: bool = False) -> Response:
    """A status with a line of text for people; without one, the standard phrase."""
    line = reason or HTTPStatus(status).phrase
    return Response(f"{line}\n", status, media_type=_TEXT, headers={"connection": "close"} if close else None)
