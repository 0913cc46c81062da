"""Claims on real kubelets: whichever devices they give, and whatever happens, no GPU is ever above its memory."""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gpusched.local.binaries import Binaries
from gpusched.local.control_plane import ControlPlane
from gpusched.local.installed import Installed
from gpusched.local.kubelet import Grant, Kubelet
from tests.build import Tree, container, gfd_labels, pod
from tests.e2e.differing import differences

GPU_MIB = 15360
#: What a slot has of its GPU after the default reserve of 5 %.
SHARE_MIB = GPU_MIB * 95 // 100 // 4
SLOTS = 8
FULL = "Insufficient nvidia.com/gpu"
LABELS = gfd_labels("Tesla-T4-SHARED", count=2, replicas=4, memory=GPU_MIB)
#: Kubernetes 1.37 holds the first refusal of a young kubelet back for ten seconds; nothing here should be refused.
SECONDS = 60.0
#: One prefers the GPU with the fewest users, as NVIDIA's plugin does, one the GPU with the most.
NODES = {"spread": False, "packed": True}
CONFIG = {"claims": {"aboveSlot": "allow"}}
SIZES = (256, 1000, 1900, 3800, 5000, 7600, 11000, 15000)
RUNTIME_CLASS = {
    "apiVersion": "node.k8s.io/v1",
    "kind": "RuntimeClass",
    "metadata": {"name": "nvidia"},
    "handler": "nvidia-cdi",
}


@pytest.fixture(scope="module")
def plane(binaries: Binaries) -> Iterator[ControlPlane]:
    with ControlPlane(binaries) as started:
        started.apply([RUNTIME_CLASS])
        yield started


@pytest.fixture(scope="module")
def kubelets(plane: ControlPlane, kubelet_programs: dict[str, Path]) -> Iterator[dict[str, Kubelet]]:
    spread, packed = (
        Kubelet(plane, kubelet_programs, name, labels=LABELS, gpus=2, replicas=4, packed=packed)
        for name, packed in NODES.items()
    )
    with spread, packed:
        yield {"spread": spread, "packed": packed}


@pytest.fixture(scope="module")
def gpusched(plane: ControlPlane, kubelets: dict[str, Kubelet]) -> Iterator[Installed]:
    with Installed(plane, config=CONFIG) as running:
        yield running


@pytest.fixture
def cluster(plane: ControlPlane, gpusched: Installed) -> ControlPlane:
    """Namespaces of this module are those of its own control plane."""
    return plane


@pytest.fixture
def spread(plane: ControlPlane, kubelets: dict[str, Kubelet]) -> Iterator[Kubelet]:
    """A node that things happen to; all is well with it afterwards."""
    node = kubelets["spread"]
    yield node
    if "spread-kubelet" not in plane.children:
        node.start()
    if "spread-gpu-plugin" not in plane.children:
        node.start_plugin()
    node.set_unhealthy()
    node.wait_for_slots(SLOTS)


@pytest.fixture
def team(namespace: str, cluster: ControlPlane, kubelets: dict[str, Kubelet]) -> Iterator["Team"]:
    made = Team(cluster, kubelets, namespace)
    yield made
    made.delete(list(made.pods()))


