"""Which pending pods are explained, how often, and what it costs."""

import asyncio
from typing import Any

import pytest

from gpusched.core.pod import Pod
from gpusched.core.read_pod import read_pod
from gpusched.kube.events import Reference
from gpusched.serve.explaining.explainer import Explainer
from gpusched.serve.telling.pending import Pending
from gpusched.serve.telling.told import Told
from gpusched.state.cluster import Cluster
from gpusched.state.events import Gone, Kind
from tests.build import Tree, bound, pod, t4_node
from tests.fakes.timing import eventually
from tests.placement.scene import ask, cluster_of, gated, own, promise, running, see
from tests.serve.explaining.scene import fail_for

pytestmark = pytest.mark.anyio

CLAIM = own(gpu_memory="8Gi")
TEXT = (
    "0 of 1 nodes take it: 1 memory-claim (4352Mi left for a claim per slot). "
    "Wait: pod team-a/holds on t4 holds it; or set gpusched.io/gpu-memory: 4352Mi"
)


@pytest.fixture(autouse=True)
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpusched.serve.telling.pending._REST", 0.0)


class Scene:
    """A node with 4 GiB left for claims, and an API server that has the pods of the cluster state."""

    def __init__(self, *trees: Tree) -> None:
        self.trees = {tree["metadata"]["name"]: tree for tree in trees}
        holds = running("holds", "t4", annotations=own(gpu_memory="10Gi"))
        self.cluster: Cluster = cluster_of(t4_node(replicas=4), holds, *trees)
        self.now = 0.0
        self.read: list[str] = []
        self.on_node: tuple[Pod, ...] | None = ()
        self.said: list[tuple[str, str]] = []
        self.failed: list[str] = []
        self.explainer = Explainer(
            self.cluster, self.get_pod, self.pods_on, lambda: self.now, lambda pod: self.failed.append(pod.name)
        )
        told = Told(self.record, lambda: False, lambda: self.now)
        self.pending = Pending(self.cluster, self.explainer, told, lambda: self.now)

    async def get_pod(self, _: str, name: str) -> tuple[int, object]:
        self.read.append(name)
        await asyncio.sleep(0)
        tree = self.trees.get(name)
        return (404, None) if tree is None else (200, tree)

    async def pods_on(self, node: str) -> tuple[Pod, ...] | None:
        self.read.append(node)
        return self.on_node

    def record(self, about: Reference, reason: str, message: str, severity: str) -> None:
        assert (about.kind, reason, severity) == ("Pod", "GPUUnschedulable", "Warning")
        self.said.append((about.name, message))

    async def after(self, seconds: float) -> list[tuple[str, str]]:
        """What is said in a round after this time."""
        self.now += seconds
        self.said.clear()
        await self.pending.work()
        return list(self.said)

    def bind_other(self, name: str) -> None:
        see(self.cluster, running(name, "t4"))


def waiting(name: str = "p", **extra: Any) -> Tree:
    tree = pod(name, annotations=CLAIM, **extra)
    tree["metadata"]["uid"] = name
    return tree


async def test_a_young_pod_is_left_to_the_scheduler() -> None:
    scene = Scene(waiting())
    assert await scene.after(0.0) == []
    assert await scene.after(9.0) == []
    assert scene.read == []
    assert await scene.after(1.0) == [("p", TEXT)]


async def test_nothing_is_read_again_while_nothing_changes() -> None:
    scene = Scene(waiting())
    await scene.after(0.0)
    await scene.after(10.0)
    scene.read.clear()
    assert await scene.after(1_000.0) == []
    assert scene.read == []


async def test_a_change_is_told_after_a_while() -> None:
    scene = Scene(waiting())
    await scene.after(0.0)
    await scene.after(10.0)
    see(scene.cluster, running("more", "t4", annotations=own(gpu_memory="1Gi")))
    assert await scene.after(29.0) == []
    ((name, message),) = await scene.after(1.0)
    assert (name, message.rpartition("; ")[2]) == ("p", "or set gpusched.io/gpu-memory: 3328Mi")


