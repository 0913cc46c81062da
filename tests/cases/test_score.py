"""Preferences among nodes that came out wrong, as met in public trackers."""

import pytest

from tests.build import Tree, bound, gfd_labels, h100_node, node, pod
from tests.cases.trial import cluster_of, prioritized, refused, simulated, world_of

SHARED = "nvidia.com/gpu.shared"


def _with_free(free: dict[str, int]) -> list[Tree]:
    """Nodes of eight cards with this many free."""
    trees: list[Tree] = []
    for name, count in free.items():
        trees.append(h100_node(name))
        if count < 8:
            trees.append(bound(pod(f"on-{name}", gpus=8 - count), name))
    return trees


def _placed(placement: str) -> Tree:
    return pod(annotations={"gpusched.io/placement": placement})


@pytest.mark.parametrize(("placement", "best"), [("pack", "fuller"), ("spread", "empty")])
def test_sc_02_pack_takes_the_fuller_node_and_spread_the_empty_one(placement: str, best: str) -> None:
    """Project-HAMi/HAMi#1146: packing preferred the empty node."""
    cluster = cluster_of(*_with_free({"empty": 8, "fuller": 3}))
    found = prioritized(_placed(placement), cluster)
    assert found == {"empty": 0, "fuller": 0} | {best: 10}


def test_sc_04_single_gpus_leave_the_pair_alone() -> None:
    """kubernetes-sigs/kueue#4474: the pod of two found no node because singles had split the pair."""
    world = world_of(*_with_free({"x1": 2, "x2": 1, "x3": 1}))
    views = simulated(pod("first"), pod("second"), pod("double", gpus=2), on=world)
    nodes = [view.placement.node if view.placement else None for view in views]
    assert (set(nodes[:2]), nodes[2]) == ({"x2", "x3"}, "x1")


@pytest.mark.parametrize(
    ("placement", "ranking"), [("pack", ["one", "four", "all"]), ("spread", ["all", "four", "one"])]
)
def test_sc_06_scores_are_integers_from_zero_to_ten(placement: str, ranking: list[str]) -> None:
    """kubernetes/kubernetes#83490, #81281, storageos/cluster-operator#338: other scales distort or vanish."""
    found = prioritized(_placed(placement), cluster_of(*_with_free({"all": 8, "four": 4, "one": 1})))
    assert all(type(score) is int and 0 <= score <= 10 for score in found.values())
    assert sorted(found, key=found.__getitem__, reverse=True) == ranking
    assert len(set(found.values())) == 3


def test_sc_08_a_claim_on_a_shared_resource_is_scored_too() -> None:
    """koordinator-sh/koordinator#2507: a kind of request that the scoring did not know gave zero everywhere."""
    labels = gfd_labels("NVIDIA-L40S", memory=46068, replicas=8, compute=(8, 9), family="ada-lovelace")
    nodes = [node(name, gpus=8, resource=SHARED, labels=labels) for name in ("roomy", "tight")]
    held = [
        bound(pod(name, resource=SHARED, annotations={"gpusched.io/gpu-memory": claim}), name)
        for name, claim in (("roomy", "22Gi"), ("tight", "36Gi"))
    ]
    cluster = cluster_of(*nodes, *held)
    asking = pod(resource=SHARED, annotations={"gpusched.io/gpu-memory": "4000Mi"})
    assert refused(asking, cluster) == {}
    assert prioritized(asking, cluster) == {"roomy": 0, "tight": 10}
