"""The whole service against a fake API server, over its real ports."""

import asyncio
import io
import json
import urllib.request
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import msgspec
import pytest

from gpusched.obs.logging import configure
from gpusched.policy.model import Config
from gpusched.serve.options import Options, Role
from gpusched.serve.service import Service
from tests.build import namespace, pod, t4_node
from tests.fakes.apiserver import LEASES, NAMESPACES, NODES, PODS, ApiServer, Fault
from tests.fakes.timing import eventually
from tests.serve.test_label_plan import T4
from tests.webhook.watched import review

pytestmark = pytest.mark.anyio


class Running:
    """A service at work, and requests to it."""

    def __init__(self, service: Service, server: ApiServer, output: io.StringIO) -> None:
        self.service = service
        self.server = server
        self._output = output

    async def get(self, path: str) -> tuple[int, str]:
        return await self._send("admin", path, None)

    async def post(self, port: str, path: str, tree: object) -> Any:
        status, text = await self._send(port, path, msgspec.json.encode(tree))
        return json.loads(text) if status == 200 else (status, text)

    async def filter(self, tree: object, *names: str) -> Any:
        return await self.post("extender", "/filter", {"Pod": tree, "Nodes": None, "NodeNames": list(names)})

    async def bind(self, name: str, node_name: str) -> str:
        uid = self.server.objects[PODS][f"team-a/{name}"]["metadata"]["uid"]
        args = {"PodName": name, "PodNamespace": "team-a", "PodUID": uid, "Node": node_name}
        return str((await self.post("extender", "/bind", args))["Error"])

    async def ready(self) -> bool:
        return (await self.get("/readyz"))[0] == 200

    @property
    def events(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self._output.getvalue().splitlines()]

    async def _send(self, port: str, path: str, body: bytes | None) -> tuple[int, str]:
        url = f"http://127.0.0.1:{self.service.ports[port]}{path}"
        request = urllib.request.Request(url, body, {"Content-Type": "application/json"})

        def call() -> tuple[int, str]:
            try:
                with urllib.request.urlopen(request, timeout=5) as answer:  # noqa: S310 - its own URL
                    return answer.status, answer.read().decode()
            except HTTPError as error:
                with error:
                    return error.code, error.read().decode()

        return await asyncio.to_thread(call)


def kubeconfig(directory: Path, server: ApiServer) -> str:
    path = directory / "kubeconfig"
    path.write_text(
        json.dumps(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "clusters": [{"name": "c", "cluster": {"server": server.url}}],
                "users": [{"name": "u", "user": {"token": "t"}}],
                "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
                "current-context": "x",
            }
        )
    )
    return str(path)


@asynccontextmanager
async def running(
    directory: Path, server: ApiServer, load: Any = lambda _path: (Config(), ()), **options: Any
) -> AsyncIterator[Running]:
    output = io.StringIO()
    given = {"webhook_port": 0, "extender_port": 0, "admin_port": 0, "host": "127.0.0.1", "drain": 0.0} | options
    service = Service(Options(kubeconfig=kubeconfig(directory, server), **given), configure(stream=output), load)
    task = asyncio.create_task(service.run())
    await asyncio.wait({task, waiting := asyncio.create_task(service.listening.wait())}, return_when="FIRST_COMPLETED")
    waiting.cancel()
    try:
        yield Running(service, server, output)
    finally:
        service.stop()
        await asyncio.wait_for(task, 10)


@pytest.fixture
async def server(anyio_backend: str) -> AsyncIterator[ApiServer]:
    async with ApiServer() as found:
        yield found


async def until(holds: Any, seconds: float = 10.0) -> None:
    async with asyncio.timeout(seconds):
        while not await holds():  # noqa: ASYNC110 - what is waited for tells nobody
            await asyncio.sleep(0.02)


async def test_a_pod_from_admission_to_its_node(tmp_path: Path, server: ApiServer) -> None:
    server.put(NODES, t4_node())
    server.put(NAMESPACES, namespace(families="turing"))
    async with running(tmp_path, server, leader_elect=False) as it:
        await until(it.ready)
        await eventually(lambda: T4.items() <= server.objects[NODES]["t4"]["metadata"]["labels"].items())
        await eventually(lambda: it.service.cluster.labelled)

        answer = await it.post("webhook", "/mutate", review(pod("p")))
        assert answer["response"]["allowed"] is True
        refused = await it.post("webhook", "/mutate", review(pod("p", annotations={"gpusched.io/families": "hopper"})))
        assert refused["response"]["status"]["message"].startswith("gpu-policy-family: ")

        stored = server.put(PODS, pod("p"))
        assert (await it.filter(stored, "t4", "nosuch"))["NodeNames"] == ["t4"]
        assert await it.bind("p", "t4") == ""
        assert server.objects[PODS]["team-a/p"]["metadata"]["annotations"] == {"status.gpusched.io/bound": "t4"}

        stored = server.put(PODS, pod("q"))
        await eventually(lambda: len(it.service.cluster.pods) == 2)
        assert (await it.filter(stored, "t4"))["FailedAndUnresolvableNodes"] == {"t4": "not enough free GPU slots"}
        assert await it.bind("q", "t4") == "gpusched: not enough free GPU slots"

        status, text = await it.get("/metrics")
        assert 'gpusched_decisions_total{code="bound",verb="bind"} 1.0' in text
        assert (status, (await it.get("/healthz"))[1]) == (200, "ok\n")
        decisions = [(event["verb"], event["code"]) for event in it.events if event["event"] == "decision"]
        assert decisions == [
            ("mutate", "allowed"),
            ("mutate", "gpu-policy-family"),
            ("filter", "fits"),
            ("bind", "bound"),
            ("filter", "free-replicas"),
            ("bind", "free-replicas"),
        ]


