"""What was found for one pod serves those that ask the same, and no others."""

import pytest

from gpusched.placement.filter import filter_nodes
from gpusched.placement.score import scores
from gpusched.placement.shape import shape_of
from gpusched.state.cluster import Cluster
from tests.build import Tree, h100_node, namespace, pod, t4_node
from tests.placement.scene import ask, claiming, cluster_of, promise, see

NAMES = ["h100", "t4"]


def small() -> Cluster:
    return cluster_of(h100_node("h100"), t4_node("t4", replicas=4), namespace("team-a", families="turing"))


def test_pods_that_ask_the_same_have_one_shape() -> None:
    cluster = small()
    assert shape_of(ask(cluster, pod("a")), cluster) is shape_of(ask(cluster, pod("b")), cluster)


@pytest.mark.parametrize(
    "other", [pod(gpus=2), pod(namespace="team-b"), pod(annotations=claiming("1Gi")), pod(resource="amd.com/gpu")]
)
def test_pods_that_ask_otherwise_have_shapes_of_their_own(other: Tree) -> None:
    cluster = small()
    assert shape_of(ask(cluster, pod()), cluster) is not shape_of(ask(cluster, other), cluster)


def test_another_policy_makes_another_shape() -> None:
    cluster = small()
    assert filter_nodes(ask(cluster, pod()), NAMES, cluster).fits == ["t4"]
    see(cluster, namespace("team-a", families="hopper"))
    assert filter_nodes(ask(cluster, pod()), NAMES, cluster).fits == ["h100"]


def test_nodes_in_use_are_judged_by_what_is_left() -> None:
    cluster = small()
    for turn in range(4):
        request = ask(cluster, pod(f"p{turn}"))
        assert filter_nodes(request, NAMES, cluster).fits == ["t4"]
        promise(cluster, "t4", request)
    assert filter_nodes(ask(cluster, pod("late")), NAMES, cluster).fits == []
    # The pod's own promise is of nobody else's shape.
    assert filter_nodes(ask(cluster, pod("p3")), NAMES, cluster).fits == ["t4"]
    assert filter_nodes(ask(cluster, pod("late")), NAMES, cluster).fits == []


def test_quota_is_counted_each_time() -> None:
    cluster = cluster_of(h100_node("h100"), namespace("team-a", quota="hopper=1"))
    assert filter_nodes(ask(cluster, pod("a")), NAMES[:1], cluster).fits == ["h100"]
    promise(cluster, "h100", ask(cluster, pod("a")))
    assert filter_nodes(ask(cluster, pod("b")), NAMES[:1], cluster).fits == []
    cluster.release(ask(cluster, pod("a")).uid)
    assert filter_nodes(ask(cluster, pod("b")), NAMES[:1], cluster).fits == ["h100"]


def test_shapes_do_not_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpusched.placement.shape._SHAPES", 2)
    monkeypatch.setattr("gpusched.placement.shape._NODES", 2)
    cluster = small()
    expected = scores(ask(cluster, pod()), NAMES, cluster)
    for gpus in (1, 2, 3, 4, 1):
        filter_nodes(ask(cluster, pod(gpus=gpus)), NAMES, cluster)
        assert len(cluster.shapes) <= 2
        assert len(shape_of(ask(cluster, pod(gpus=gpus)), cluster).reasons) < 3

    assert scores(ask(cluster, pod()), NAMES, cluster) == expected
