"""The webhook's HTTP application: POST /mutate and /validate, bytes in and bytes out.

A call that is no AdmissionReview is a 4xx and leaves the rest to the webhook's failurePolicy; a refused object is a 200
that says so inside.
"""

from collections.abc import Callable
from typing import Final

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import Response

from webhook.body import Limits, Rejected, read_json_body
from webhook.edge import Edge, add_post, bare_application, json_response, text_response
from webhook.review import MalformedReviewError

Answer = Callable[[bytes], bytes]
"""AdmissionReview in, AdmissionReview out; raises MalformedReviewError."""

#: The API server takes objects of 3 MiB at most; an update brings two of them.
LIMITS: Final = Limits(size=8 << 20)


def create_app(mutate: Answer, validate: Answer, edge: Edge, limits: Limits = LIMITS) -> FastAPI:
    """The application over two answers."""
    app = bare_application()
    for path, answer in (("/mutate", mutate), ("/validate", validate)):
        add_post(app, path, edge, _ReviewEndpoint(path, answer, edge, limits))
    return app


class _ReviewEndpoint:
    def __init__(self, path: str, answer: Answer, edge: Edge, limits: Limits) -> None:
        self._path = path
        self._answer = answer
        self._edge = edge
        self._limits = limits

    async def __call__(self, request: Request) -> Response:
        body = await read_json_body(request, self._limits)
        if isinstance(body, Rejected):
            return text_response(body.status, body.reason, close=body.close)
        closed = self._edge.closed()
        if closed is not None:
            return text_response(503, closed)
        try:
            return json_response(self._answer(body))
        except MalformedReviewError as error:
            return text_response(400, str(error))
        except Exception:  # noqa: BLE001 - logged with its trace by `failed`
            self._edge.failed(self._path)
            return text_response(503, "gpusched failed to judge this object; its log says why")
