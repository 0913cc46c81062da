"""Amounts that the API server refuses."""

import pytest

from tests.admission.judging import judged, lines
from tests.build import container, pod


def _line(limit: object = None, request: object = None, *, template: bool = False) -> list[str]:
    resources = {
        kind: {"nvidia.com/gpu": amount} for kind, amount in (("limits", limit), ("requests", request)) if amount
    }
    tree = pod("p", "team-a", container("train", resources=resources))
    refusals, warnings = lines(judged(tree, template=template))
    assert warnings == []
    return refusals


@pytest.mark.parametrize("amount", ["1", 1, "1.0", "1000m", "1e0", "1k", " 1", "0", "+2"])
def test_whole_numbers_in_any_spelling_pass(amount: object) -> None:
    assert _line(amount, amount) == []
    assert _line(amount) == []


def test_memory_in_place_of_a_number_is_warned_of() -> None:
    tree = pod("p", "team-a", container("train", resources={"limits": {"nvidia.com/gpu": "8Gi"}}))
    said = "asks nvidia.com/gpu: 8Gi GPUs. For memory: 1 plus gpusched.io/gpu-memory: 8Gi."
    assert lines(judged(tree)) == ([], [f"gpu-quantity: container train {said}"])


@pytest.mark.parametrize(
    ("amount", "sentence"),
    [
        ("500m", "500m (0.5); use whole numbers. For part of a GPU: 1 plus gpusched.io/gpu-memory: 8Gi."),
        (0.5, "0.5; use whole numbers. For part of a GPU: 1 plus gpusched.io/gpu-memory: 8Gi."),
        ("1.5", "1.5; use whole numbers, such as 2."),
        ("-1", "-1; a number of GPUs cannot be negative. Write 0, 1 or more."),
        (" ", '"", which is not a quantity. Write a whole number such as 1.'),
        ("abc", "abc, which is not a quantity. Write a whole number such as 1."),
        ("$GPU_PER_NODE", "$GPU_PER_NODE, which is not a quantity. Write a whole number such as 1."),
        ("1 GPU", "1 GPU, which is not a quantity. Write a whole number such as 1."),
        ("NaN", "NaN, which is not a quantity. Write a whole number such as 1."),
        (
            "99999999999999999999",
            "99999999999999999999, which is more than Kubernetes can count. Write a smaller whole number.",
        ),
    ],
)
@pytest.mark.parametrize("template", [False, True])
def test_other_amounts_are_refused_once(amount: object, sentence: str, template: bool) -> None:
    line = [f"gpu-quantity: container train asks nvidia.com/gpu: {sentence}"]
    assert _line(amount, template=template) == line
    assert _line(amount, amount, template=template) == line


def test_a_misspelt_gpu_is_counted_like_the_real_one() -> None:
    """The API server wants whole numbers of whatever has a domain; what is no GPU at all is left to it."""
    tree = pod("p", "team-a", container("train", gpus="500m", resource="nvidia.com/gpus"))
    refusals, _ = lines(judged(tree))
    assert [line.partition(";")[0] for line in refusals] == [
        "gpu-quantity: container train asks nvidia.com/gpus: 500m (0.5)"
    ]
    assert lines(judged(pod("p", "team-a", container("train", gpus="500m", resource="example.com/nic"))))[0] == []


@pytest.mark.parametrize("amount", ["1", "0"])
def test_a_request_needs_a_limit(amount: str) -> None:
    assert _line(None, amount) == [
        (
            f"gpu-limit-required: container train requests nvidia.com/gpu: {amount} without a limit. "
            "Put it under resources.limits."
        )
    ]


@pytest.mark.parametrize(("limit", "request_"), [("3", "1"), ("0", "1"), ("1", "2"), ("3", "2")])
def test_request_and_limit_must_be_equal(limit: str, request_: str) -> None:
    said = (
        f"gpu-request-equals-limit: container train requests nvidia.com/gpu: {request_} but limits it to {limit}. "
        "Set both to the same number"
    )
    assert _line(limit, request_) == [f"{said}; if you did not write them, a LimitRange did."]
    assert _line(limit, request_, template=True) == [f"{said}."]


def test_equal_amounts_may_be_spelt_differently() -> None:
    assert _line("1000m", "1") == []


def test_init_containers_and_other_vendors_are_looked_at_too() -> None:
    tree = pod(gpus=None, initContainers=[container("warm", gpus="0.1", resource="amd.com/gpu")])
    assert lines(judged(tree))[0] == [
        (
            "gpu-quantity: container warm asks amd.com/gpu: 0.1; use whole numbers. "
            "For part of a GPU: 1 plus gpusched.io/gpu-memory: 8Gi."
        )
    ]


def test_resources_that_are_no_gpus_are_none_of_our_business() -> None:
    tree = pod("p", "n", container(resources={"limits": {"cpu": "abc", "hugepages-2Mi": "-1"}}))
    assert lines(judged(tree)) == ([], [])
