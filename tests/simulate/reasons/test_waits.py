from typing import Any

import pytest

from gpusched.simulate.reasons import waits
from gpusched.simulate.reasons.waits import Waits
from gpusched.simulate.reasons.why import Why, why_standing
from gpusched.simulate.world import World
from tests.build import Tree, bound, h100_node, namespace, pod, t4_node
from tests.placement.scene import gated
from tests.simulate.scene import manifest, owned, world_of

CLUSTER = [t4_node("t", gpus=2), bound(pod("old", gpus=2, labels={"app": "x"}), "t")]
AGAINST = {
    "podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"index": "1"}}}
        ]
    }
}


def waiting(number: int, **extra: Any) -> Tree:
    """A pod of a Job as its controller makes it: with an index, and a volume of its own."""
    tree = pod(f"p-{number}", labels={"index": str(number)}, **extra)
    tree["metadata"]["uid"] = f"uid-{number}"
    tree["spec"]["volumes"] = [{"name": f"kube-api-access-{number}", "projected": {}}]
    return owned(tree, "Job", "p")


def answers(world: World, *trees: Tree, counted: pytest.MonkeyPatch) -> tuple[list[Why], int]:
    """What is said of each, and how many explanations that took."""
    asked: list[str] = []

    def explain(planned: Any, *rest: Any) -> Any:
        asked.append(planned.name)
        return original(planned, *rest)

    original = waits.explain_fully
    counted.setattr(waits, "explain_fully", explain)
    shared = Waits(world)
    return [why_standing(manifest(tree), world, shared) for tree in trees], len(asked)


@pytest.mark.parametrize(
    ("trees", "number"),
    [
        ([waiting(1), waiting(2), waiting(3)], 1),
        ([waiting(1), waiting(2, gpus=2)], 2),
        ([waiting(1), waiting(2, annotations={"gpusched.io/families": "turing"})], 2),
        ([waiting(1), waiting(2, annotations={"example.com/index": "2"})], 1),
        ([waiting(1), waiting(2, nodeSelector={"zone": "a"})], 2),
        ([waiting(1), owned(pod("other", labels={"index": "7"}), "StatefulSet", "other")], 2),
    ],
)
def test_pods_that_are_alike_are_explained_once(
    trees: list[Tree], number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = world_of(*CLUSTER, *trees)
    found, explained = answers(world, *trees, counted=monkeypatch)

    assert explained == number
    assert found == [why_standing(manifest(tree), world) for tree in trees]


def test_labels_count_where_rules_of_running_pods_ask_for_them(monkeypatch: pytest.MonkeyPatch) -> None:
    trees = [waiting(1), waiting(2), waiting(3)]
    world = world_of(t4_node("t", gpus=3), bound(pod("old", affinity=AGAINST), "t"), *trees)
    found, explained = answers(world, *trees, counted=monkeypatch)

    assert explained == 1
    assert [answer.explanation is None for answer in found] == [False, True, True]
    assert found == [why_standing(manifest(tree), world) for tree in trees]


def test_a_quota_is_judged_for_each_pod(monkeypatch: pytest.MonkeyPatch) -> None:
    trees = [waiting(number) for number in (1, 2)]
    world = world_of(*CLUSTER, namespace(quota="*=3"), *trees)
    found, explained = answers(world, *trees, counted=monkeypatch)

    assert explained == 2
    assert found == [why_standing(manifest(tree), world) for tree in trees]


def test_the_line_of_a_quota_is_walked_once() -> None:
    trees = [gated("a"), gated("b", gpus=9), gated("c")]
    world = world_of(*CLUSTER, namespace(quota="*=2"), *trees)
    shared = Waits(world)

    lines = [why_standing(manifest(tree), world, shared).line for tree in trees]
    assert lines == [
        "place 1 in the line of namespace team-a; slots held by old",
        (
            "it asks for 9 GPUs of a quota of *=2 in namespace team-a and never goes: ask for 2 or less; besides, no"
            " node would take it: not enough nvidia.com/gpu: asks for 9, none free"
        ),
        "place 3 in the line of namespace team-a; slots held by old",
    ]


@pytest.mark.parametrize(
    ("policy", "families", "said"),
    [
        (
            {"quota": "turing=6"},
            "turing",
            "7 turing of a quota of turing=6 in namespace team-a and never goes: ask for 6 or less",
        ),
        (
            {"quota": "turing=0"},
            "turing",
            "7 turing of a quota of turing=0 in namespace team-a and never goes: it allows none",
        ),
        (
            {"quota": "turing=4,hopper=6"},
            "turing,hopper",
            (
                "7 hopper of a quota of hopper=6 or 7 turing of a quota of turing=4 in namespace team-a and never goes:"
                " ask for 6 or less"
            ),
        ),
        (
            {"quota_gpu_memory": "8Gi"},
            "turing",
            "14Gi of GPU memory of a quota of 8Gi in namespace team-a and never goes: ask for 8Gi or less",
        ),
        (
            {"quota": "*=6", "quota_gpu_memory": "8Gi"},
            "turing",
            (
                "7 GPUs of a quota of *=6 and 14Gi of GPU memory of a quota of 8Gi in namespace team-a and never goes:"
                " ask for less"
            ),
        ),
    ],
)
def test_a_pod_larger_than_the_quota_is_told_by_how_much(policy: dict[str, str], families: str, said: str) -> None:
    annotations = {"gpusched.io/families": families, "gpusched.io/gpu-memory": "2Gi"}
    tree = gated("big", gpus=7, annotations=annotations)
    world = world_of(t4_node("t", gpus=8), h100_node("h", gpus=8), namespace(**policy), tree)

    assert why_standing(manifest(tree), world).line == f"it asks for {said}"


@pytest.mark.parametrize(
    ("annotations", "besides"),
    [
        ({"gpusched.io/products": "a100"}, "; besides, no node would take it: pod asks for a100; here: t4"),
        ({"gpusched.io/products": "t4"}, ""),
        ({}, ""),
    ],
    ids=["product", "busy", "free"],
)
def test_what_keeps_a_gated_pod_from_every_node_is_told_besides_its_place(annotations: Tree, besides: str) -> None:
    tree = gated("p", annotations=annotations)
    world = world_of(*CLUSTER, namespace(quota="*=2"), tree)
    line = why_standing(manifest(tree), world).line

    assert line == f"place 1 in the line of namespace team-a; slots held by old{besides}"
