"""Which nodes come nearest to taking a pod, and what their GPUs say of it."""

import pytest

from gpusched.core.codes import Reason
from gpusched.core.read_pod import read_pod
from gpusched.placement.allowance import quota_use_of
from gpusched.serve.explaining.nearest import SAMPLE, Verdict, judged, sample
from gpusched.simulate.manifest import Manifest
from gpusched.simulate.reasons.stored_pod import as_stored
from gpusched.simulate.world import World
from gpusched.state.cluster import Cluster
from tests.build import Tree, h100_node, namespace, node, pod, t4_node
from tests.placement.scene import ask as request
from tests.placement.scene import cluster_of, own, promise, running, see
from tests.serve.explaining.scene import asking


def verdicts(cluster: Cluster, tree: Tree) -> dict[str, Verdict]:
    world = World(cluster.config)
    world.cluster = cluster
    found = read_pod(tree, [])
    _, candidate = as_stored(Manifest("", tree, "Pod", found.name, found.namespace), world)
    use = None if candidate.request is None else quota_use_of(candidate.request, cluster)
    return dict(judged(candidate, cluster, use))


@pytest.mark.parametrize(
    ("tree", "reason"),
    [
        (pod(), None),
        (pod(gpus=5), Reason.NATIVE_RESOURCES),
        (pod(annotations=own(families="hopper")), Reason.FAMILY),
        (pod(annotations=own(gpu_memory="14Gi")), Reason.MEMORY_CLAIM),
        (pod(nodeSelector={"disk": "ssd"}), Reason.NATIVE_AFFINITY),
        (pod(namespace="team-q"), Reason.QUOTA),
        (asking(pod(), "100k"), Reason.NATIVE_RESOURCES),
        (pod(gpus=None), None),
    ],
    ids=["fits", "slots", "family", "claim", "selector", "quota", "processors", "no GPU"],
)
def test_what_a_node_says(tree: Tree, reason: Reason | None) -> None:
    holds = running("holds", "t4", annotations=own(gpu_memory="10Gi"))
    cluster = cluster_of(t4_node(replicas=4), namespace("team-q", quota="*=0"), holds)
    assert verdicts(cluster, tree)["t4"].reason is reason


def test_what_was_promised_to_the_pod_is_its_own() -> None:
    cluster = cluster_of(t4_node())
    promise(cluster, "t4", request(cluster, pod()))
    assert verdicts(cluster, pod())["t4"].reason is None
    assert verdicts(cluster, pod("other"))["t4"].reason is Reason.NATIVE_RESOURCES


def test_nodes_with_more_left_come_first() -> None:
    """Of hundreds of nodes that lack the same, a suggestion rests on the best."""
    cluster = cluster_of(*(h100_node(f"h{index:03}", gpus=2) for index in range(100)))
    see(cluster, h100_node("zz", gpus=7))
    found = verdicts(cluster, pod(gpus=8))
    assert sample(found, cluster)[0] == "zz"

    claims = cluster_of(*(t4_node(f"t{index:03}", gpus=4, replicas=4) for index in range(100)))
    for index in range(99):
        for slot in range(4):
            holds = running(f"r{index}-{slot}", f"t{index:03}", annotations=own(gpu_memory=f"{11 - index % 5}Gi"))
            see(claims, holds)
    see(claims, running("small", "t099", annotations=own(gpu_memory="5Gi")))
    assert sample(verdicts(claims, pod(annotations=own(gpu_memory="13Gi"))), claims)[0] == "t099"


def test_nodes_of_the_right_kind_come_before_those_with_room() -> None:
    rooms = [t4_node(f"a{index}", gpus=7) for index in range(30)]
    cluster = cluster_of(*rooms, node("cpu", gpus=None), h100_node("right", gpus=1))
    found = verdicts(cluster, pod(gpus=8, annotations=own(families="hopper")))
    assert found["a0"].reason is found["right"].reason is Reason.NATIVE_RESOURCES
    assert sample(found, cluster)[0] == "right"


def test_some_of_every_reason_and_unlike_ones_first() -> None:
    taints = [[{"key": key, "effect": "NoSchedule"}] for key in "abc"]
    cordoned = [h100_node(f"h{index:02}", unschedulable=True) for index in range(50)]
    tainted = [t4_node(f"t{index:02}", taints=taints[index % 3]) for index in range(50)]
    cluster = cluster_of(*cordoned, *tainted)
    chosen = sample(verdicts(cluster, pod()), cluster)
    assert len(chosen) == SAMPLE
    assert chosen[:6] == ["t00", "h00", "t01", "h01", "t02", "h02"]
