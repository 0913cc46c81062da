"""GET endpoints of the page and its JSON, each behind the question who asks."""

import asyncio
import gzip
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from gpusched.serve.view.access import Access, Caller, Denied, Scope, no_pods
from gpusched.serve.view.answers import View
from gpusched.serve.view.events import EventStreams
from gpusched.serve.view.page import load_page

Answer = Callable[[Request, Scope], Awaitable[Response]]

_BEARER: Final = "bearer "
#: Bytes from which an answer is packed where the caller takes that; packing runs in a thread.
_LARGE: Final = 64 * 1024
#: Digits of a generation; Python reads no number of thousands of them.
_DIGITS: Final = 18
_NO_NODES: Final = (
    "You may not list nodes, and so not see the GPUs of this cluster."
    " A ClusterRoleBinding to the ClusterRole gpusched-viewer gives that right."
)


class Endpoints:
    """What the routes answer with. `failed` is told the path of a request whose answer raised, inside the handler of
    that exception.
    """

    def __init__(
        self,
        view: View,
        access: Access,
        streams: EventStreams,
        failed: Callable[[str], None] = lambda _path: None,
    ) -> None:
        self._view = view
        self._access = access
        self._streams = streams
        self._failed = failed

    def add_to(self, app: FastAPI) -> None:
        """Serve the page and its JSON."""
        answers: dict[str, Answer] = {
            "nodes": self._nodes,
            "pods": self._pods,
            "workloads": self._workloads,
            "refusals": self._refusals,
            "quota": self._quota,
            "why": self._why,
            "events": self._events,
        }
        for name, answer in answers.items():
            app.router.add_route(f"/api/v1/{name}", self._guarded(answer), methods=["GET"], include_in_schema=False)
        for path, file in load_page().items():
            app.router.add_route(path, file.endpoint, methods=["GET"], include_in_schema=False)

    def _guarded(self, answer: Answer) -> Callable[[Request], Awaitable[Response]]:
        async def endpoint(request: Request) -> Response:
            try:
                scope = await self._access.scope(_caller(request), _namespace(request))
                response = _denied(scope) if isinstance(scope, Denied) else await answer(request, scope)
            except Exception:  # noqa: BLE001 - logged with its trace by `failed`
                self._failed(request.url.path)
                response = _denied(Denied(500, "gpusched failed to answer; its log says why."))
            response.headers["cache-control"] = "no-store"
            response.headers["x-content-type-options"] = "nosniff"
            return response

        return endpoint

    async def _nodes(self, request: Request, scope: Scope) -> Response:
        if not scope.nodes:
            return _denied(Denied(403, _NO_NODES))
        text = request.query_params.get("since", "")
        since = int(text) if text.isascii() and text.isdigit() and len(text) <= _DIGITS else None
        return await _json(request, await self._view.nodes(scope, since, request.query_params.get("instance", "")))

    async def _pods(self, request: Request, scope: Scope) -> Response:
        return await _of_namespace(request, scope, self._view.pods)

    async def _workloads(self, request: Request, scope: Scope) -> Response:
        return await _of_namespace(request, scope, self._view.workloads)

    async def _refusals(self, request: Request, scope: Scope) -> Response:
        return await _json(request, self._view.refusals(scope))

    async def _quota(self, request: Request, scope: Scope) -> Response:
        return await _json(request, await self._view.quota(scope))

    async def _why(self, request: Request, scope: Scope) -> Response:
        namespace, (name, kind) = _namespace(request), map(request.query_params.get, ("name", "kind"))
        if not namespace or not name:
            return _denied(Denied(400, "Name the pod: /api/v1/why?namespace=NAMESPACE&name=POD"))
        answer = await self._view.why(scope, namespace, name, kind or "")
        return _denied(answer) if isinstance(answer, Denied) else await _json(request, answer)

    async def _events(self, request: Request, scope: Scope) -> Response:
        identity = await self._access.identity(_caller(request))
        if isinstance(identity, Denied):
            return _denied(identity)
        denied = self._streams.denied(identity.username)
        if denied is not None:
            return _denied(denied)
        stream = self._streams.stream(scope, identity.username)
        return StreamingResponse(stream, media_type="text/event-stream", headers={"x-accel-buffering": "no"})


def _caller(request: Request) -> Caller:
    header = request.headers.get("authorization", "")
    token = header[len(_BEARER) :].strip() if header[: len(_BEARER)].lower() == _BEARER else ""
    peer = request.client.host if request.client is not None else ""
    return Caller(peer=peer, host=request.headers.get("host", ""), token=token)


def _namespace(request: Request) -> str:
    return request.query_params.get("namespace", "")


async def _of_namespace(request: Request, scope: Scope, answer: Callable[[Scope, str], Awaitable[bytes]]) -> Response:
    namespace = _namespace(request)
    if namespace and not scope.sees(namespace):
        return _denied(no_pods(namespace))
    return await _json(request, await answer(scope, namespace))


def _denied(denied: Denied) -> Response:
    headers: Mapping[str, str] = {"www-authenticate": "Bearer"} if denied.status == 401 else {}
    return JSONResponse({"error": denied.message}, denied.status, headers=headers)


async def _json(request: Request, body: bytes) -> Response:
    headers = {}
    if len(body) >= _LARGE and "gzip" in request.headers.get("accept-encoding", ""):
        body = await asyncio.to_thread(gzip.compress, body, 1)
        headers["content-encoding"] = "gzip"
    return Response(body, media_type="application/json", headers=headers)
