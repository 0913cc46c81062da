"""Pods without a GPU, read of few nodes at a time."""

import asyncio

import pytest

from gpusched.core.pod import Pod
from gpusched.core.read_pod import read_pod
from gpusched.serve.explaining.bystanders import Bystanders
from tests.placement.scene import cluster_of, running
from tests.serve.explaining.scene import busy

pytestmark = pytest.mark.anyio


class Nodes:
    """Every node runs a pod with a GPU and one without; `silent` ones do not answer."""

    def __init__(self, *silent: str) -> None:
        self.now = 0.0
        self.asked: list[str] = []
        self.most = self._open = 0
        self._silent = silent
        self.bystanders = Bystanders(cluster_of(), self.pods_on, lambda: self.now)

    async def pods_on(self, node: str) -> tuple[Pod, ...] | None:
        self.asked.append(node)
        self._open += 1
        self.most = max(self.most, self._open)
        await asyncio.sleep(0)
        self._open -= 1
        if node in self._silent:
            return None
        return read_pod(running(f"gpu-{node}", node), []), read_pod(busy(node, "1"), [])

    async def read(self, *names: str) -> list[str] | None:
        found = await self.bystanders.read(names)
        return None if found is None else [pod.name for pod in found]


async def test_only_pods_without_a_gpu_in_the_order_asked() -> None:
    assert await Nodes().read("b", "a") == ["web-b", "web-a"]


async def test_few_nodes_are_asked_at_a_time() -> None:
    nodes = Nodes()
    names = [f"n{number:02}" for number in range(20)]
    assert await nodes.read(*names) == [f"web-{name}" for name in names]
    assert (nodes.most, nodes.asked) == (8, names)


async def test_what_was_read_a_moment_ago_is_good_enough() -> None:
    nodes = Nodes()
    for seconds, asked in ((0.0, ["a"]), (9.0, ["a", "b"]), (1.0, ["a", "b", "a"])):
        nodes.now += seconds
        assert await nodes.read("a", *(["b"] if seconds else [])) is not None
        assert nodes.asked == asked


async def test_one_node_that_cannot_be_read_is_enough_to_know_nothing() -> None:
    nodes = Nodes("b")
    assert await nodes.read("a", "b") is None
    assert await nodes.read("a") == ["web-a"]
