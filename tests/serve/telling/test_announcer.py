"""One round tells everything that is to be told, and only what the cache may be trusted for."""

import asyncio

import pytest

from gpusched.kube.events import Reference
from gpusched.serve.explaining.explainer import Explainer
from gpusched.serve.telling.announcer import Announcer
from gpusched.serve.telling.pending import Pending
from gpusched.serve.telling.told import Told
from gpusched.state.cluster import Cluster
from tests.build import Tree, h100_node, namespace, pod, t4_node
from tests.fakes.timing import eventually
from tests.placement.scene import cluster_of, gated, running
from tests.serve.explaining.scene import unexpected

pytestmark = pytest.mark.anyio


class Stage:
    """An announcer over a cluster in which everything is wrong."""

    def __init__(self) -> None:
        stale = pod("stale", annotations={"status.gpusched.io/policy-hash": "old"})
        self.cluster: Cluster = cluster_of(
            h100_node("sick", gpus=0, capacity={"nvidia.com/gpu": "8"}),
            t4_node(),
            running("r", "t4"),
            namespace(quota="*=1", families="turing"),
            namespace("bad", min_gpu_memory="20"),
            gated("g"),
            stale,
        )
        self.now = 0.0
        self.trusted = True
        self.said: set[tuple[str, str, str]] = set()
        self.failures = 0
        told = Told(self.record, lambda: False, lambda: self.now)
        explainer = Explainer(self.cluster, self.get_pod, self.pods_on, lambda: self.now, unexpected)
        pending = Pending(self.cluster, explainer, told, lambda: self.now)
        self.announcer = Announcer(self.cluster, pending, told, lambda: self.trusted, lambda: self.now, self.failed)

    def failed(self) -> None:
        self.failures += 1

    async def get_pod(self, _: str, name: str) -> tuple[int, Tree]:
        return 200, pod(name)

    async def pods_on(self, _: str) -> tuple[()]:
        return ()

    def record(self, about: Reference, reason: str, *_: str) -> None:
        self.said.add((about.kind, about.name, reason))


EVERYTHING = {
    ("Namespace", "bad", "GPUPolicyInvalid"),
    ("Node", "sick", "GPUNodeUnusable"),
    ("Pod", "g", "GPUQuotaWait"),
    ("Pod", "stale", "GPUPolicyStale"),
}


@pytest.fixture(autouse=True)
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpusched.serve.telling.announcer._PAUSE", 0.0)
    # The clock of these tests jumps.
    monkeypatch.setattr("gpusched.serve.telling.announcer._REST", 0.0)
    monkeypatch.setattr("gpusched.serve.telling.pending._REST", 0.0)


async def test_a_round_tells_everything() -> None:
    stage = Stage()
    await stage.announcer.work()
    stage.now = 15.0
    await stage.announcer.work()
    assert stage.said == EVERYTHING


async def test_rounds_follow_each_other_while_it_runs() -> None:
    stage = Stage()
    task = asyncio.create_task(stage.announcer.run())
    await eventually(lambda: len(stage.said) == 3)
    stage.now = 15.0
    await eventually(lambda: stage.said == EVERYTHING | {("Pod", "stale", "GPUUnschedulable")})
    task.cancel()


async def test_an_old_cache_is_not_believed() -> None:
    stage = Stage()
    stage.trusted = False
    task = asyncio.create_task(stage.announcer.run())
    await asyncio.sleep(0.01)
    assert stage.said == set()
    stage.trusted = True
    await eventually(lambda: len(stage.said) == 3)
    task.cancel()


async def test_a_fault_here_ends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage()
    monkeypatch.setattr("gpusched.serve.telling.announcer.stale_pods", lambda _: [1 / 0 for _ in "x"])
    task = asyncio.create_task(stage.announcer.run())
    await eventually(lambda: stage.failures > 1)
    assert not task.done()
    task.cancel()


async def test_a_new_term_tells_again() -> None:
    stage = Stage()
    for _ in range(2):
        stage.said.clear()
        task = asyncio.create_task(stage.announcer.run())
        await eventually(lambda: len(stage.said) == 3)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
