"""A server that answers as it is told, and kubeconfigs that lead to it."""

import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import trustme
import yaml
from aiohttp import web

TOKEN = "abc"  # noqa: S105 - guards nothing
Handler = Callable[[web.Request], object]


class Answering:
    """A server that answers as `handler` says."""

    def __init__(self) -> None:
        self.handler: Handler = lambda _: web.Response(text="fine")
        self.seen: list[tuple[str, str | None, bytes]] = []
        self.url = ""

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.seen.append((request.path_qs, request.headers.get("Authorization"), await request.read()))
        answer = self.handler(request)
        return answer if isinstance(answer, web.StreamResponse) else await answer


@asynccontextmanager
async def serving(answering: Answering, certificate: trustme.LeafCert | None = None) -> AsyncIterator[int]:
    """The port where `answering` listens, with TLS when there is a certificate."""
    context = None
    if certificate is not None:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        certificate.configure_cert(context)
    app = web.Application()
    app.router.add_route("*", "/{tail:.*}", answering.handle)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1, handler_cancellation=True)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()


def kubeconfig(tmp_path: Path, server: str, *, ca: str = "", **user: object) -> str:
    path = tmp_path / "config"
    tree = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "main",
        "contexts": [
            {"name": "main", "context": {"cluster": "here", "user": "me"}},
            {"name": "anonymous", "context": {"cluster": "here"}},
        ],
        "clusters": [{"name": "here", "cluster": {"server": server} | ({"certificate-authority": ca} if ca else {})}],
        "users": [{"name": "me", "user": user}],
    }
    path.write_text(yaml.safe_dump(tree), encoding="utf-8")
    return str(path)
