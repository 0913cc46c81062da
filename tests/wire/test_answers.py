import json
from collections.abc import Callable
from typing import Any

import pytest

from gpusched.policy.model import Config
from gpusched.state.cluster import Cluster
from gpusched.wire.answers import answer_filter, answer_preempt, answer_prioritize
from tests.build import Tree, bound, h100_node, namespace, node, pod, t4_node
from tests.placement.scene import cluster_of

CANNOT = "gpusched cannot read the request: "


def cluster(config: Config | None = None) -> Cluster:
    return cluster_of(
        t4_node("t4"), h100_node("h100"), node("cpu", gpus=None), namespace(families="turing"), config=config
    )


def filtered(body: object, state: Cluster | None = None, again: Callable[[str], bool] = lambda _uid: False) -> Any:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return json.loads(answer_filter(content, state or cluster(), again=again))


def result(
    names: list[str] | None = None, refused: dict[str, str] | None = None, *, nodes: object = None, error: str = ""
) -> Tree:
    return {
        "Nodes": nodes,
        "NodeNames": names,
        "FailedNodes": {},
        "FailedAndUnresolvableNodes": refused or {},
        "Error": error,
    }


def test_filter_answers_names_with_names() -> None:
    assert filtered({"Pod": pod(), "Nodes": None, "NodeNames": ["h100", "t4", "cpu", "gone"]}) == result(
        ["t4"],
        {
            "h100": "GPU family not allowed",
            "cpu": "node does not offer the GPU resource",
            "gone": "node is not known to gpusched yet",
        },
    )


def test_filter_answers_objects_with_the_very_objects() -> None:
    items = [t4_node("t4") | {"unknown": {"kept": None}}, h100_node("h100")]
    answer = filtered({"Pod": pod(), "Nodes": {"metadata": {}, "items": items}, "NodeNames": None})
    assert answer == result(None, {"h100": "GPU family not allowed"}, nodes={"items": items[:1]})


def test_filter_refuses_all_with_an_empty_list_and_a_reason_each() -> None:
    answer = filtered({"Pod": pod(), "NodeNames": ["h100"]})
    assert answer == result([], {"h100": "GPU family not allowed"})


@pytest.mark.parametrize("gpus", [None, 0, "0"])
def test_filter_hands_back_all_nodes_for_a_pod_without_gpus(gpus: object) -> None:
    names = ["gone", "t4", "cpu"]
    assert filtered({"Pod": pod(gpus=gpus), "NodeNames": names}) == result(names)


def test_filter_keeps_the_best_candidates_unless_it_is_a_retry() -> None:
    state = cluster(Config(candidates=1))
    body = {"Pod": pod(namespace="other"), "NodeNames": ["h100", "t4"]}
    assert filtered(body, state)["NodeNames"] == ["t4"]
    assert filtered(body, state, lambda _uid: True)["NodeNames"] == ["h100", "t4"]


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (b"", "Input data was truncated"),
        (b"\xff", "JSON is malformed: invalid character (byte 0)"),
        (b"null", "Expected `object`, got `null`"),
        (b"[]", "Expected `object`, got `array`"),
        (b"{}", "Pod is missing"),
        ({"Pod": pod(), "Nodes": None, "NodeNames": None}, "neither NodeNames nor Nodes is set"),
        ({"Pod": pod(), "NodeNames": ["a", None]}, "Expected `str`, got `null` - at `$.NodeNames[1]`"),
        ({"Pod": pod(), "Nodes": {"items": [None]}}, "Expected `object`, got `null`"),
        ({"Pod": {"spec": []}, "NodeNames": ["a"]}, 'Pod.spec must be a mapping, not a list: write "key: value" lines'),
        (
            {"Pod": {"metadata": {"annotations": {"gpusched.io/gpu-memory": 6}}}, "NodeNames": ["a"]},
            (
                "Pod.metadata.annotations[gpusched.io/gpu-memory] must be a string, but YAML reads it as the number 6: "
                "put it in quotes as it was written"
            ),
        ),
    ],
)
def test_filter_says_in_error_what_it_cannot_read(body: object, error: str) -> None:
    assert filtered(body) == result(error=CANNOT + error)


def test_filter_survives_deep_nesting() -> None:
    answer = filtered(b'{"Pod": ' + b"[" * 100_000)
    assert answer["Error"].startswith(CANNOT)


def test_faults_far_from_gpus_do_not_stop_a_pod() -> None:
    # Such as the operator of a later release of Kubernetes.
    later = pod(tolerations=[{"key": "a", "operator": "Matches"}])
    assert filtered({"Pod": later, "NodeNames": ["t4"]}) == result(["t4"])


def test_prioritize() -> None:
    body = json.dumps({"Pod": pod(namespace="other"), "NodeNames": ["h100", "t4", "gone"]}).encode()
    assert json.loads(answer_prioritize(body, cluster())) == [
        {"Host": "t4", "Score": 10},
        {"Host": "h100", "Score": 0},
    ]


@pytest.mark.parametrize("body", [b"", b"null", b"{}", b'{"Pod": {}, "Nodes": null, "NodeNames": null}', b"[" * 9999])
def test_prioritize_without_a_readable_call_prefers_nothing(body: bytes) -> None:
    assert answer_prioritize(body, cluster()) == b"[]"


def preempted(body: object) -> Any:
    state = cluster()
    full = cluster_of(
        t4_node("t4"), h100_node("h100"), namespace(families="turing"), bound(pod("low"), "t4", uid="u-low")
    )
    assert state.nodes.keys() > full.nodes.keys()
    return json.loads(answer_preempt(json.dumps(body).encode(), full))


LOW = {"Pods": [{"UID": "u-low"}], "NumPDBViolations": 3}
NOBODY = {"Pods": [], "NumPDBViolations": 0}


def test_preempt_keeps_nodes_that_the_victims_make_room_on() -> None:
    offered = {"t4": LOW, "h100": {"Pods": [{"UID": "x"}], "NumPDBViolations": 0}}
    body = {"Pod": pod("high"), "NodeNameToVictims": None, "NodeNameToMetaVictims": offered}
    assert preempted(body) == {"NodeNameToMetaVictims": {"t4": LOW}}


def test_preempt_answers_whole_pods_by_uid() -> None:
    victims = {"t4": {"Pods": [{"metadata": {"name": "low", "uid": "u-low"}, "spec": {}}], "NumPDBViolations": 3}}
    for empty in (None, {}):
        body = {"Pod": pod("high"), "NodeNameToVictims": victims, "NodeNameToMetaVictims": empty}
        assert preempted(body) == {"NodeNameToMetaVictims": {"t4": LOW}}


@pytest.mark.parametrize("victims", [NOBODY, {"Pods": None, "NumPDBViolations": 0}])
def test_preempt_never_answers_a_node_without_victims(victims: Tree) -> None:
    body = {"Pod": pod("high"), "NodeNameToMetaVictims": {"h100": victims, "t4": victims}}
    assert preempted(body) == {"NodeNameToMetaVictims": {}}


@pytest.mark.parametrize("body", [b"", b"null", b"{}", b'{"Pod": 1}', b'{"Pod": {"spec": 1}}'])
def test_preempt_without_a_readable_call_evicts_nobody(body: bytes) -> None:
    assert json.loads(answer_preempt(body, cluster())) == {"NodeNameToMetaVictims": {}}
