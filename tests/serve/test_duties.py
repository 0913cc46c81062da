"""What the leader does: labels, quota gates, waking pods."""

import asyncio
import io
from collections.abc import Mapping
from typing import Any

import pytest

from gpusched.core.pod import Pod
from gpusched.obs.logging import Log, configure
from gpusched.obs.metrics import Metrics
from gpusched.serve.gates import Gates
from gpusched.serve.labeller import Labeller
from gpusched.serve.wake import Waker
from gpusched.state.events import Gone, Kind
from tests.build import Tree, namespace, node, pod, t4_node
from tests.fakes.timing import eventually
from tests.placement.scene import cluster_of, gated, running, see
from tests.serve.test_label_plan import T4

pytestmark = pytest.mark.anyio


@pytest.fixture
def log() -> Log:
    return configure(stream=io.StringIO())


class Writes:
    """Records what is written; `problems` are answered first."""

    def __init__(self, *problems: str | None) -> None:
        self.problems = list(problems)
        self.done: list[tuple[str, object]] = []
        self.at_once = self.most_at_once = 0

    async def label(self, name: str, labels: Mapping[str, str | None]) -> str | None:
        return await self._write(name, dict(labels))

    async def pod(self, found: Pod) -> str | None:
        return await self._write(found.name, found.uid)

    async def _write(self, name: str, what: object) -> str | None:
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        await asyncio.sleep(0)
        self.at_once -= 1
        problem = self.problems.pop(0) if self.problems else None
        if problem is None:
            self.done.append((name, what))
        return problem

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.done]


def sample(metrics: Metrics, name: str, **labels: str) -> float | None:
    return metrics.registry.get_sample_value(name, labels)


async def test_nodes_that_changed_are_labelled(log: Log) -> None:
    cluster, writes, metrics = cluster_of(t4_node(), node("cpu", gpus=None)), Writes(), Metrics()
    labeller = Labeller(cluster, writes.label, metrics, log, lambda: 0.0)
    for name in ("cpu", "t4", "nosuch"):
        labeller.touch(name)

    await labeller.work()

    assert writes.done == [("t4", T4)]
    assert sample(metrics, "gpusched_node_label_patches_total", result="done") == 1


async def test_a_new_leader_looks_at_all_nodes_and_then_at_changes(log: Log) -> None:
    cluster, writes = cluster_of(*(t4_node(f"t{index}") for index in range(30))), Writes()
    labeller = Labeller(cluster, writes.label, Metrics(), log, lambda: 0.0)
    task = asyncio.create_task(labeller.run())
    await eventually(lambda: len(writes.done) == 30)
    assert writes.most_at_once == 8

    see(cluster, t4_node("late"))
    labeller.touch("late")
    await eventually(lambda: writes.names[30:] == ["late"])
    task.cancel()


async def test_a_node_that_changes_while_another_is_patched_is_next(log: Log) -> None:
    cluster, writes = cluster_of(t4_node("first")), Writes()

    async def label(name: str, labels: Mapping[str, str | None]) -> str | None:
        if name == "first":
            see(cluster, t4_node("meanwhile"))
            labeller.touch("meanwhile")
        return await writes.label(name, labels)

    labeller = Labeller(cluster, label, Metrics(), log, lambda: 0.0)
    task = asyncio.create_task(labeller.run())
    await eventually(lambda: writes.names == ["first", "meanwhile"], seconds=2.0)
    task.cancel()


