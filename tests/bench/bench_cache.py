"""The whole service on a cluster of 5,000 nodes and 50,000 GPU pods: memory, time to be ready, stalls of its loop.

Run: python -m tests.bench.bench_cache. A stall is CPU time of the loop's thread between two turns, since other programs
of the machine take wall time only. After the first sync all watches expire, so that every kind is listed anew. The exit
status is 1 when a bound does not hold.
"""

import asyncio
import io
import json
import multiprocessing
import os
import sys
import time
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import aiohttp
import uvloop

from gpusched.obs.logging import configure
from gpusched.serve.options import Options
from gpusched.serve.service import Service
from tests.bench.big_cluster import LARGE, PODS, BigCluster
from tests.bench.fleet import NODES
from tests.bench.table import Row, show

MOST_MIB, MOST_SECONDS, MOST_STALL_MS = 250.0, 10.0, 20.0
#: Growth of memory with twice the GPU pods, and KiB that a pod without GPU may add for good.
MOST_LINEAR, MOST_OTHER_KIB = 2.3, 0.5
_TURN = 0.001


class Figures(NamedTuple):
    """What one service came to. Stalls are milliseconds of CPU."""

    mib: float
    ready_seconds: float
    ready_cpu_seconds: float
    first_stall: float
    later_stall: float


class Reading(NamedTuple):
    """What the service's process says of itself since the last reading."""

    mib: float
    cpu_seconds: float
    stall: float


class Probe:
    """The most CPU time that the loop's thread took between two turns."""

    def __init__(self) -> None:
        self.worst = 0.0

    async def run(self) -> None:
        while True:
            before = time.thread_time()
            await asyncio.sleep(_TURN)
            self.worst = max(self.worst, time.thread_time() - before)

    def take(self) -> float:
        """Milliseconds since the last take."""
        worst, self.worst = self.worst, 0.0
        return worst * 1000


def figures(nodes: int = NODES, gpu_pods: int = PODS, other_pods: int = 0) -> Figures:
    """One service, in a process of its own, against an API server in this one."""
    here, there = multiprocessing.Pipe()
    child = multiprocessing.get_context("spawn").Process(target=_serve, args=(there,), daemon=True)
    child.start()
    try:
        return asyncio.run(_watched(BigCluster(nodes, gpu_pods, other_pods), here))
    finally:
        child.kill()
        child.join()


async def _watched(cluster: BigCluster, child: Connection) -> Figures:
    """Let the service start, wait until it is ready, have every kind listed anew, and wait until that is done."""
    started = time.monotonic()
    child.send(await cluster.start())
    port = await asyncio.to_thread(child.recv)
    async with aiohttp.ClientSession() as client:
        while not await _ready(client, port):  # noqa: ASYNC110 - asked over HTTP, as a kubelet does
            await asyncio.sleep(0.05)
    seconds = time.monotonic() - started
    await asyncio.sleep(1.0)
    first = await _asked(child)
    cluster.expire()
    while min(cluster.whole_lists[path] for path in LARGE) < 2:  # noqa: ASYNC110 - a look at two numbers
        await asyncio.sleep(0.05)
    await asyncio.sleep(1.0)
    later = await _asked(child)
    return Figures(later.mib, seconds, first.cpu_seconds, first.stall, later.stall)


async def _ready(client: aiohttp.ClientSession, port: int) -> bool:
    async with client.get(f"http://127.0.0.1:{port}/readyz") as answer:
        return answer.status == 200


async def _asked(child: Connection) -> Reading:
    child.send("")
    reading: Reading = await asyncio.to_thread(child.recv)
    return reading


def _serve(parent: Connection) -> None:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_measured(parent.recv(), parent))


async def _measured(url: str, parent: Connection) -> None:
    """The service with the probe beside it; each message of the parent is answered with a reading."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "kubeconfig"
        path.write_text(_kubeconfig(url), encoding="utf-8")
        options = Options(
            kubeconfig=str(path), host="127.0.0.1", webhook_port=0, extender_port=0, admin_port=0, leader_elect=False
        )
        service = Service(options, configure(level="error", stream=io.StringIO()), lambda _: (options.config, ()))
        probe, cpu = Probe(), time.process_time()

        def answer() -> None:
            parent.recv()
            parent.send(Reading(resident_mib(), time.process_time() - cpu, probe.take()))

        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(service.run())
            tasks.create_task(probe.run())
            await service.listening.wait()
            probe.take()
            parent.send(service.ports["admin"])
            asyncio.get_running_loop().add_reader(parent.fileno(), answer)


def _kubeconfig(url: str) -> str:
    cluster, user = {"name": "c", "cluster": {"server": url}}, {"name": "u", "user": {"token": "t"}}
    context = {"name": "x", "context": {"cluster": "c", "user": "u"}}
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [cluster],
            "users": [user],
            "contexts": [context],
            "current-context": "x",
        }
    )


def resident_mib() -> float:
    """Memory of this process."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE") / 2**20


def rows() -> Iterator[Row]:
    """All figures; growth by services that differ in one thing."""
    big = figures()
    what = f"{NODES} nodes, {PODS} GPU pods"
    yield Row(f"{what}: resident memory", big.mib, MOST_MIB, unit="MiB")
    yield Row(f"{what}: ready", big.ready_seconds, MOST_SECONDS, unit="s", note=f"{big.ready_cpu_seconds:.1f} s of CPU")
    yield Row(f"{what}: longest stall, first lists", big.first_stall, MOST_STALL_MS, unit="ms")
    yield Row(f"{what}: longest stall, lists made anew", big.later_stall, MOST_STALL_MS, unit="ms")
    few, half = (figures(1000, pods).mib for pods in (0, PODS // 2))
    whole, others = figures(1000, PODS).mib, figures(1000, 0, PODS // 2).mib
    linear = (whole - few) / (half - few)
    yield Row("memory, twice the GPU pods: growth / growth", linear, MOST_LINEAR, note="linear is 2")
    flat = (others - few) * 1024 / (PODS // 2)
    yield Row("memory of a pod without GPU", flat, MOST_OTHER_KIB, unit="KiB", note=f"few {few:.0f} MiB")


if __name__ == "__main__":
    sys.exit(show(rows()))
