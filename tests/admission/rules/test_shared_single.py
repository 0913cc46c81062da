"""More than one slot of shared GPUs in one container."""

import pytest

from gpusched.core.node import Node
from gpusched.core.pool import Sharing
from gpusched.policy.model import Config
from tests.admission.judging import codes, facts_of, gpu_node, judged, lines
from tests.build import container, pod

_SLICED = gpu_node("s", 8, sharing=Sharing.TIME_SLICING, replicas=4)
_MPS = gpu_node("m", 8, sharing=Sharing.MPS, replicas=4)
_WHOLE = gpu_node("w", 8)
_MIG = gpu_node("i", 8, sharing=Sharing.MIG)


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
        (facts_of(_SLICED, _WHOLE), False, None),
        (facts_of(_SLICED, _WHOLE, dialects=["gke"]), None, None),
        (facts_of(gpu_node("m", 8, sharing=Sharing.MPS, replicas=2), _WHOLE), None, None),
        (facts_of(_WHOLE), None, None),
        (facts_of(_MIG, gpu_node("w", 1)), None, "a CUDA process uses one MIG slice"),
        (facts_of(_MIG), None, "a CUDA process uses one MIG slice"),
        (facts_of(_MIG, _SLICED), True, "a CUDA process uses one MIG slice"),
        (facts_of(_MIG, gpu_node("u", 8, sharing=None)), None, None),
    ],
)
def test_present_pools_are_only_warned_of(facts: object, single: bool | None, said: str | None) -> None:
    answer = judged(pod(gpus=2), facts=facts, config=Config(time_slicing_single=single))
    assert lines(answer) == (
        [],
        [] if said is None else [f"gpu-shared-single: container main asks nvidia.com/gpu: 2; {said}. Ask for 1."],
    )


@pytest.mark.parametrize(
    ("nodes", "parts"),
    [
        ((_SLICED, _WHOLE), "shared GPUs"),
        ((_MIG, _WHOLE), "MIG slices"),
        ((_MIG, _SLICED, _WHOLE), "shared GPUs or MIG slices"),
    ],
)
@pytest.mark.parametrize("name", ["main", "c" * 63])
def test_whole_gpus_are_there_but_not_asked_for(nodes: tuple[Node, ...], parts: str, name: str) -> None:
    tree = pod("p", "n", container(name, gpus=2))
    refusals, (line,) = lines(judged(tree, facts=facts_of(*nodes)))
    assert refusals == []
    assert line.startswith("gpu-shared-single: ")
    assert line.endswith(f" {parts}. Set gpusched.io/sharing: none.")
    assert len(line) <= 120
    followed = pod("p", "n", container(name, gpus=2), annotations={"gpusched.io/sharing": "none"})
    assert codes(judged(followed, facts=facts_of(*nodes))) == ([], [])


def test_what_lowering_keeps_off_is_not_warned_of() -> None:
    def warned(*nodes: Node, config: Config | None = None) -> list[str]:
        return codes(judged(pod(gpus=2), facts=facts_of(*nodes), policy={"mode": "enforce"}, config=config))[1]

    assert warned(_SLICED, _WHOLE) == []
    assert warned(_MIG, _SLICED, _WHOLE) == ["gpu-shared-single"]
    assert warned(_SLICED, _WHOLE, config=Config(lowering_enabled=False)) == ["gpu-shared-single"]


def test_slices_asked_for_by_name_are_meant() -> None:
    resource = "nvidia.com/mig-1g.5gb"
    facts = facts_of(gpu_node("m", 7, resource=resource, sharing=Sharing.MIG))
    assert codes(judged(pod(gpus=2, resource=resource), facts=facts)) == ([], [])


def test_a_name_that_says_shared() -> None:
    tree = pod(gpus=2, resource="nvidia.com/gpu.shared")
    assert codes(judged(tree)) == ([], ["gpu-shared-single"])
    assert codes(judged(tree, policy={"mode": "enforce"}, config=Config(time_slicing_single=True))) == (
        ["gpu-shared-single"],
        [],
    )
    assert codes(judged(tree, config=Config(time_slicing_single=False))) == ([], [])
