"""Fewer candidates for the scheduler."""

import pytest

from gpusched.placement.candidates import candidates
from gpusched.state.cluster import Cluster
from tests.build import Tree, h100_node, node, pod
from tests.placement.scene import ask, cluster_of, running

NAMES = ["n5", "n3", "n1", "n4", "n2", "n0"]


def fleet(zones: str = "", used: str = "543210") -> Cluster:
    """Nodes n0 to n5 with falling use, so that n0 is the best for one GPU; `zones` gives a letter for each."""
    nodes: list[Tree] = []
    for turn, taken in enumerate(used):
        labels = {"topology.kubernetes.io/zone": zones[turn]} if zones else {}
        nodes.append(h100_node(f"n{turn}", labels=labels))
        if taken != "0":
            nodes.append(running(f"r{turn}", f"n{turn}", gpus=int(taken)))
    return cluster_of(*nodes)


@pytest.mark.parametrize(
    ("n", "zones", "used", "expected"),
    [
        (0, "", "543210", NAMES),
        (6, "", "543210", NAMES),
        (9, "", "543210", NAMES),
        (2, "", "543210", ["n1", "n0"]),
        (2, "", "544410", ["n3", "n1", "n2", "n0"]),
        (1, "", "333333", NAMES),
        (2, "aabbcc", "543210", ["n1", "n4", "n2", "n0"]),
        (1, "aaabbb", "543333", ["n5", "n3", "n4", "n0"]),
    ],
)
def test_the_best_few_in_the_order_given(n: int, zones: str, used: str, expected: list[str]) -> None:
    cluster = fleet(zones, used)
    assert candidates(ask(cluster, pod()), NAMES, cluster, n, retry=False) == expected


def test_a_retry_gets_all_nodes() -> None:
    cluster = fleet()
    assert candidates(ask(cluster, pod()), NAMES, cluster, 1, retry=True) == NAMES


def test_a_pod_with_soft_preferences_gets_all_nodes() -> None:
    term = {"weight": 1, "preference": {"matchExpressions": [{"key": "a", "operator": "Exists"}]}}
    soft = pod(affinity={"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [term]}})
    cluster = fleet()
    assert candidates(ask(cluster, soft), NAMES, cluster, 1, retry=False) == NAMES


def test_a_pod_without_gpus_gets_all_nodes() -> None:
    cluster = cluster_of(node("a", gpus=None), node("b", gpus=None))
    assert candidates(ask(cluster, pod(gpus=None)), ["b", "a"], cluster, 1, retry=False) == ["b", "a"]
