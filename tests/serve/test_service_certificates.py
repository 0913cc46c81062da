"""The whole service with certificates of its own, against a fake API server."""

import asyncio
import base64
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from gpusched.serve.options import Role
from tests.build import pod, t4_node
from tests.fakes.apiserver import MUTATING, NODES, SECRETS, ApiServer
from tests.fakes.http import connected, post
from tests.fakes.timing import eventually
from tests.serve.certificates.scene import EXTENDER, stored
from tests.serve.test_service import Running, running, until
from tests.webhook.watched import review

pytestmark = pytest.mark.anyio

BOTH = frozenset({"webhook", "extender"})


@pytest.fixture
async def server(anyio_backend: str) -> AsyncIterator[ApiServer]:
    async with ApiServer() as found:
        found.put(NODES, t4_node())
        hooks = [{"name": "a", "clientConfig": {"url": "https://x"}}]
        found.put(MUTATING, {"metadata": {"name": "gpusched"}, "webhooks": hooks})
        yield found


def bundle(server: ApiServer) -> str:
    text = server.objects[MUTATING]["gpusched"]["webhooks"][0]["clientConfig"].get("caBundle", "")
    return base64.b64decode(text).decode()


async def answers(it: Running, server: ApiServer) -> bool:
    """Whether a caller that trusts the published bundle gets an answer of the webhook."""
    trusting = ssl.create_default_context(cadata=bundle(server))
    async with connected(it.service.ports["webhook"], trusting) as connection:
        await connection.send(post("/mutate", msgspec.json.encode(review(pod("p")))))
        return (await connection.response())[0] == 200


async def test_it_makes_publishes_and_serves_its_certificates(tmp_path: Path, server: ApiServer) -> None:
    async with running(tmp_path, server, leader_elect=False, own_certificates=BOTH) as it:
        await until(it.ready)
        await eventually(lambda: bundle(server) != "")
        assert await answers(it, server)
        trusting = ssl.create_default_context(cadata=b"".join(stored(server, EXTENDER).trusted).decode())
        async with connected(it.service.ports["extender"], trusting) as connection:
            await connection.send(post("/filter", b"{}"))
            with pytest.raises((ssl.SSLError, ConnectionError, asyncio.IncompleteReadError)):
                await connection.response()
    assert {path.name for path in tmp_path.glob("**/*")} == {"kubeconfig"}  # noqa: ASYNC240 - nothing waits here


async def test_without_a_certificate_it_is_alive_and_not_ready(tmp_path: Path, server: ApiServer) -> None:
    server.forbidden.add(SECRETS)
    async with running(tmp_path, server, leader_elect=False, own_certificates=BOTH) as it:

        async def told() -> bool:
            return "not ready: no certificate of the webhook yet (Secret gpusched" in (await it.get("/readyz"))[1]

        await until(told)
        assert (await it.get("/healthz"))[0] == 200
        server.forbidden.clear()
        await until(it.ready)
        await eventually(lambda: bundle(server) != "")
        assert await answers(it, server)


@pytest.mark.parametrize(("role", "secrets"), [(Role.WEBHOOK, 1), (Role.EXTENDER, 2)])
async def test_whoever_runs_looks_after_the_webhooks_bundle(
    tmp_path: Path, server: ApiServer, role: Role, secrets: int
) -> None:
    own = frozenset({"webhook"}) if role is Role.WEBHOOK else BOTH
    async with running(tmp_path, server, leader_elect=False, own_certificates=own, role=role) as it:
        await until(it.ready)
        await eventually(lambda: bundle(server) != "" and len(server.objects[SECRETS]) == secrets)
