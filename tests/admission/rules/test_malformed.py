"""Annotations that cannot be read: on the pod, and standing on its namespace."""

import pytest

from gpusched.admission.rules.malformed import described
from gpusched.core.fault import Fault
from tests.admission.judging import codes, judged, lines
from tests.build import pod

_MODES = ["enforce", "warn", "audit", "off"]


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ('"20" has no unit; write 20Gi', 'gpusched.io/k "20" without unit; write 20Gi'),
        ('"x" is no mode; write warn', 'gpusched.io/k "x", which is no mode; write warn'),
        (
            "gpusched.io/k is no known key; write gpusched.io/l",
            "gpusched.io/k, which is no known key; write gpusched.io/l",
        ),
        ("must be a string", "gpusched.io/k: must be a string"),
    ],
)
def test_described(message: str, text: str) -> None:
    assert described(Fault("metadata.annotations[gpusched.io/k]", message)) == text


@pytest.mark.parametrize("mode", _MODES)
def test_a_malformed_value_on_a_pod_is_refused_but_in_mode_off(mode: str) -> None:
    answer = judged(pod(annotations={"gpusched.io/min-gpu-memory": "20"}), policy={"mode": mode})
    line = 'policy-malformed: pod has gpusched.io/min-gpu-memory "20" without unit; write 20Gi.'
    assert lines(answer) == ([] if mode == "off" else [line], [])


@pytest.mark.parametrize(
    ("mode", "refused", "warned"), [("enforce", 1, 0), ("warn", 0, 1), ("audit", 0, 1), ("off", 0, 0)]
)
def test_an_unknown_key_on_a_pod_is_refused_where_the_mode_enforces(mode: str, refused: int, warned: int) -> None:
    answer = judged(pod(annotations={"gpusched.io/gpu-memroy": "6Gi"}), policy={"mode": mode})
    line = "policy-malformed: pod has gpusched.io/gpu-memroy, which is no known key; write gpusched.io/gpu-memory."
    assert lines(answer) == ([line] * refused, [line] * warned)


@pytest.mark.parametrize("mode", _MODES)
def test_a_standing_malformed_value_refuses_gpu_pods_but_in_mode_off(mode: str) -> None:
    policy = {"mode": mode, "families": "hoper"}
    answer = judged(pod(), policy=policy)
    assert codes(answer) == ([] if mode == "off" else ["policy-malformed"], [])
    if mode != "off":
        assert answer.message.startswith('namespace team-a has gpusched.io/families "hoper", which is no ')
        assert answer.message.endswith("; an admin must write hopper.")


def test_a_malformed_mode_refuses_too() -> None:
    answer = judged(pod(), policy={"mode": "enforced"})
    assert codes(answer) == (["policy-malformed"], [])
    assert "an admin must write enforce." in answer.message


def test_pods_without_gpu_do_not_suffer_from_their_namespace() -> None:
    tree = pod(gpus=None, annotations={"gpusched.io/placement": "pack"})
    assert codes(judged(tree, policy={"families": "hoper"})) == ([], [])


def test_keys_that_only_gpusched_writes_are_warned_of() -> None:
    tree = pod(annotations={"status.gpusched.io/bound": "n1"})
    assert codes(judged(tree)) == ([], ["policy-malformed"])
    assert codes(judged(tree, template=True)) == ([], ["policy-malformed"])
    assert {"op": "remove", "path": "/metadata/annotations/status.gpusched.io~1bound"} in [
        operation.as_json() for operation in judged(tree).patch
    ]
