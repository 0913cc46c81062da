"""Preference among nodes and its scale."""

import pytest

from gpusched.placement.score import rank_key, scores
from gpusched.policy.model import Config
from gpusched.state.cluster import Cluster
from tests.build import Tree, a100_node, container, gfd_labels, h100_node, namespace, node, pod, t4_node
from tests.placement.scene import ask, claiming, cluster_of, own, running


def score(cluster: Cluster, tree: Tree, names: list[str] | None = None) -> dict[str, int]:
    found = scores(ask(cluster, tree), names or sorted(cluster.nodes), cluster)
    return {name: score for score, equals in found.items() for name in equals}


def used(node_name: str, gpus: int) -> Tree:
    return running(f"on-{node_name}", node_name, gpus=gpus)


@pytest.mark.parametrize(("placement", "expected"), [("pack", {"a": 0, "b": 10}), ("spread", {"a": 10, "b": 0})])
def test_pack_fills_and_spread_levels(placement: str, expected: dict[str, int]) -> None:
    cluster = cluster_of(h100_node("a"), h100_node("b"), used("b", 5), namespace("team-a", placement=placement))
    assert score(cluster, pod()) == expected


def test_scores_spread_over_the_scale() -> None:
    cluster = cluster_of(h100_node("n1"), h100_node("n4"), h100_node("n8"), used("n1", 7), used("n4", 4))
    assert score(cluster, pod()) == {"n1": 10, "n4": 5, "n8": 0}


def test_singles_leave_room_for_a_double() -> None:
    cluster = cluster_of(h100_node("x1", gpus=2), h100_node("x2", gpus=1), h100_node("x3", gpus=1))
    assert score(cluster, pod()) == {"x1": 0, "x2": 10, "x3": 10}


def test_equal_nodes_all_have_the_best_score() -> None:
    cluster = cluster_of(h100_node("a"), h100_node("b"))
    assert score(cluster, pod()) == {"a": 10, "b": 10}
    assert score(cluster, pod(), ["a"]) == {"a": 10}


def test_unknown_names_and_pods_without_gpus_score_nothing() -> None:
    cluster = cluster_of(h100_node("a"), h100_node("b"), used("a", 1))
    assert score(cluster, pod(), ["gone", "b", "a"]) == {"b": 0, "a": 10}
    assert score(cluster, pod(gpus=None), ["gone", "b"]) == {}
    assert score(cluster, pod(), ["gone"]) == {}


def test_family_preference_comes_before_waste_and_load() -> None:
    cluster = cluster_of(
        h100_node("h"),
        a100_node("a"),
        t4_node("t"),
        used("a", 7),
        namespace("team-a", families="hopper, ampere, turing"),
    )
    assert score(cluster, pod()) == {"h": 10, "a": 5, "t": 0}
    assert score(cluster, pod(annotations=own(families="turing, hopper"))) == {"h": 5, "a": 0, "t": 10}


@pytest.mark.parametrize("gpus", [2, 8])
@pytest.mark.parametrize("placement", ["pack", "spread"])
def test_several_slots_of_one_container_go_where_they_are_whole_gpus(gpus: int, placement: str) -> None:
    labels = gfd_labels("NVIDIA-A100-SXM4-80GB-MIG-1g.10gb", count=56, memory=9728, family="ampere", compute=(8, 0))
    slices = node("slices", gpus=56, labels=labels | {"nvidia.com/mig.strategy": "single"})
    shares = t4_node("shares", gpus=4, replicas=4)
    cluster = cluster_of(h100_node("whole"), slices, shares, namespace("team-a", placement=placement))
    assert score(cluster, pod(gpus=gpus))["whole"] == 10
    # One slot a container is of use wherever it is.
    two = pod("p", "team-a", container("a", gpus=1), container("b", gpus=1))
    assert score(cluster, pod(gpus=1))["whole"] == score(cluster, two)["whole"] == 0


@pytest.mark.parametrize(
    ("annotations", "expected"),
    [
        ({}, {"big": 0, "small": 10, "vague": 0}),
        (own(min_gpu_memory="20Gi"), {"big": 0, "small": 10, "vague": 0}),
    ],
)
def test_the_smallest_gpu_that_suffices_and_unknown_memory_last(
    annotations: dict[str, str], expected: dict[str, int]
) -> None:
    small = node("small", gpus=1, labels=gfd_labels("NVIDIA-L4", memory=23034, family="ada-lovelace", compute=(8, 9)))
    cluster = cluster_of(h100_node("big"), small, node("vague"), used("big", 7))
    found = score(cluster, pod(annotations=annotations))
    assert found == expected | {"big": 5}


def test_equal_cards_of_slightly_different_size_are_packed_all_the_same() -> None:
    cluster = cluster_of(
        t4_node("a", gpus=4, labels={"nvidia.com/gpu.memory": "15109"}),
        t4_node("b", gpus=4, labels={"nvidia.com/gpu.memory": "15360"}),
        used("b", 2),
    )
    assert score(cluster, pod()) == {"a": 0, "b": 10}


def test_whole_gpus_are_kept_whole() -> None:
    # Both cards of `even` may be wholly in use or wholly free; on `begun` one is begun already.
    cluster = cluster_of(
        t4_node("even", gpus=2, replicas=4), t4_node("begun", gpus=2, replicas=4), used("even", 4), used("begun", 1)
    )
    assert score(cluster, pod()) == {"begun": 10, "even": 0}


@pytest.mark.parametrize(("placement", "best"), [("pack", "n2"), ("spread", "n1")])
def test_load_counts_claimed_memory(placement: str, best: str) -> None:
    labels = gfd_labels("NVIDIA-L4", memory=23034, replicas=8, family="ada-lovelace", compute=(8, 9))
    holders = [
        running("r1", "n1", annotations=claiming("1000Mi")),
        running("r2", "n1", annotations=claiming("1000Mi")),
        running("r3", "n2", annotations=claiming("15000Mi")),
    ]
    policy = namespace("team-a", placement=placement)
    cluster = cluster_of(
        node("n1", gpus=8, labels=labels),
        node("n2", gpus=8, labels=labels),
        policy,
        *holders,
        config=Config(claim_reserve=0),
    )
    found = score(cluster, pod(annotations=claiming("4000Mi")))
    assert sorted(found.values()) == [0, 10]
    assert found[best] == 10


def test_more_ranks_than_levels_keep_families_apart() -> None:
    nodes = [h100_node(f"h{turn:02d}", gpus=16) for turn in range(14)]
    nodes += [a100_node(f"a{turn:02d}", gpus=16) for turn in range(14)]
    holders = [used(tree["metadata"]["name"], turn % 14) for turn, tree in enumerate(nodes) if turn % 14]
    cluster = cluster_of(*nodes, *holders, namespace("team-a", families="hopper, ampere"))
    found = score(cluster, pod())
    assert set(found.values()) == set(range(11))
    assert min(value for name, value in found.items() if name[0] == "h") > max(
        value for name, value in found.items() if name[0] == "a"
    )
    request = ask(cluster, pod())
    ordered = sorted(found, key=lambda name: rank_key(request, cluster.nodes[name]))
    assert [found[name] for name in ordered] == sorted(found.values(), reverse=True)
    assert found["h13"] == 10


def test_scores_do_not_depend_on_the_order_of_names() -> None:
    cluster = cluster_of(h100_node("a"), h100_node("b"), t4_node("c"), used("b", 3))
    forth, back = score(cluster, pod(), ["a", "b", "c"]), score(cluster, pod(), ["c", "b", "a"])
    assert forth == back
    assert list(back) == ["c", "b", "a"]