async def test_a_failed_label_is_tried_again(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpusched.serve.labeller._PAUSE", 0.0)
    cluster, writes, metrics = cluster_of(t4_node()), Writes("timed out"), Metrics()
    labeller = Labeller(cluster, writes.label, metrics, log, lambda: 0.0)
    labeller.touch("t4")

    await labeller.work()
    assert writes.done == []
    await asyncio.sleep(0.01)
    await labeller.work()

    assert writes.names == ["t4"]
    assert sample(metrics, "gpusched_node_label_patches_total", result="failed") == 1


def quota_cluster(*trees: Tree, quota: str = "*=2") -> Any:
    return cluster_of(t4_node(gpus=8), namespace(quota=quota), *trees)


async def test_gates_are_lifted_in_order_as_far_as_the_quota_goes(log: Log) -> None:
    cluster, writes, metrics = (
        quota_cluster(gated("young", age=1), gated("old", age=9), gated("urgent", priority=5), running("r", "t4")),
        Writes(),
        Metrics(),
    )
    gates = Gates(cluster, writes.pod, metrics, log, lambda: 0.0)

    await gates.work()

    assert writes.names == ["urgent"]
    assert sample(metrics, "gpusched_quota_gates_lifted_total", result="done") == 1


async def test_a_pod_is_not_lifted_again_before_the_watch_shows_it(log: Log) -> None:
    cluster, writes, now = quota_cluster(gated("a")), Writes(), 0.0
    gates = Gates(cluster, writes.pod, Metrics(), log, lambda: now)
    await gates.work()
    await gates.work()
    assert writes.names == ["a"]

    now = 5.0
    await gates.work()
    assert writes.names == ["a", "a"]


async def test_a_gate_that_cannot_be_lifted_is_tried_again_and_does_not_hold_up_others(log: Log) -> None:
    cluster, writes, metrics, now = quota_cluster(gated("a", age=5), gated("b")), Writes("conflict"), Metrics(), 0.0
    gates = Gates(cluster, writes.pod, metrics, log, lambda: now)
    await gates.work()
    assert writes.names == ["b"]

    now = 5.0
    await gates.work()
    assert "a" in writes.names


async def test_pods_of_a_job_that_are_still_being_created_are_waited_for(log: Log) -> None:
    cluster, writes, now = quota_cluster(gated("a", owner="Job/j"), quota="*=9"), Writes(), 0.0
    gates = Gates(cluster, writes.pod, Metrics(), log, lambda: now)
    await gates.work()
    now = 0.9
    see(cluster, gated("b", owner="Job/j"))
    await gates.work()
    now = 1.8
    await gates.work()
    assert writes.names == []

    now = 2.0
    await gates.work()
    assert sorted(writes.names) == ["a", "b"]


async def test_room_lifts_a_gate(log: Log) -> None:
    cluster, writes = quota_cluster(gated("a", gpus=2), running("r", "t4", gpus=1)), Writes()
    gates = Gates(cluster, writes.pod, Metrics(), log, lambda: 0.0)
    task = asyncio.create_task(gates.run())
    await asyncio.sleep(0.01)
    assert writes.done == []

    cluster.apply(Gone(Kind.POD, "uid-team-a-r"))
    gates.touch()
    await eventually(lambda: writes.names == ["a"])
    task.cancel()


async def test_a_slow_api_server_does_not_hold_up_the_next_walk(log: Log) -> None:
    cluster, writes, now = quota_cluster(gated("a"), quota="*=9"), Writes(), 0.0

    async def slowly(pod: Pod) -> str | None:
        nonlocal now
        now += 10
        return await writes.pod(pod)

    gates = Gates(cluster, slowly, Metrics(), log, lambda: now)
    task = asyncio.create_task(gates.run())
    await eventually(lambda: writes.names == ["a"])

    see(cluster, gated("b"))
    gates.touch()
    await eventually(lambda: "b" in writes.names)
    task.cancel()


def pending(name: str, in_namespace: str = "team-a", **extra: Any) -> Tree:
    tree = pod(name, in_namespace, **extra)
    tree["metadata"]["uid"] = name
    return tree


async def test_a_policy_change_wakes_the_pending_pods_of_its_namespace(log: Log) -> None:
    cluster, writes, metrics = (
        cluster_of(t4_node(), pending("a"), pending("b", "team-b"), gated("g"), running("r", "t4")),
        Writes(),
        Metrics(),
    )
    waker = Waker(cluster, writes.pod, metrics, log, lambda: 0.0)
    waker.touch("team-a")

    assert await waker.work() == 1
    assert writes.done == [("a", "a")]
    assert await waker.work() == 0
    assert sample(metrics, "gpusched_pods_woken_total", result="done") == 1


async def test_single_pods_are_woken_if_they_still_wait(log: Log) -> None:
    cluster, writes = cluster_of(t4_node(), pending("a"), pending("b"), running("r", "t4")), Writes()
    waker = Waker(cluster, writes.pod, Metrics(), log, lambda: 0.0)
    keys = {record.pod.name: key for key, record in cluster.pods.items()}
    waker.touch_pods([keys["b"], keys["r"], "gone"])

    assert await waker.work() == 1
    assert writes.names == ["b"]
    assert await waker.work() == 0


async def test_slots_that_become_free_wake_all_but_not_again_and_again(log: Log) -> None:
    cluster, writes, now = cluster_of(pending("a")), Writes(), 100.0
    waker = Waker(cluster, writes.pod, Metrics(), log, lambda: now)
    waker.touch_free()
    assert await waker.work() == 1

    now = 104.0
    waker.touch_free()
    assert await waker.work() == 0

    now = 110.0
    waker.touch_free()
    assert await waker.work() == 1


async def test_a_configuration_change_wakes_all(log: Log) -> None:
    cluster, writes = cluster_of(pending("a"), pending("b", "team-b")), Writes("timed out")
    waker = Waker(cluster, writes.pod, Metrics(), log, lambda: 0.0)
    task = asyncio.create_task(waker.run())
    waker.touch_all()

    await eventually(lambda: writes.names == ["b"])
    task.cancel()
