"""Books of GPUs that went wrong, as met in public trackers."""

from collections.abc import Callable

import msgspec
import pytest

from gpusched.core.demand import demand
from gpusched.core.pod import Pod
from gpusched.core.read_pod import read_pod
from gpusched.core.resources import GpuResources
from gpusched.core.usage import Holder, PoolUse
from gpusched.state.cluster import Cluster
from gpusched.state.events import Event, Gone, Kind, Replace, Upsert
from tests.build import Tree, bound, container, h100_node, pod
from tests.cases.trial import cluster_of, fitting, reasons, simulated, world_of

GPU = "nvidia.com/gpu"


def _seen(tree: Tree) -> Pod:
    return read_pod(tree, [])


def _used(cluster: Cluster, node: str = "n1") -> int:
    return cluster.nodes[node].use(GPU).used


def _per_container(tree: Tree) -> tuple[dict[str, int], list[tuple[str, int]]]:
    asked = demand(_seen(tree), GpuResources(), None)
    return dict(asked.slots), [(item.name, item.slots[GPU]) for item in asked.containers]


@pytest.mark.parametrize(
    "event",
    [
        Gone(Kind.POD, "u1"),
        Replace(Kind.POD, ()),
        Upsert(_seen(bound(pod("a", gpus=8), "n1", uid="u1", phase="Failed"))),
    ],
    ids=["deleted", "missing from a list", "finished"],
)
def test_ba_01_a_pod_that_is_gone_frees_its_gpus(event: Event) -> None:
    """Project-HAMi/HAMi#2923, #1458, #594: the replacement waited until the extender was restarted."""
    cluster = cluster_of(h100_node("n1"), bound(pod("a", gpus=8), "n1", uid="u1"))
    assert fitting(pod("b", gpus=8), cluster) == []
    cluster.apply(event)
    assert _used(cluster) == 0
    assert fitting(pod("b", gpus=8), cluster) == ["n1"]


def test_ba_03_a_crash_looping_pod_keeps_its_gpu() -> None:
    """NVIDIA/k8s-device-plugin#328: between restarts the GPU looked free."""
    tree = bound(pod("a"), "n1")
    waiting = {"name": "main", "ready": False, "restartCount": 7, "state": {"waiting": {"reason": "CrashLoopBackOff"}}}
    tree["status"]["containerStatuses"] = [waiting]
    assert _used(cluster_of(h100_node("n1"), tree)) == 1


def test_ba_07_the_demand_of_each_container_is_kept() -> None:
    """AliyunContainerService/gpushare-scheduler-extender#143, #185: only the sum of the pod was recorded."""
    tree = pod("p", "team-a", container("c1", gpus=1), container("c2", gpus=2))
    assert _per_container(tree) == ({GPU: 3}, [("c1", 1), ("c2", 2)])


@pytest.mark.parametrize(
    "follow",
    [
        lambda new: [Gone(Kind.POD, "u1"), Upsert(new)],
        lambda new: [Upsert(new), Gone(Kind.POD, "u1")],
        lambda new: [Replace(Kind.POD, (new,))],
    ],
    ids=["deleted first", "deleted late", "listed anew"],
)
def test_ba_09_a_recreated_pod_is_another_pod(follow: Callable[[Pod], list[Event]]) -> None:
    """kubernetes/kubernetes#85726, #91126, #141255: a StatefulSet's pod comes back under the same name."""
    cluster = cluster_of(h100_node("n1"), bound(pod("x-0", gpus=8), "n1", uid="u1"))
    new = pod("x-0", gpus=8)
    new["metadata"]["uid"] = "u2"
    for event in follow(_seen(new)):
        cluster.apply(event)
    assert (set(cluster.pods), _used(cluster)) == ({"u2"}, 0)
    cluster.apply(Upsert(_seen(bound(new, "n1", uid="u2"))))
    assert _used(cluster) == 8
    cluster.apply(Gone(Kind.POD, "u1"))
    assert _used(cluster) == 8


