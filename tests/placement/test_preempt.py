"""Nodes worth evicting pods for."""

import pytest

from gpusched.placement.preempt import preempt
from tests.build import a100_node, h100_node, namespace, pod, t4_node
from tests.placement.scene import ask, claiming, cluster_of, running


def uid(name: str, team: str = "team-a") -> str:
    return f"uid-{team}-{name}"


@pytest.mark.parametrize(
    ("victims", "kept"),
    [
        ({"h": ["r1"]}, ["h"]),
        ({"h": ["r1"], "a": ["r3"]}, ["h"]),
        ({"a": ["r3", "r4"]}, []),
        ({"h": []}, []),
        ({"h": ["cpu-pod"]}, []),
        ({"gone": ["r1"]}, []),
        ({}, []),
    ],
)
def test_kept_if_the_pod_fits_once_the_victims_are_gone(victims: dict[str, list[str]], kept: list[str]) -> None:
    cluster = cluster_of(
        h100_node("h", gpus=2),
        a100_node("a", gpus=2),
        running("r1", "h"),
        running("r2", "h"),
        running("r3", "a"),
        running("r4", "a"),
        namespace("team-a", families="hopper"),
    )
    offered = {name: [uid(victim) for victim in names] for name, names in victims.items()}
    assert preempt(ask(cluster, pod()), offered, cluster) == {name: offered[name] for name in kept}


@pytest.mark.parametrize(("victim", "team", "kept"), [("r1", "team-a", True), ("r2", "team-b", False)])
def test_quota_is_freed_by_victims_of_the_same_namespace_alone(victim: str, team: str, kept: bool) -> None:
    cluster = cluster_of(
        h100_node("h", gpus=2),
        running("r1", "h"),
        running("r2", "h", namespace="team-b"),
        namespace("team-a", quota="hopper=1", quota_gpu_memory="100Gi"),
    )
    offered = {"h": [uid(victim, team)]}
    assert preempt(ask(cluster, pod()), offered, cluster) == (offered if kept else {})


@pytest.mark.parametrize(("claim", "kept"), [("10Gi", True), ("11Gi", False)])
def test_claims_must_hold_afterwards(claim: str, kept: bool) -> None:
    cluster = cluster_of(
        t4_node("t", replicas=4),
        running("big", "t", annotations=claiming("9Gi")),
        running("rest", "t", annotations=claiming("4Gi")),
    )
    offered = {"t": [uid("big")]}
    assert preempt(ask(cluster, pod(annotations=claiming(claim))), offered, cluster) == (offered if kept else {})
