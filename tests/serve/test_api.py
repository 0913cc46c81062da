"""What the service asks of the API server, in its own terms."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import pytest

from gpusched.serve.api import ServiceApi
from gpusched.serve.promise import Promise
from tests.build import pod
from tests.fakes.apiserver import PODS, ApiServer, WriteFault
from tests.fakes.session import session_for

pytestmark = pytest.mark.anyio


@pytest.fixture
async def server(anyio_backend: str) -> AsyncIterator[ApiServer]:
    async with ApiServer() as found:
        yield found


async def touched(server: ApiServer, uid: str) -> tuple[int, Any]:
    async with session_for(server) as session:
        api = ServiceApi(session, lambda: datetime(2030, 1, 1, tzinfo=UTC), 1.0)
        return await api.touch_pod(Promise("team-a", "p", uid, "t4", 0.0))


async def test_a_touch_writes_on_the_pod_and_then_reads_it(server: ApiServer) -> None:
    uid = server.put(PODS, pod("p"))["metadata"]["uid"]

    status, tree = await touched(server, uid)

    assert (status, tree["metadata"]["uid"]) == (200, uid)
    assert tree["metadata"]["annotations"] == {"status.gpusched.io/woken": "2030-01-01T00:00:00.000000Z"}


async def test_a_touch_without_an_answer_tells_nothing(server: ApiServer) -> None:
    uid = server.put(PODS, pod("p"))["metadata"]["uid"]
    server.write_faults.append(WriteFault.LOST_BEFORE)

    assert await touched(server, uid) == (0, None)


async def test_a_pod_that_is_gone_or_another_by_now_is_read_all_the_same(server: ApiServer) -> None:
    assert (await touched(server, "uid-old"))[0] == 404

    uid = server.put(PODS, pod("p"))["metadata"]["uid"]
    status, tree = await touched(server, "uid-old")
    assert (status, tree["metadata"]["uid"]) == (200, uid)
    assert "annotations" not in tree["metadata"]