def test_ba_11_the_order_of_init_containers_and_sidecars_counts() -> None:
    """kubernetes/kubernetes#134880: a sidecar that is up already runs beside the init containers after it."""
    tree = pod(
        "p",
        "team-a",
        container("c1", gpus=1),
        initContainers=[
            container("ic1", gpus=1),
            container("side", gpus=1, restartPolicy="Always"),
            container("ic2", gpus=2),
        ],
    )
    assert _per_container(tree)[0] == {GPU: 3}
    (small,) = simulated(tree, on=world_of(h100_node("n1", gpus=2)))
    assert reasons(small) == {"native-resources": 1}
    (view,) = simulated(tree, on=world_of(h100_node("n1", gpus=3)))
    assert view.placement is not None
    assert view.placement.resources == {GPU: 3}


def test_ba_13_a_copied_request_of_an_init_container_is_not_added() -> None:
    """ray-project/kuberay#1414: the wait container got the worker's request, the record listed one of the two."""
    waiting = container("wait-gcs-ready", gpus=1)
    tree = pod("p", "team-a", container("ray-worker", gpus=1), initContainers=[waiting])
    slots, containers = _per_container(tree)
    assert slots == {GPU: 1}
    assert sorted(containers) == [("ray-worker", 1), ("wait-gcs-ready", 1)]
    assert fitting(tree, cluster_of(h100_node("n1", gpus=1))) == ["n1"]


PROMISE = Holder(namespace="team-a", name="a", slots={GPU: 8})


def test_ba_15_a_promise_locks_nothing_and_dies_with_its_process() -> None:
    """Project-HAMi/HAMi#1130, #338, #1577: a lock annotation left by a crash kept the node shut for minutes."""
    nodes = [h100_node("n1"), h100_node("n2")]
    cluster = cluster_of(*nodes)
    cluster.reserve("n1", "u1", msgspec.structs.replace(PROMISE, slots={GPU: 6}))
    assert fitting(pod("b", gpus=2), cluster) == ["n1", "n2"]
    assert fitting(pod("b", gpus=8), cluster) == ["n2"]
    restarted = cluster_of(*nodes)
    assert fitting(pod("b", gpus=8), restarted) == ["n1", "n2"]


def test_ba_17_a_pod_that_the_kubelet_refused_counts_nothing() -> None:
    """kubernetes/kubernetes#130145, #125579: force-deleted pods, and those that fail with UnexpectedAdmissionError.

    A pod that is gone from the API is free at once; one that is still terminating holds its GPUs.
    """
    failed = bound(pod("failed", gpus=8), "n1", phase="Failed")
    failed["status"]["reason"] = "UnexpectedAdmissionError"
    assert _used(cluster_of(h100_node("n1"), failed)) == 0
    terminating = bound(pod("going", gpus=8), "n1", uid="u1")
    terminating["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    cluster = cluster_of(h100_node("n1"), terminating)
    assert _used(cluster) == 8
    cluster.apply(Gone(Kind.POD, "u1"))
    assert _used(cluster) == 0


def test_ba_19_a_promise_is_taken_back_once() -> None:
    """NexusGPU/tensor-fusion#479: a failed bind was rolled back twice and a GPU was lost for good."""
    cluster = cluster_of(h100_node("n1"), bound(pod("other", gpus=0), "n1"))
    start = cluster.nodes["n1"].use(GPU)
    assert start == PoolUse()
    cluster.reserve("n1", "u1", PROMISE)
    cluster.reserve("n1", "u1", PROMISE)
    assert _used(cluster) == 8
    for _ in range(2):
        cluster.release("u1")
        assert cluster.nodes["n1"].use(GPU) == start
    cluster.apply(Gone(Kind.POD, "u1"))
    assert cluster.nodes["n1"].use(GPU) == start
