"""One replica takes over from another: in good order, and from one that vanished."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.build import pod, t4_node
from tests.fakes.apiserver import LEASES, NODES, PODS, ApiServer
from tests.fakes.timing import eventually
from tests.serve.test_service import running, until

pytestmark = pytest.mark.anyio

KEY = "gpusched-system/gpusched"


@pytest.fixture
async def server(anyio_backend: str) -> AsyncIterator[ApiServer]:
    async with ApiServer() as found:
        yield found


def holder(server: ApiServer) -> object:
    return server.objects[LEASES][KEY]["spec"]["holderIdentity"]


def leads(server: ApiServer, name: str) -> bool:
    labels = server.objects[PODS][f"gpusched-system/{name}"]["metadata"].get("labels") or {}
    return labels.get("gpusched.io/leader") == "true"


async def test_whoever_stops_gives_the_lease_back_before_the_drain(tmp_path: Path, server: ApiServer) -> None:
    """Another leads while the connections of this one still end."""
    server.put(NODES, t4_node())
    server.put(PODS, pod("me", "gpusched-system", gpus=None))
    async with running(tmp_path, server, identity="me_1", pod_name="me", drain=30.0) as it:

        async def answers() -> bool:
            return (await it.filter(pod("p"), "t4"))["Error"] == ""

        await until(answers)
        await eventually(lambda: leads(server, "me"))
        it.service.stop()
        await eventually(lambda: holder(server) == "" and not leads(server, "me"))

        assert not await it.ready()
        assert (await it.filter(pod("p"), "t4"))["Error"] == "gpusched: this replica does not lead"
        assert (
            await it.bind("p", "t4") if server.put(PODS, pod("p")) else ""
        ) == "gpusched: this replica does not lead"


async def test_whoever_leads_alone_by_order_answers_to_the_end(tmp_path: Path, server: ApiServer) -> None:
    server.put(NODES, t4_node())
    async with running(tmp_path, server, leader_elect=False, drain=30.0) as it:

        async def answers() -> bool:
            return (await it.filter(pod("p"), "t4"))["Error"] == ""

        await until(answers)
        it.service.stop()

        async def drains() -> bool:
            return not await it.ready()

        await until(drains)
        assert await answers()


async def test_the_label_of_whoever_vanished_is_taken_off(tmp_path: Path, server: ApiServer) -> None:
    server.put(NODES, t4_node())
    for name in ("me", "gone"):
        labels = {"gpusched.io/leader": "true"} if name == "gone" else {}
        server.put(PODS, pod(name, "gpusched-system", gpus=None, labels=labels))
    annotations = {"status.gpusched.io/settled-after-seconds": "1.5"}
    server.put(
        LEASES,
        {
            "metadata": {"name": "gpusched", "namespace": "gpusched-system", "annotations": annotations},
            "spec": {"holderIdentity": "gone_1", "leaseDurationSeconds": 1},
        },
    )
    async with running(tmp_path, server, identity="me_1", pod_name="me", lease=2) as it:

        async def answers() -> bool:
            return (await it.filter(pod("p"), "t4"))["Error"] == ""

        await until(answers)
        await eventually(lambda: leads(server, "me") and not leads(server, "gone"))
        annotations = server.objects[LEASES][KEY]["metadata"]["annotations"]
        assert annotations == {"status.gpusched.io/settled-after-seconds": "7"}
