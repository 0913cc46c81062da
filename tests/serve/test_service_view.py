"""The page's JSON of a whole service, against a fake API server."""

import asyncio
import json
import urllib.request
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from gpusched.serve.options import AdminAccess
from tests.build import namespace, pod, t4_node
from tests.fakes.apiserver import NAMESPACES, NODES, PODS, ApiServer
from tests.fakes.timing import eventually
from tests.serve.test_service import Running, running, until
from tests.webhook.watched import review

pytestmark = pytest.mark.anyio


@pytest.fixture
async def server(anyio_backend: str) -> AsyncIterator[ApiServer]:
    async with ApiServer() as found:
        yield found


async def answer(it: Running, path: str) -> Any:
    status, text = await it.get(f"/api/v1/{path}")
    return json.loads(text) if status == 200 else (status, json.loads(text)["error"])


async def test_from_the_watch_to_the_page(tmp_path: Path, server: ApiServer) -> None:
    server.put(NODES, t4_node())
    server.put(NAMESPACES, namespace(families="turing"))
    async with running(tmp_path, server, leader_elect=False, admin_access=AdminAccess.OPEN) as it:
        await until(it.ready)
        await it.post("webhook", "/mutate", review(pod("p", annotations={"gpusched.io/families": "hopper"})))
        (refusal,) = (await answer(it, "refusals"))["refusals"]
        assert (refusal["namespace"], refusal["name"], refusal["code"]) == ("team-a", "p", "gpu-policy-family")
        assert refusal["message"].startswith("pod asks for hopper; namespace team-a allows turing.")

        server.put(PODS, pod("waits", gpus=3))
        await eventually(lambda: len(it.service.cluster.pods) == 1)
        (waiting,) = (await answer(it, "pods"))["pods"]
        assert waiting["why"]["suggestion"] == "Ask for nvidia.com/gpu: 1 in container main"
        (node,) = (await answer(it, "nodes"))["nodes"]
        assert (node["name"], node["pools"][0]["slots"]) == ("t4", 1)
        assert 'gpusched_pods_waiting{namespace="team-a",state="pending"} 1' in (await it.get("/metrics"))[1]


async def test_a_token_is_wanted_unless_told_otherwise(tmp_path: Path, server: ApiServer) -> None:
    server.put(NODES, t4_node())
    async with running(tmp_path, server, leader_elect=False) as it:
        status, error = await answer(it, "nodes")

        assert (status, error[:12]) == (401, "Who are you?")
        assert (await it.get("/"))[0] == 200


async def test_open_streams_do_not_hold_up_the_end(tmp_path: Path, server: ApiServer) -> None:
    server.put(NODES, t4_node())
    async with running(tmp_path, server, leader_elect=False, admin_access=AdminAccess.OPEN, drain=1.0) as it:
        await until(it.ready)
        url = f"http://127.0.0.1:{it.service.ports['admin']}/api/v1/events"
        stream = await asyncio.to_thread(urllib.request.urlopen, url, timeout=20)
        assert stream.readline() == b"retry: 2000\n"
        it.service.stop()
        rest = await asyncio.to_thread(stream.read)
        stream.close()
        assert b"event: change" in rest