class Team:
    """A namespace, its pods, and what the nodes gave them."""

    def __init__(self, plane: ControlPlane, kubelets: dict[str, Kubelet], namespace: str) -> None:
        self.plane = plane
        self.kubelets = kubelets
        self.namespace = namespace
        self.claims: dict[str, int] = {}

    def create(self, name: str, claim_mib: int, node: str | None = None) -> None:
        self.plane.create(self.claim(name, claim_mib, node)).expect()

    def claim(self, name: str, claim_mib: int, node: str | None = None) -> Tree:
        """A pod, which counts from now on."""
        selector = {"nodeSelector": {"kubernetes.io/hostname": node}} if node else {}
        annotations = {"gpusched.io/gpu-memory": f"{claim_mib}Mi"}
        self.claims[name] = claim_mib
        return pod(name, self.namespace, annotations=annotations, **selector)

    def pods(self) -> dict[str, dict[str, Any]]:
        items = self.plane.get(f"/api/v1/namespaces/{self.namespace}/pods")["items"]
        return {item["metadata"]["name"]: item for item in items}

    def delete(self, names: list[str]) -> None:
        """Delete pods; the kubelet itself says when they are gone."""
        for name in names:
            self.plane.request("DELETE", f"/api/v1/namespaces/{self.namespace}/pods/{name}").expect()
        self.plane.wait_until(lambda: not set(names) & set(self.pods()), SECONDS, "pods gone")
        self.plane.wait_until(lambda: not set(names) & set(self.grants()), SECONDS, "devices given back")

    def grants(self) -> dict[str, Grant]:
        return {grant.pod: grant for node in self.kubelets.values() for grant in node.grants(self.namespace)}

    def used_mib(self) -> dict[tuple[str, str], int]:
        """The sum of the claims on every GPU, by node and GPU."""
        sums: dict[tuple[str, str], int] = {}
        for name, node in self.kubelets.items():
            for grant in node.grants(self.namespace):
                for device in grant.devices:
                    key = (name, device.partition("::")[0])
                    sums[key] = sums.get(key, 0) + self.claims[grant.pod]
        return sums

    def settle(self) -> tuple[set[str], dict[str, str]]:
        """Wait until every pod runs or is told why not: the running ones, and what the others are told."""

        def judged() -> tuple[set[str], dict[str, str]] | None:
            pods = self.pods()
            assert "Failed" not in {item["status"]["phase"] for item in pods.values()}
            running = {name for name, item in pods.items() if item["status"]["phase"] == "Running"}
            told = {name: reason for name, item in pods.items() if (reason := waiting(item))}
            return (running, told) if running | told.keys() == set(pods) else None

        return self.plane.wait_until(judged, SECONDS, "all pods judged")

    def runs(self, name: str) -> None:
        def probe() -> bool:
            phase = self.pods()[name]["status"]["phase"]
            assert phase != "Failed"
            return phase == "Running"

        self.plane.wait_until(probe, SECONDS, f"{name} runs")


def waiting(tree: dict[str, Any]) -> str | None:
    """Why the scheduler does not place a pod."""
    conditions = {item["type"]: item for item in tree["status"].get("conditions", ())}
    placed = conditions.get("PodScheduled", {})
    if placed.get("status") != "False":
        return None
    # What follows is about preemption, and differs between versions.
    return placed["message"].partition(". ")[0]


def refusal(reason: str) -> str:
    """What a pod that wants one of the two nodes is told when that node does not take it."""
    both = sorted((f"1 {reason}", "1 node(s) didn't match Pod's node affinity/selector"))
    return f"0/2 nodes are available: {', '.join(both)}"


