"""The administration port: GET /healthz, /readyz and /metrics, and the page with its JSON."""

from collections.abc import Callable

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from gpusched.obs.inventory import Inventory
from gpusched.obs.metrics import CONTENT_TYPE, Metrics
from gpusched.serve.pieces import work_off
from gpusched.serve.view.endpoints import Endpoints
from webhook.edge import bare_application


class Readiness:
    """Whether this replica should get traffic, and in words what is going on. `closed` says why not."""

    def __init__(self, closed: Callable[[], str | None], details: Callable[[], list[str]]) -> None:
        self.draining = False
        self._closed = closed
        self._details = details

    def report(self) -> tuple[bool, str]:
        """Ready or not, and the lines that say why."""
        closed = "stopping: finishing the requests under way" if self.draining else self._closed()
        lines = ["ready" if closed is None else f"not ready: {closed}", *self._details()]
        return closed is None, "".join(f"{line}\n" for line in lines)


def create_app(
    readiness: Readiness, metrics: Metrics, inventory: Inventory | None = None, endpoints: Endpoints | None = None
) -> FastAPI:
    """The application. Alive is whoever answers: the event loop that decides is the one that serves this."""
    app = bare_application()

    async def healthz(_: Request) -> Response:
        return PlainTextResponse("ok\n")

    async def readyz(_: Request) -> Response:
        ready, text = readiness.report()
        return PlainTextResponse(text, 200 if ready else 503)

    async def metrics_text(_: Request) -> Response:
        if inventory is None:
            return Response(metrics.render(), headers={"content-type": CONTENT_TYPE})
        await work_off(inventory.update())
        return Response(metrics.render() + inventory.render(), headers={"content-type": CONTENT_TYPE})

    for path, endpoint in (("/healthz", healthz), ("/readyz", readyz), ("/metrics", metrics_text)):
        app.router.add_route(path, endpoint, methods=["GET"], include_in_schema=False)
    if endpoints is not None:
        endpoints.add_to(app)
    return app
