"""The extender's HTTP application: POST /filter, /prioritize, /preempt and /bind for kube-scheduler.

kube-scheduler shows the text of `Error` in the pod's events and of no other status than 200, so whatever keeps a call
from being answered is said there.
"""

from collections.abc import Awaitable, Callable
from typing import Final

import msgspec
from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import Response

from gpusched.wire.extender import ExtenderBindingResult, ExtenderFilterResult, ExtenderPreemptionResult
from webhook.body import Limits, Rejected, read_json_body
from webhook.edge import Edge, add_post, bare_application, json_response, text_response

Answer = Callable[[bytes], bytes]
AsyncAnswer = Callable[[bytes], Awaitable[bytes]]

#: Names of 5,000 nodes are a quarter of a MiB. Whole nodes (`nodeCacheCapable: false`) of large clusters do not fit:
#: the scheduler would score every node as if it were idle, and building them costs it more than the call.
LIMITS: Final = Limits(size=16 << 20)
#: Seconds after which an answer comes too late to be of use: kube-scheduler waits one, and every CPU pod behind.
DEADLINE: Final = 0.3

_LATE: Final = "gpusched: too busy to answer in time"
_FAILED: Final = "gpusched: failed to answer; its log says why"


class ExtenderAnswers(msgspec.Struct, frozen=True):
    """The four answers, each from the bytes of a request to the bytes of its result."""

    filter: Answer
    prioritize: Answer
    preempt: Answer
    bind: AsyncAnswer


def create_app(answers: ExtenderAnswers, edge: Edge, standby: Callable[[], bool], limits: Limits = LIMITS) -> FastAPI:
    """The application. `standby` says that another replica leads: then the connection ends too, so that the next call
    may reach that one.
    """
    app = bare_application()
    plain: tuple[tuple[str, Answer, Callable[[str], bytes]], ...] = (
        ("/filter", answers.filter, filter_error),
        ("/prioritize", answers.prioritize, _no_preference),
        ("/preempt", answers.preempt, _no_victims),
    )
    for path, answer, refuse in plain:
        add_post(app, path, edge, _Endpoint(path, _immediate(answer), refuse, edge, standby, limits, DEADLINE))
    add_post(app, "/bind", edge, _Endpoint("/bind", answers.bind, bind_error, edge, standby, limits, None))
    return app


def filter_error(reason: str) -> bytes:
    """A filter result that fails the pod's scheduling cycle with this reason."""
    return msgspec.json.encode(ExtenderFilterResult(error=reason))


def bind_error(reason: str) -> bytes:
    """A binding result that fails the pod's binding with this reason."""
    return msgspec.json.encode(ExtenderBindingResult(error=reason))


def _no_preference(_: str) -> bytes:
    # HostPriorityList has no place for a reason, and a failed call counts the same.
    return b"[]"


def _no_victims(_: str) -> bytes:
    return msgspec.json.encode(ExtenderPreemptionResult())


def _immediate(answer: Answer) -> AsyncAnswer:
    async def call(body: bytes) -> bytes:
        return answer(body)

    return call


class _Endpoint:
    def __init__(
        self,
        path: str,
        answer: AsyncAnswer,
        refuse: Callable[[str], bytes],
        edge: Edge,
        standby: Callable[[], bool],
        limits: Limits,
        deadline: float | None,
    ) -> None:
        self._path = path
        self._answer = answer
        self._refuse = refuse
        self._edge = edge
        self._standby = standby
        self._limits = limits
        self._deadline = deadline

    async def __call__(self, request: Request) -> Response:
        started = self._edge.clock()
        body = await read_json_body(request, self._limits)
        if isinstance(body, Rejected):
            if body.status == 413:
                remedy = f"gpusched: {body.reason}; set nodeCacheCapable: true for this extender"
                return json_response(self._refuse(remedy), close=body.close)
            return text_response(body.status, body.reason, close=body.close)
        closed = self._edge.closed()
        if closed is not None:
            return json_response(self._refuse(f"gpusched: {closed}"), close=self._standby())
        if self._deadline is not None and self._edge.clock() - started > self._deadline:
            return json_response(self._refuse(_LATE))
        try:
            return json_response(await self._answer(body))
        except Exception:  # noqa: BLE001 - logged with its trace by `failed`
            self._edge.failed(self._path)
            return json_response(self._refuse(_FAILED))
