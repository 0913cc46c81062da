"""What a real kubelet refuses, and how gpusched keeps such pods away from it; what a node leaves behind: nothing."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gpusched.local.binaries import Binaries
from gpusched.local.control_plane import ControlPlane
from gpusched.local.installed import Installed
from gpusched.local.kubelet import Grant, Kubelet, Order
from tests.build import container, gfd_labels, pod, t4_node

LABELS = gfd_labels("Tesla-T4-SHARED", count=2, replicas=4)
#: Kubernetes 1.37 holds the first refusal of a young kubelet back until the status manager's tick of ten seconds.
REFUSAL_SECONDS = 60.0
WINDOW_SECONDS = 4.0
KERNEL = tuple(
    Path("/proc/sys", name)
    for name in ("vm/overcommit_memory", "vm/panic_on_oom", "kernel/panic", "kernel/panic_on_oops")
)


@pytest.fixture(scope="module")
def plane(binaries: Binaries) -> Iterator[ControlPlane]:
    with ControlPlane(binaries) as started:
        yield started


@pytest.fixture(scope="module")
def cluster(plane: ControlPlane) -> ControlPlane:
    """Namespaces and fake nodes of this module are those of its own control plane."""
    return plane


@pytest.fixture(scope="module")
def kubelet(plane: ControlPlane, kubelet_programs: dict[str, Path]) -> Iterator[Kubelet]:
    with Kubelet(plane, kubelet_programs, labels=LABELS, gpus=2, replicas=4) as node:
        yield node


def deployment(name: str, namespace: str, **spec: object) -> dict[str, object]:
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container(gpus=2)], **spec}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"replicas": 1, "selector": {"matchLabels": labels}, "template": template},
    }


def pods(plane: ControlPlane, namespace: str) -> list[dict]:
    return plane.get(f"/api/v1/namespaces/{namespace}/pods")["items"]


def phases(plane: ControlPlane, namespace: str) -> list[str]:
    return [item["status"]["phase"] for item in pods(plane, namespace)]


def remove(plane: ControlPlane, namespace: str, name: str) -> None:
    """Delete a Deployment and wait until nothing of it is left."""
    query = {"propagationPolicy": "Foreground"}
    path = f"/apis/apps/v1/namespaces/{namespace}/deployments/{name}"
    plane.request("DELETE", path, query=query).expect()
    plane.wait_until(lambda: plane.request("GET", path).status == 404 and not pods(plane, namespace), 60, name)


def test_pod_of_two_slots_fails_on_the_node_and_takes_nothing_there(plane, kubelet, namespace):
    plane.create(pod("one", namespace, nodeName="real")).expect()
    plane.create(pod("two", namespace, gpus=2, nodeName="real")).expect()

    failed = plane.wait_for(
        f"/api/v1/namespaces/{namespace}/pods/two",
        lambda tree: tree["status"] if tree["status"]["phase"] == "Failed" else None,
        REFUSAL_SECONDS,
    )
    assert failed["reason"] == "UnexpectedAdmissionError"
    assert failed["message"] == (
        "Pod was rejected: Allocate failed due to rpc error: code = Unknown desc = invalid request: "
        "maximum request size for shared resources is 1; found 2, which is unexpected"
    )
    assert kubelet.grants(namespace) == [Grant("one", "main", ("GPU-0::0",))]
    assert {order.pod for order in kubelet.orders(namespace)} == {"one"}


def test_deployment_of_such_pods_is_a_storm_without_gpusched_and_one_waiting_pod_with_it(plane, kubelet, namespace):
    plane.create(deployment("storm", namespace)).expect()
    plane.wait_until(lambda: "Failed" in phases(plane, namespace), REFUSAL_SECONDS, "a refused pod")

    # How many come in a time is what is asked here, so that there is nothing to wait for.
    before = phases(plane, namespace).count("Failed")
    time.sleep(WINDOW_SECONDS)
    assert phases(plane, namespace).count("Failed") - before >= 3 * WINDOW_SECONDS
    remove(plane, namespace, "storm")

    with Installed(plane, config={"sharing": {"timeSlicingSingle": True}}):
        answer = plane.create(deployment("calm", namespace))
        (warning,) = answer.warnings
        assert warning == (
            "gpu-shared-single: container main asks nvidia.com/gpu: 2; on shared GPUs this would fail on the node. "
            "Ask for 1."
        )
        message = plane.wait_until(lambda: unschedulable(plane, namespace), 60, "the pod judged")
        # What follows is about preemption, and differs between versions.
        assert message.partition(". ")[0] == "0/1 nodes are available: 1 shared GPUs give one slot per container"
        # Nothing more comes: the same time is long enough for a storm.
        time.sleep(WINDOW_SECONDS)
        assert phases(plane, namespace) == ["Pending"]
        assert kubelet.orders(namespace) == []
        remove(plane, namespace, "calm")


def unschedulable(plane: ControlPlane, namespace: str) -> str | None:
    """Why the only pod is not placed."""
    (only,) = pods(plane, namespace) or [{"status": {}}]
    conditions = {item["type"]: item for item in only["status"].get("conditions", ())}
    return conditions.get("PodScheduled", {}).get("message")


def test_kwok_leaves_the_node_to_its_kubelet_and_keeps_all_others(plane, kubelet, namespace, fake_nodes):
    fake_nodes([t4_node("pretended")])
    plane.create(pod("there", namespace, nodeName="pretended")).expect()
    plane.create(pod("here", namespace, nodeName="real")).expect()

    plane.wait_until(lambda: phases(plane, namespace) == ["Running", "Running"], 60, "both run")

    ids = {
        item["metadata"]["name"]: item["status"]["containerStatuses"][0].get("containerID", "").partition("://")[0]
        for item in pods(plane, namespace)
    }
    assert ids == {"here": "fakeRuntime", "there": ""}
    (sandbox, made) = kubelet.orders(namespace)
    assert sandbox == Order(namespace, "here")
    assert (made.pod, made.container, made.env["NVIDIA_VISIBLE_DEVICES"]) == ("here", "main", "GPU-0")
    taken = {item["type"]: item["status"] for item in plane.get("/api/v1/nodes/real")["status"]["conditions"]}
    assert taken == {"MemoryPressure": "False", "DiskPressure": "False", "PIDPressure": "False", "Ready": "True"}


def test_node_that_is_left_leaves_nothing(plane, kubelet_programs, watch_host):
    before = watch_host()
    with Kubelet(plane, kubelet_programs, "short", gpus=1) as node:
        assert watch_host() == before
        process = plane.children["short-kubelet"]
        mounts = Path(f"/proc/{process.pid}/mountinfo").read_text(encoding="utf-8")
        assert f"{node.name}/device-plugins /var/lib/kubelet/device-plugins " in mounts

    assert watch_host() == before
    assert not process.running
    assert not (plane.folder / "short").exists()
    assert plane.request("GET", "/api/v1/nodes/short").status == 404
    assert not [name for name in plane.children if name.startswith("short-")]


@pytest.fixture
def watch_host() -> Callable[[], dict[str, object]]:
    """What a kubelet changes on a machine where nothing keeps it from that."""

    def look() -> dict[str, object]:
        groups = [str(path) for path in Path("/sys/fs/cgroup").rglob("*kube*")]
        return {
            "kernel": [path.read_text(encoding="utf-8") for path in KERNEL],
            "mounts": Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines(),
            "folders": [Path(path).exists() for path in ("/var/lib/kubelet", "/var/log/pods", "/var/log/containers")],
            "groups": sorted(groups),
        }

    return look