@pytest.mark.parametrize("seed", range(3))
def test_claims_of_random_sizes_never_overfill_a_gpu_and_no_pod_is_refused_by_a_node(team, seed):
    rng = random.Random(seed)
    seen: list[str] = []
    for turn in range(3):
        for number in range(14):
            team.create(f"p{turn}-{number}", rng.choice(SIZES))
        running, told = team.settle()
        used = team.used_mib()
        assert max(used.values()) <= GPU_MIB
        assert {name: len(grant.devices) for name, grant in team.grants().items()} == dict.fromkeys(running, 1)
        seen += told.values()
        team.delete(sorted(rng.sample(sorted(running), len(running) // 2)) + sorted(told))

    assert "not enough unclaimed GPU memory" in " ".join(seen)


def test_simulation_of_a_dump_of_these_nodes_says_of_each_pod_what_happens(team):
    rng = random.Random(5)
    trees = [team.claim(f"p{number}", rng.choice(SIZES)) for number in range(20)]

    found = {tree["metadata"]["name"]: list(differences(team.plane, tree, CONFIG)) for tree in trees}

    assert {name: texts for name, texts in found.items() if texts} == {}
    running, told = team.settle()
    assert len(running) > 4
    assert len(told) > 4


def test_node_is_filled_to_the_last_mib_of_its_slots(team):
    for number in range(16):
        team.create(f"p{number}", SHARE_MIB)

    running, told = team.settle()

    assert (len(running), told) == (16, {})
    assert team.used_mib() == {(node, gpu): 4 * SHARE_MIB for node in NODES for gpu in ("GPU-0", "GPU-1")}


def test_pods_on_a_gpu_that_falls_ill_stay_and_nothing_new_comes_until_it_is_well(team, spread):
    for number in range(6):
        team.create(f"p{number}", SHARE_MIB, "spread")
    team.settle()
    before = team.grants()

    spread.set_unhealthy("GPU-1")
    spread.wait_for_slots(SLOTS // 2)
    team.create("late", 256, "spread")
    running, told = team.settle()

    assert (running, told) == (set(before), {"late": refusal(FULL)})
    assert team.grants() == before
    spread.set_unhealthy()
    spread.wait_for_slots(SLOTS)
    team.runs("late")
    assert max(team.used_mib().values()) <= GPU_MIB


def test_plugin_that_is_gone_takes_the_slots_along_and_its_return_brings_them_back(team, spread):
    team.create("first", 7000, "spread")
    team.create("second", 5000, "spread")
    team.settle()
    before = team.grants()

    spread.kill_plugin()
    spread.wait_for_slots(0)
    team.create("late", 2000, "spread")
    running, told = team.settle()

    assert (running, told) == ({"first", "second"}, {"late": refusal(FULL)})
    spread.start_plugin()
    team.runs("late")
    assert {name: grant for name, grant in team.grants().items() if name != "late"} == before
    assert max(team.used_mib().values()) <= GPU_MIB


def test_kubelet_that_restarts_knows_its_devices_and_takes_what_was_placed_meanwhile(team, spread):
    team.create("first", 7000, "spread")
    team.create("second", 5000, "spread")
    team.settle()
    before = team.grants()

    spread.kill()
    team.create("third", 2000, "spread")
    team.create("fourth", 2000, "spread")
    # Either may come first; only one of them fits.
    placed = team.plane.wait_until(lambda: placed_of(team.pods(), "third", "fourth"), SECONDS, "one placed")
    (other,) = {"third", "fourth"} - {placed}
    told = team.plane.wait_until(lambda: waiting(team.pods()[other]), SECONDS, f"{other} told")
    spread.start()
    team.runs(placed)

    assert told == refusal("not enough unclaimed GPU memory")
    assert {name: grant for name, grant in team.grants().items() if name != placed} == before
    assert max(team.used_mib().values()) <= GPU_MIB


def test_what_gpusched_adds_to_a_pod_reaches_the_runtime(team):
    team.create("served", 2000)
    team.plane.create(pod("plain", team.namespace, container(), nodeName="spread")).expect()
    team.runs("served")
    team.runs("plain")

    orders = [order for node in team.kubelets.values() for order in node.orders(team.namespace)]

    assert {order.pod: order.handler for order in orders if not order.container} == {
        "served": "nvidia-cdi",
        "plain": "",
    }
    env = {order.pod: order.env for order in orders if order.container}
    (device,) = team.grants()["served"].devices
    assert env["served"]["CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"] == "0=2000M"
    assert env["served"]["NVIDIA_VISIBLE_DEVICES"] == device.partition("::")[0]
    assert not [name for name in env["plain"] if "CUDA" in name or "NVIDIA" in name]


def placed_of(pods: dict[str, dict[str, Any]], *names: str) -> str | None:
    """The first of these that has a node."""
    return next((name for name in names if pods[name]["spec"].get("nodeName")), None)