async def test_pods_that_are_alike_are_explained_once() -> None:
    index = "batch.kubernetes.io/job-completion-index"
    scene = Scene(*(waiting(f"p{number}", labels={index: str(number)}) for number in range(20)))
    await scene.after(0.0)
    assert sorted(await scene.after(10.0)) == sorted((f"p{number}", TEXT) for number in range(20))
    assert scene.read == ["p0", "t4"]


async def test_the_pods_of_a_node_are_read_once_for_a_round() -> None:
    scene = Scene(waiting("a"), waiting("b", labels={"app": "other"}))
    await scene.after(0.0)
    assert len(await scene.after(10.0)) == 2
    assert scene.read == ["a", "t4", "b"]


def gone(tree: Tree) -> Tree:
    tree["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    return tree


@pytest.mark.parametrize(
    "tree",
    [bound(pod("p"), "t4"), gated("p"), gone(waiting()), waiting(schedulingGates=[{"name": "example.com/other"}])],
    ids=["bound", "quota", "deleted", "gated"],
)
async def test_pods_that_no_scheduler_looks_at_are_not_explained(tree: Tree) -> None:
    scene = Scene(tree)
    await scene.after(0.0)
    assert await scene.after(100.0) == []
    assert scene.read == []


async def test_a_promised_pod_is_not_explained() -> None:
    scene = Scene(waiting())
    promise(scene.cluster, "t4", ask(scene.cluster, waiting()))
    await scene.after(0.0)
    assert await scene.after(100.0) == []


async def test_a_pod_that_is_bound_meanwhile_is_not_told_of() -> None:
    scene = Scene(waiting())
    await scene.after(0.0)
    task = asyncio.create_task(scene.after(10.0))
    await eventually(lambda: scene.read != [])
    see(scene.cluster, running("p", "t4") | {"metadata": running("p", "t4")["metadata"] | {"uid": "p"}})
    assert await task == []


async def test_a_pod_that_the_server_no_longer_has() -> None:
    scene = Scene(waiting())
    scene.trees.clear()
    await scene.after(0.0)
    assert await scene.after(10.0) == []
    scene.cluster.apply(Gone(Kind.POD, "p"))
    assert await scene.after(100.0) == []


async def test_what_could_not_be_read_is_read_again() -> None:
    scene = Scene(waiting())
    scene.on_node = None
    await scene.after(0.0)
    assert await scene.after(10.0) == []
    scene.on_node = ()
    assert await scene.after(30.0) == [("p", TEXT)]


async def test_a_gpu_pod_read_with_its_node_is_believed_to_the_watch_alone() -> None:
    """It has been deleted since, and the watch has told so."""
    scene = Scene(waiting())
    scene.on_node = (read_pod(running("was-here", "t4", gpus=3), []),)
    await scene.after(0.0)
    assert await scene.after(10.0) == [("p", TEXT)]


async def test_a_new_leader_begins_anew() -> None:
    scene = Scene(waiting())
    await scene.after(0.0)
    await scene.after(10.0)
    scene.pending.forget()
    assert await scene.after(5.0) == []


async def test_what_was_read_of_a_node_ages_within_a_round_too() -> None:
    scene = Scene(waiting("a"), waiting("b", labels={"app": "another"}))
    await scene.after(0.0)
    get_pod = scene.get_pod

    async def slowly(namespace: str, name: str) -> tuple[int, object]:
        scene.now += 11
        return await get_pod(namespace, name)

    scene.explainer._get_pod = slowly
    await scene.after(10.0)
    assert scene.read == ["a", "t4", "b", "t4"]


async def test_one_kind_of_pod_that_cannot_be_explained_ends_no_round(monkeypatch: pytest.MonkeyPatch) -> None:
    other = {"app": "other"}
    scene = Scene(waiting("bad"), waiting("bad-too"), waiting("good", labels=other), waiting("good-too", labels=other))
    fail_for(monkeypatch, "bad")
    await scene.after(0.0)
    assert await scene.after(10.0) == [("good", TEXT), ("good-too", TEXT)]
    await scene.after(30.0)
    await scene.after(300.0)
    assert scene.failed == ["bad"]