async def test_quota_gates_and_policy_changes(tmp_path: Path, server: ApiServer) -> None:
    server.put(NODES, t4_node(gpus=4))
    server.put(NAMESPACES, namespace(quota="*=1"))
    for name in ("a", "b"):
        server.put(PODS, pod(name, schedulingGates=[{"name": "gpusched.io/quota"}]))
    async with running(tmp_path, server, leader_elect=False) as it:

        def gated() -> list[str]:
            pods = server.objects[PODS].values()
            return sorted(tree["metadata"]["name"] for tree in pods if tree["spec"].get("schedulingGates"))

        await eventually(lambda: len(gated()) == 1)
        (last,) = gated()
        first = "ab".replace(last, "")

        server.put(NAMESPACES, namespace(quota="*=2"))
        await eventually(lambda: gated() == [])

        def woken() -> bool:
            metadata = server.objects[PODS][f"team-a/{first}"]["metadata"]
            return "status.gpusched.io/woken" in metadata.get("annotations", {})

        await eventually(woken)
        assert await it.ready()


async def test_an_unreachable_api_server(tmp_path: Path, server: ApiServer) -> None:
    server.put(NODES, t4_node())
    server.broken = True
    async with running(tmp_path, server, leader_elect=False, max_age=1.0) as it:
        answer = await it.filter(pod("p"), "t4")
        assert answer["Error"].startswith("gpusched: ")
        assert answer["NodeNames"] is None
        status, text = await it.get("/readyz")
        assert (status, "waiting for Namespace" in text) == (503, True)
        assert (await it.post("webhook", "/mutate", review(pod("p"))))[0] == 503

        server.broken = False
        await until(it.ready, 20)

        async def answered() -> bool:
            return (await it.filter(pod("p"), "t4"))["NodeNames"] == ["t4"]

        await until(answered, 20)

        server.broken = True
        server.inject(Fault.CLOSE)
        assert (await it.filter(pod("p"), "t4"))["NodeNames"] == ["t4"]

        async def aged() -> bool:
            return "s old, the limit is 1 s" in (await it.filter(pod("p"), "t4"))["Error"]

        await until(aged)
        server.broken = False
        await until(answered, 20)


async def test_only_the_leader_answers_the_extender(tmp_path: Path, server: ApiServer) -> None:
    server.put(NODES, t4_node())
    (tmp_path / "one").mkdir()
    (tmp_path / "other").mkdir()
    async with running(tmp_path / "one", server, identity="one_1") as one:

        async def leads() -> bool:
            return (await one.filter(pod("p"), "t4"))["Error"] == ""

        await until(leads)
        assert server.objects[LEASES]["gpusched-system/gpusched"]["spec"]["holderIdentity"] == "one_1"
        async with running(tmp_path / "other", server, identity="other_2") as other:
            await until(other.ready)
            await eventually(lambda: other.service.cluster.nodes != {})
            answer = await other.filter(pod("p"), "t4")
            assert answer["Error"].startswith("gpusched: this replica does not lead")
            assert (await other.post("webhook", "/validate", review(pod("p"))))["response"]["allowed"]
    assert server.objects[LEASES]["gpusched-system/gpusched"]["spec"]["holderIdentity"] == ""


async def test_a_new_configuration_is_taken_over(tmp_path: Path, server: ApiServer) -> None:
    server.put(NODES, t4_node())
    server.put(PODS, pod("p"))
    file = tmp_path / "config.yaml"
    file.write_text("20")
    async with running(
        tmp_path, server, lambda path: (Config(weight=int(path.read_text())), ()), leader_elect=False, config_file=file
    ) as it:
        await until(it.ready)
        await eventually(lambda: "p" in {record.pod.name for record in it.service.cluster.pods.values()})
        file.write_text("30 ")
        await eventually(lambda: it.service.cluster.config.weight == 30)
        await eventually(lambda: "annotations" in server.objects[PODS]["team-a/p"]["metadata"])


@pytest.mark.parametrize(
    ("role", "ports"), [(Role.WEBHOOK, {"admin", "webhook"}), (Role.EXTENDER, {"admin", "extender"})]
)
async def test_roles(tmp_path: Path, server: ApiServer, role: Role, ports: set[str]) -> None:
    async with running(tmp_path, server, role=role, leader_elect=False) as it:
        assert it.service.ports.keys() == ports
        await until(it.ready)
        leads = it.service.metrics.registry.get_sample_value("gpusched_leader")
        assert (leads is None) == (role is Role.WEBHOOK)


async def test_a_certificate_that_is_missing_shows_at_once(tmp_path: Path, server: ApiServer) -> None:
    options = Options(
        kubeconfig=kubeconfig(tmp_path, server),
        webhook_certificates=tmp_path,
        host="127.0.0.1",
        webhook_port=0,
        admin_port=0,
        role=Role.WEBHOOK,
    )
    with pytest.raises(FileNotFoundError):
        await Service(options, configure(stream=io.StringIO()), lambda _path: (Config(), ())).run()
