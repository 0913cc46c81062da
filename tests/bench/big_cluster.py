"""An API server of pages alone, made when they are asked for: 5,000 nodes and 50,000 pods that ask for GPUs."""

import asyncio
import json
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import Final

import msgspec
from aiohttp import web

from gpusched.core.read_cluster import read_node
from gpusched.core.resources import GpuResources
from gpusched.dialects.inventory import inventory
from gpusched.dialects.labels import gpusched_labels
from tests.bench.bench_http import asked
from tests.bench.fleet import NODES, fleet_node
from tests.build import Tree, bound, namespace

PODS: Final = 50_000
#: The paths of what there is much of.
LARGE: Final = ("/api/v1/nodes", "/api/v1/pods")
_PAGE: Final = 500
_VERSION: Final = "1000"
_TEAMS: Final = 50


class BigCluster:
    """`start` it; `expire` ends open watches in the way that leads to a new list."""

    def __init__(self, nodes: int = NODES, gpu_pods: int = PODS, other_pods: int = 0) -> None:
        self._others = other_pods
        self._gpu_pods = gpu_pods
        teams = [msgspec.json.encode(namespace(f"team-{turn}")) for turn in range(_TEAMS)]
        self._nodes = [_node(turn) for turn in range(nodes)]
        self._names = [fleet_node(turn)["metadata"]["name"] for turn in range(nodes) if turn % 4 != 3]
        self._templates = _pod(gpus=1), _pod(gpus=None)
        self._kinds: dict[str, tuple[int, Callable[[int], bytes]]] = {
            "/api/v1/namespaces": (_TEAMS, teams.__getitem__),
            "/api/v1/nodes": (nodes, self._nodes.__getitem__),
            "/api/v1/pods": (gpu_pods + other_pods, self._pod),
            "/apis/node.k8s.io/v1/runtimeclasses": (0, lambda _: b""),
        }
        self._expired = asyncio.Event()
        #: How often the last page of a list was fetched, by path.
        self.whole_lists: Counter[str] = Counter()

    async def start(self) -> str:
        """Serve; the URL."""
        app = web.Application()
        app.router.add_route("*", "/{tail:.*}", self._handle)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        return f"http://127.0.0.1:{runner.addresses[0][1]}"

    def expire(self) -> None:
        """Tell every watch that its version is too old."""
        expired, self._expired = self._expired, asyncio.Event()
        expired.set()

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        if request.path not in self._kinds:
            return web.json_response({"kind": "Status", "code": 404, "message": "not served"}, status=404)
        if "watch" in request.query:
            return await self._watch(request)
        number, item = self._kinds[request.path]
        start = int(request.query.get("continue") or 0)
        end = min(number, start + _PAGE)
        self.whole_lists[request.path] += end == number
        token = str(end) if end < number else ""
        head = f'{{"kind":"List","metadata":{{"resourceVersion":"{_VERSION}","continue":"{token}"}},"items":['
        body = head.encode() + b",".join(map(item, range(start, end))) + b"]}"
        return web.Response(body=body, content_type="application/json")

    async def _watch(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await self._expired.wait()
        gone = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"}
        with suppress(ConnectionError):
            await response.write(json.dumps({"type": "ERROR", "object": gone}).encode() + b"\n")
        return response

    def _pod(self, number: int) -> bytes:
        template = self._templates[number >= self._gpu_pods]
        return (
            template.replace(b"@NUMBER@", b"%012d" % number)
            .replace(b"@TEAM@", b"%d" % (number % _TEAMS))
            .replace(b"@NODE@", self._names[number % len(self._names)].encode())
        )


def labelled(tree: Tree) -> Tree:
    """The node with the labels that gpusched would give it."""
    found = inventory(read_node(tree, []), GpuResources({}))
    tree["metadata"]["labels"] |= gpusched_labels(found)
    return tree


def _node(turn: int) -> bytes:
    """A node that carries its labels already, with the images of its kubelet and what is managed by whom."""
    tree = labelled(fleet_node(turn))
    tree["status"]["images"] = [
        {"names": [f"registry.example/team/image-{place}@sha256:{'0' * 64}"], "sizeBytes": 1 << 30}
        for place in range(50)
    ]
    tree["metadata"]["managedFields"] = asked(0)["metadata"]["managedFields"]
    return msgspec.json.encode(tree)


def _pod(gpus: int | None) -> bytes:
    tree: Tree = bound(asked(0), "@NODE@", uid="8c5c6fbe-1b0f-4d64-b7c4-@NUMBER@")
    tree["metadata"] |= {"name": "train-@NUMBER@", "namespace": "team-@TEAM@"}
    if gpus is None:
        del tree["spec"]["containers"][0]["resources"]
    return msgspec.json.encode(tree)
