from typing import Any

import pytest

from gpusched.simulate.reasons.explain import Explanation, explain_fully
from gpusched.simulate.result import ReasonView
from tests.build import Tree, bound, container, h100_node, namespace, pod, t4_node
from tests.simulate.scene import cpu_node, cpu_pod, owned, simulate


def explained(cluster: list[Tree], tree: Tree) -> Explanation:
    simulation = simulate(cluster, tree)
    (outcome,) = simulation.outcomes
    assert outcome.candidate is not None
    return explain_fully(outcome.planned, outcome.candidate, simulation.world)


def reasons(cluster: list[Tree], tree: Tree) -> list[tuple[str, str, int]]:
    return [(item.code, item.message, item.nodes) for item in explained(cluster, tree).view.reasons]


def _taint(key: str, value: str = "") -> dict[str, Any]:
    return {"taints": [{"key": key, "value": value, "effect": "NoSchedule"}]}


@pytest.mark.parametrize(
    ("cluster", "tree", "expected"),
    [
        (
            [t4_node("a", **_taint("x")), t4_node("b", **_taint("y", "1")), t4_node("c", **_taint("x"))],
            pod("p"),
            [("native-taint", "taint x:NoSchedule, y=1:NoSchedule are not tolerated", 3)],
        ),
        (
            [cpu_node("a", allocatable={"cpu": "1", "memory": "1Gi"}), cpu_node("b", allocatable={"cpu": "1"})],
            pod("p", "team-a", {"name": "c", "resources": {"requests": {"cpu": "2", "memory": "2Gi"}}}),
            [
                (
                    "native-resources",
                    (
                        "not enough cpu: asks for 2, at most 1 of 1 free; "
                        "not enough memory: asks for 2Gi, 1Gi of 1Gi free (on 1 of them)"
                    ),
                    2,
                )
            ],
        ),
        ([t4_node("a", unschedulable=True)], pod("p"), [("native-unschedulable", "a is cordoned", 1)]),
        (
            [t4_node("a", unschedulable=True), t4_node("b", unschedulable=True)],
            pod("p"),
            [("native-unschedulable", "nodes are cordoned", 2)],
        ),
        (
            [t4_node("a"), namespace(families="hopper, ampere")],
            pod("p"),
            [("family", "team-a allows hopper, ampere; here: turing", 1)],
        ),
        (
            [t4_node("a"), namespace(families="hopper, turing")],
            pod("p", annotations={"gpusched.io/families": "hopper"}),
            [("family", "pod asks for hopper; here: turing", 1)],
        ),
        (
            [t4_node("a")],
            pod("p", annotations={"gpusched.io/min-gpu-memory": "20Gi", "gpusched.io/max-gpu-memory": "30Gi"}),
            [("memory", "pod asks for at least 20Gi; largest here: 15Gi", 1)],
        ),
        (
            [t4_node("a", replicas=2)],
            pod("p", annotations={"gpusched.io/sharing": "none, mig"}),
            [("sharing", "pod asks for mig, none; here: time-slicing", 1)],
        ),
        (
            [t4_node("a")],
            pod("p", annotations={"gpusched.io/products": "a100, h100"}),
            [("product", "pod asks for a100, h100; here: t4", 1)],
        ),
        (
            [t4_node("a", gpus=2, replicas=4)],
            pod("p", annotations={"gpusched.io/gpu-memory": "6Gi"}),
            [("memory-claim", "3648Mi left for a claim per slot", 1)],
        ),
        (
            [t4_node("a", gpus=2, replicas=4), t4_node("b", gpus=2, replicas=4)],
            pod("p", annotations={"gpusched.io/gpu-memory": "6Gi"}),
            [("memory-claim", "at most 3648Mi left for a claim per slot", 2)],
        ),
    ],
)
def test_reasons_in_words_about_this_pod(cluster: list[Tree], tree: Tree, expected: list[tuple[str, str, int]]) -> None:
    assert reasons(cluster, tree) == expected


