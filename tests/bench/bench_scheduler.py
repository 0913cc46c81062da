"""Pods per second of the real kube-scheduler: with gpusched, with a trivial extender, and without any.

Run: python -m tests.bench.bench_scheduler [nodes, by default 1000]. Where the programs of a control plane are not in
the cache nothing is measured. All pods are there before the scheduler starts; the rate is that of the middle nine
tenths. Both extenders are called over TLS with certificates of both sides. Each is measured twice, in turn and back, so
that what else the machine does meets all of them. Batching of identical pods is off throughout, since any extender
turns it off. The exit status is 1 when a bound does not hold.
"""

import sys
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from statistics import harmonic_mean

from gpusched.core.resources import GpuResources
from gpusched.local import binaries
from gpusched.local.control_plane import ControlPlane
from gpusched.local.installed import Installed
from gpusched.local.options import Options
from gpusched.policy.model import Config
from gpusched.wire.scheduler_config import Endpoint, extender_stanza, managed_resources, scheduler_config
from tests.bench.big_cluster import labelled
from tests.bench.table import Row, show
from tests.bench.trivial_extender import trivial_extender
from tests.build import Tree, a100_node, h100_node, pod, t4_node

NODES, PODS = 1000, 400
CANDIDATES = 32
LEAST_OF_TRIVIAL, LEAST_SHORTENED, LEAST_OF_NONE = 0.9, 1.2, 0.75
_SCHEDULED = 'scheduler_schedule_attempts_total{profile="default-scheduler",result="scheduled"}'
#: Seconds between two looks at the scheduler's metrics, which cost it several milliseconds each.
_PAUSE = 0.25
_GATES = ("--feature-gates=OpportunisticBatching=false",)


def fleet_node(turn: int) -> Tree:
    """One of three models with one to eight GPUs: candidates that are equal are never split."""
    return (t4_node, a100_node, h100_node)[turn % 3](f"node-{turn:04}", gpus=1 + turn // 3 % 8)


def rate(plane: ControlPlane, name: str, configuration: Mapping[str, object] | None) -> float:
    """Pods per second under this KubeSchedulerConfiguration; its pods are gone afterwards."""
    plane.stop("kube-scheduler")
    plane.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}).expect()
    trees: list[Tree] = [pod(f"p{turn}", name) for turn in range(PODS)]
    with ThreadPoolExecutor(4) as pool:
        for answer in pool.map(plane.create, trees):
            answer.expect()
    plane.restart_scheduler(configuration)
    first = _reached(plane, PODS // 20)
    last = _reached(plane, PODS - PODS // 20)
    _reached(plane, PODS)
    path = f"/api/v1/namespaces/{name}/pods"
    plane.request("DELETE", path, query={"gracePeriodSeconds": "0"}).expect()
    plane.wait_for(path, lambda tree: tree["items"] == [], 60, what="pods gone")
    return (last[1] - first[1]) / (last[0] - first[0])


def _reached(plane: ControlPlane, number: int) -> tuple[float, float]:
    """The moment when so many pods were scheduled, and how many it were by then."""
    api, until = plane.scheduler_api(), time.monotonic() + 120
    while time.monotonic() < until:
        text, now = str(api.request("GET", "/metrics").tree), time.monotonic()
        scheduled = next((float(line.split()[-1]) for line in text.splitlines() if line.startswith(_SCHEDULED)), 0.0)
        if scheduled >= number:
            return now, scheduled
        time.sleep(_PAUSE)
    raise AssertionError(f"fewer than {number} pods were scheduled within two minutes")


def trivial_configuration(url: str, directory: Path) -> dict[str, object]:
    """The stanza that gpusched prints, for another address, without the verb that the trivial extender lacks."""
    names = managed_resources(GpuResources({}), ())
    stanza = extender_stanza(Config(), Endpoint(url, str(directory)), names, break_glass=False)
    del stanza["preemptVerb"]
    return scheduler_config(stanza)


@contextmanager
def configured(plane: ControlPlane, what: str) -> Iterator[Mapping[str, object] | None]:
    """The KubeSchedulerConfiguration with this extender, while it runs."""
    match what:
        case "none":
            yield None
        case "trivial":
            directory = plane.folder / "trivial"
            with trivial_extender(str(plane.kubeconfig()), directory) as url:
                yield trivial_configuration(url, directory)
        case _:
            config = {"extender": {"candidates": CANDIDATES}} if what == "shortened" else {}
            with Installed(plane, config=config) as installed:
                yield installed.scheduler_configuration()


def rates(nodes: int) -> dict[str, float]:
    """Pods per second by extender."""
    found: dict[str, list[float]] = {what: [] for what in ("none", "trivial", "gpusched", "shortened")}
    with ControlPlane(binaries.resolve(), Options(arguments={"kube-scheduler": _GATES})) as plane:
        plane.create_nodes(labelled(fleet_node(turn)) for turn in range(nodes))
        for turn, what in enumerate([*found, *reversed(found)]):
            with configured(plane, what) as configuration:
                found[what].append(rate(plane, f"{what}-{turn}", configuration))
    return {what: harmonic_mean(measured) for what, measured in found.items()}


def rows(nodes: int = NODES) -> Iterator[Row]:
    """The rates as ratios, or why there are none."""
    if not binaries.ready():
        yield Row("scheduler throughput: NOT MEASURED, no programs of a control plane in the cache", 0.0, unit="")
        return
    found = rates(nodes)
    told = ", ".join(f"{name} {value:.0f}/s" for name, value in found.items())
    what = f"scheduler, {nodes} nodes"
    yield Row(
        f"{what}: gpusched / trivial", found["gpusched"] / found["trivial"], LEAST_OF_TRIVIAL, floor=True, note=told
    )
    shortened = found["shortened"]
    yield Row(f"{what}: candidates {CANDIDATES} / trivial", shortened / found["trivial"], LEAST_SHORTENED, floor=True)
    yield Row(f"{what}: candidates {CANDIDATES} / no extender", shortened / found["none"], LEAST_OF_NONE, floor=True)


if __name__ == "__main__":
    sys.exit(show(rows(int(sys.argv[1]) if len(sys.argv) > 1 else NODES)))
