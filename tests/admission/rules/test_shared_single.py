"""More than one slot of shared GPUs in one container."""

import pytest

from gpusched.core.pool import Sharing
from gpusched.policy.model import Config
from tests.admission.judging import codes, facts_of, gpu_node, judged, lines
from tests.build import container, pod

_SLICED = gpu_node("s", 8, sharing=Sharing.TIME_SLICING, replicas=4)
_MPS = gpu_node("m", 8, sharing=Sharing.MPS, replicas=4)
_WHOLE = gpu_node("w", 8)


@pytest.mark.parametrize(
    ("sharing", "single", "refused"),
    [
        ("mps", None, True),
        ("mps", False, True),
        ("time-slicing", None, True),
        ("time-slicing, mps", True, True),
        ("time-slicing", False, False),
        ("mps, none", None, False),
        ("mig", None, False),
        ("mps, mig", None, False),
    ],
)
def test_policy_that_allows_shared_pools_only(sharing: str, single: bool | None, refused: bool) -> None:
    answer = judged(pod(gpus=2), policy={"sharing": sharing}, config=Config(time_slicing_single=single))
    assert codes(answer) == (["gpu-shared-single"] if refused else [], [])


def test_the_sentence_names_container_and_namespace() -> None:
    assert lines(judged(pod(gpus=2), policy={"sharing": "mps"}))[0] == [
        (
            "gpu-shared-single: container main asks nvidia.com/gpu: 2; namespace team-a allows only mps, "
            "where one container gets one slot. Ask for 1 or split it over containers."
        )
    ]


def test_one_slot_in_each_of_two_containers_is_fine() -> None:
    tree = pod("p", "n", container("a", gpus=1), container("b", gpus=1))
    assert codes(judged(tree, policy={"sharing": "mps"}, facts=facts_of(_MPS))) == ([], [])


@pytest.mark.parametrize(
    ("facts", "single", "said"),
    [
        (facts_of(_SLICED), None, "on shared GPUs this gives no more than one does"),
        (facts_of(_SLICED), True, "on shared GPUs this would fail on the node"),
        (facts_of(_SLICED), False, None),
        (facts_of(_SLICED, dialects=["gke"]), None, "on shared GPUs this would fail on the node"),
        (facts_of(_SLICED, _WHOLE), None, None),
    ],
)
def test_present_pools_are_only_warned_of(facts: object, single: bool | None, said: str | None) -> None:
    answer = judged(pod(gpus=2), facts=facts, config=Config(time_slicing_single=single))  # type: ignore[arg-type]
    assert lines(answer) == (
        [],
        [] if said is None else [f"gpu-shared-single: container main asks nvidia.com/gpu: 2; {said}. Ask for 1."],
    )


def test_a_name_that_says_shared() -> None:
    tree = pod(gpus=2, resource="nvidia.com/gpu.shared")
    assert codes(judged(tree)) == ([], ["gpu-shared-single"])
    assert codes(judged(tree, policy={"mode": "enforce"}, config=Config(time_slicing_single=True))) == (
        ["gpu-shared-single"],
        [],
    )
    assert codes(judged(tree, config=Config(time_slicing_single=False))) == ([], [])
