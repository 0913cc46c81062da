"""Real containers on a node with a real kubelet: what gpusched adds to a pod is what a process and its runtime see."""

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gpusched.local.binaries import Binaries
from gpusched.local.containerd import HANDLER, Containerd, missing
from gpusched.local.control_plane import ControlPlane
from gpusched.local.installed import Installed
from gpusched.local.kubelet import Kubelet
from tests.build import container, gfd_labels, pod
from tests.e2e.conftest import teller

SECONDS = 60.0
LABELS = gfd_labels("Tesla-T4-SHARED", count=2, replicas=4)
CLASS = {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "nvidia"}, "handler": HANDLER}


@pytest.fixture(scope="module")
def plane(request: pytest.FixtureRequest, binaries: Binaries) -> Iterator[ControlPlane]:
    reason = missing()
    if reason is not None:
        # Not even required ones fail here: the fake runtime stands in for this one in the other modules.
        teller(request.config)(f"NOT TESTED with real containers: {reason}")
        pytest.skip(reason)
    with ControlPlane(binaries) as started:
        started.apply([CLASS])
        yield started


@pytest.fixture(scope="module")
def kubelet(plane: ControlPlane, kubelet_programs: dict[str, Path]) -> Iterator[Kubelet]:
    devices = {"gpus": 2, "replicas": 4, "packed": True}
    with Kubelet(plane, kubelet_programs, labels=LABELS, runtime="containerd", **devices) as node:
        yield node


@pytest.fixture(scope="module")
def cluster(plane: ControlPlane, kubelet: Kubelet) -> Iterator[ControlPlane]:
    """Namespaces of this module are those of its own control plane."""
    with Installed(plane, config={"claims": {"aboveSlot": "allow"}, "sharing": {"timeSlicingSingle": True}}):
        yield plane


def status(plane: ControlPlane, namespace: str, name: str) -> dict[str, Any]:
    return plane.get(f"/api/v1/namespaces/{namespace}/pods/{name}")["status"]


def runs(plane: ControlPlane, namespace: str, name: str) -> str:
    """Wait until a pod runs; the id of its container."""

    def probe() -> str | None:
        seen = status(plane, namespace, name)
        assert seen["phase"] in {"Pending", "Running"}
        return seen["containerStatuses"][0]["containerID"] if seen["phase"] == "Running" else None

    return plane.wait_until(probe, SECONDS, f"{name} runs").removeprefix("containerd://")


def claim(plane: ControlPlane, namespace: str, name: str, mib: int) -> None:
    plane.create(pod(name, namespace, annotations={"gpusched.io/gpu-memory": f"{mib}Mi"})).expect()


def run_both(plane: ControlPlane, namespace: str) -> tuple[str, str]:
    """Run a claim, and a pod without a GPU, on the node `real`; the ids of their containers."""
    claim(plane, namespace, "served", 2000)
    plane.create(pod("plain", namespace, container(), nodeName="real")).expect()
    return runs(plane, namespace, "served"), runs(plane, namespace, "plain")


def told(plane: ControlPlane, kubelet: Kubelet, namespace: str, name: str) -> dict[str, str]:
    """The environment that the process of a pod has printed."""
    return plane.wait_until(lambda: kubelet.environment(namespace, name, "main") or None, SECONDS, f"log of {name}")


def unschedulable(plane: ControlPlane, namespace: str, name: str) -> str:
    """What the scheduler says of a pod that it does not place; what follows is about preemption, and differs."""

    def probe() -> str | None:
        conditions = {item["type"]: item for item in status(plane, namespace, name).get("conditions", ())}
        return conditions.get("PodScheduled", {}).get("message")

    return plane.wait_until(probe, SECONDS, f"{name} judged").partition(". ")[0]


def host(folder: Path) -> dict[str, object]:
    """What a node with this folder could leave: processes, mounts, control groups, folders at fixed paths."""
    group = Containerd(folder, folder).control_group.lstrip("/")
    words = ["pgrep", "-f", f"{folder}/"]
    return {
        "processes": subprocess.run(words, capture_output=True, check=False).stdout.split(),
        "mounts": Path("/proc/self/mountinfo").read_text(encoding="utf-8"),
        "groups": [*Path("/sys/fs/cgroup").glob(f"*/{group}")],
        "folders": [Path(path).exists() for path in (folder, "/run/containerd", "/opt/containerd", "/var/lib/kubelet")],
    }


def test_process_of_a_claim_sees_its_gpu_and_its_limit_and_one_without_a_gpu_sees_neither(cluster, kubelet, namespace):
    run_both(cluster, namespace)

    served, plain = (told(cluster, kubelet, namespace, name) for name in ("served", "plain"))
    (grant,) = kubelet.grants(namespace)
    assert served["NVIDIA_VISIBLE_DEVICES"] == grant.devices[0].partition("::")[0]
    assert served["CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"] == "0=2000M"
    assert not [name for name in plain if "CUDA" in name or "NVIDIA" in name]


def test_injected_runtime_class_reaches_containerd_and_only_for_gpu_pods(cluster, kubelet, namespace):
    before = kubelet.handled()
    served, plain = run_both(cluster, namespace)
    made = kubelet.handled() - before

    # The other one is its sandbox.
    assert (len(made), served in made, plain in made) == (2, True, False)


def test_pod_of_two_is_kept_away_from_the_node(cluster, kubelet, namespace):
    cluster.create(pod("two", namespace, gpus=2)).expect()

    message = "0/1 nodes are available: 1 shared GPUs give one slot per container"
    assert unschedulable(cluster, namespace, "two") == message
    assert (status(cluster, namespace, "two")["phase"], kubelet.grants(namespace)) == ("Pending", [])


def test_two_claims_share_a_gpu_within_its_memory_and_a_third_that_fits_nowhere_waits(cluster, kubelet, namespace):
    for name in ("first", "second"):
        claim(cluster, namespace, name, 7000)
        runs(cluster, namespace, name)
    claim(cluster, namespace, "third", 9000)

    message = unschedulable(cluster, namespace, "third")
    devices = {grant.pod: grant.devices[0] for grant in kubelet.grants(namespace)}
    assert devices == {"first": "GPU-0::0", "second": "GPU-0::1"}
    assert message == "0/1 nodes are available: 1 not enough unclaimed GPU memory"


def test_node_that_is_left_leaves_no_process_mount_or_control_group(cluster, kubelet_programs, namespace):
    folder = cluster.folder / "short"
    before = host(folder)
    with Kubelet(cluster, kubelet_programs, "short", runtime="containerd"):
        cluster.create(pod("plain", namespace, container(), nodeName="short")).expect()
        runs(cluster, namespace, "plain")
        during = host(folder)

    assert host(folder) == before
    assert {name for name, was in before.items() if during[name] != was} == {"processes", "groups", "folders"}
