"""A binder on a small cluster, with a clock, an API server and a scheduler's call of its own."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from gpusched.obs.metrics import Metrics
from gpusched.serve.binding import Binder, BindTimes
from gpusched.state.cluster import Cluster
from gpusched.wire.decision import Decision
from tests.build import Tree, pod
from tests.fakes.binding_api import FakeBindingApi
from tests.placement.scene import cluster_of

TIMES = BindTimes(answer=0.05, carried_out=60.0)


def waiting(name: str = "p", gpus: int | str | None = 1, **extra: Any) -> Tree:
    tree = pod(name, gpus=gpus, **extra)
    tree["metadata"]["uid"] = f"uid-{name}"
    return tree


def bound_to(tree: Tree, node_name: str) -> Tree:
    tree["spec"]["nodeName"] = node_name
    tree["metadata"].setdefault("annotations", {})["status.gpusched.io/bound"] = node_name
    return tree


def call(name: str = "p", node_name: str = "t4", uid: str | None = None) -> bytes:
    return msgspec.json.encode(
        {"PodName": name, "PodNamespace": "team-a", "PodUID": uid or f"uid-{name}", "Node": node_name}
    )


class Scene:
    """A binder on a cluster with a clock of its own. `errors` and `codes` are what was answered and recorded."""

    def __init__(self, tasks: asyncio.TaskGroup, cluster: Cluster, api: FakeBindingApi) -> None:
        self.now = 0.0
        self.cluster = cluster
        self.api = api
        self.leading = True
        self.decisions: list[Decision] = []
        self.released = 0
        self.metrics = Metrics()
        self.binder = Binder(
            cluster,
            api,
            tasks,
            self.metrics,
            lambda: self.now,
            lambda decision, _seconds: self.decisions.append(decision),
            leading=lambda: self.leading,
            times=TIMES,
        )
        self.binder.released = self._count

    def _count(self) -> None:
        self.released += 1

    async def bind(self, *args: Any, **kwargs: Any) -> str:
        answer = msgspec.json.decode(await self.binder.answer(call(*args, **kwargs)))
        assert answer.keys() == {"Error"}
        return str(answer["Error"])

    @property
    def codes(self) -> list[str]:
        return [decision.code for decision in self.decisions]

    def used(self, node_name: str = "t4") -> int:
        return self.cluster.nodes[node_name].use("nvidia.com/gpu").used

    @property
    def open(self) -> float:
        return self.metrics.registry.get_sample_value("gpusched_reservations") or 0.0


@asynccontextmanager
async def scene(*trees: Tree, seen: bool = True) -> AsyncIterator[Scene]:
    """Pods among the trees are in the API server; also in the cluster state if `seen`."""
    pods = [tree for tree in trees if tree["kind"] == "Pod"]
    cluster = cluster_of(*(tree for tree in trees if seen or tree["kind"] != "Pod"))
    async with asyncio.TaskGroup() as tasks:
        yield Scene(tasks, cluster, FakeBindingApi(*pods))