def test_the_reason_of_the_nearest_node_comes_first_and_nodes_that_offer_nothing_last() -> None:
    cluster = [
        t4_node("a", unschedulable=True),
        t4_node("b", **_taint("x")),
        t4_node("c", **_taint("x")),
        cpu_node("d"),
        cpu_node("e"),
        cpu_node("f", **_taint("x")),
    ]

    assert [code for code, _, _ in reasons(cluster, pod("p"))] == [
        "native-taint",
        "native-unschedulable",
        "no-resource",
    ]


@pytest.mark.parametrize(
    ("other", "selector", "nearest"),
    [
        ({}, {}, "b"),
        ({}, {"disk": "ssd"}, "b"),
        (_taint("x"), {"disk": "ssd"}, "b"),
        (_taint("node.kubernetes.io/not-ready"), {}, "a"),
    ],
)
def test_a_cordoned_node_is_as_far_as_all_that_it_lacks(
    other: dict[str, Any], selector: dict[str, str], nearest: str
) -> None:
    # Nothing helps against that, so the nearest node is not the one of a suggestion.
    asking = container(resources={"limits": {"nvidia.com/gpu": 1, "example.com/fpga": 1}})
    cluster = [t4_node("a", unschedulable=True), t4_node("b", **other)]

    assert explained(cluster, pod("p", "team-a", asking, nodeSelector=selector)).nearest == nearest


def test_what_a_cordoned_node_lacks_besides_is_told() -> None:
    daemon = owned(bound(pod("d"), "a"), "DaemonSet", "d")
    found = explained([t4_node("a", unschedulable=True), daemon], pod("p"))

    assert (found.nearest, found.nearest_lacks) == (
        "a",
        "a is cordoned; besides, not enough nvidia.com/gpu: asks for 1, none free",
    )


def test_the_nearest_node_is_the_one_with_the_most_left() -> None:
    claim = {"gpusched.io/gpu-memory": "12Gi"}
    cluster = [
        h100_node("a", **_taint("node.kubernetes.io/disk-pressure")),
        t4_node("b", replicas=4),
        t4_node("c", replicas=4),
        bound(owned(pod("old-b", annotations={"gpusched.io/gpu-memory": "6Gi"}), "DaemonSet", "ds"), "b"),
        bound(owned(pod("old-c", annotations={"gpusched.io/gpu-memory": "4Gi"}), "DaemonSet", "ds"), "c"),
    ]
    found = explained(cluster, pod("p", annotations=claim))

    assert (found.nearest, found.nearest_lacks) == ("c", "10496Mi left for a claim per slot")
    assert found.examples == {"memory-claim": "b", "native-taint": "a"}


def test_the_whole_record() -> None:
    found = explained([cpu_node("c", allocatable={"cpu": "1"})], cpu_pod("p", cpu="2"))

    assert found.view.reasons == (ReasonView("native-resources", "not enough cpu: asks for 2, 1 of 1 free", 1),)
    assert found.view.suggestion == "Ask for cpu: 1 in container main"
    assert (found.nearest, found.nearest_lacks) == ("c", "not enough cpu: asks for 2, 1 of 1 free")


def test_where_every_node_takes_the_pod_there_is_nothing_to_explain() -> None:
    assert explained([t4_node(gpus=2)], pod("p")).view.reasons == ()


def test_a_node_that_offers_nothing_of_what_is_asked_is_never_nearest() -> None:
    cluster = [cpu_node("cpu", allocatable={"cpu": "4"}), t4_node("t", taints=[{"key": "x", "effect": "NoSchedule"}])]

    assert explained(cluster, pod("p")).nearest == "t"


def test_a_full_node_of_the_right_kind_is_nearer_than_a_free_one_of_another() -> None:
    full = [h100_node("z", gpus=1), bound(pod("old"), "z")]
    found = explained([t4_node("a"), *full, namespace(families="hopper")], pod("p"))

    assert (found.nearest, found.nearest_lacks) == ("z", "not enough nvidia.com/gpu: asks for 1, none free")


def test_no_node_speaks_of_amounts_for_another() -> None:
    cluster = [t4_node("a", gpus=2), t4_node("b", gpus=3)]

    assert reasons(cluster, pod("p", gpus=4)) == [
        ("native-resources", "not enough nvidia.com/gpu: asks for 4, at most 3 of 3 free", 2)
    ]
