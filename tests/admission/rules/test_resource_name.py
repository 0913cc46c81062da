"""Misspelt resources, absent MIG profiles, GPUs of the pod as a whole."""

import pytest

from gpusched.core.resources import GpuResources
from tests.admission.judging import facts_of, gpu_node, judged, lines
from tests.build import container, pod


@pytest.mark.parametrize(
    ("resource", "meant"), [("gpu", "nvidia.com/gpu"), ("nvidia.com.gpu", "nvidia.com/gpu"), ("gpus", "nvidia.com/gpu")]
)
@pytest.mark.parametrize("mode", ["enforce", "warn", "audit", "off"])
def test_names_that_the_api_server_refuses(resource: str, meant: str, mode: str) -> None:
    tree = pod("p", "n", container("c", gpus=1, resource=resource))
    assert lines(judged(tree, policy={"mode": mode})) == (
        [
            f"gpu-unknown-resource: container c asks {resource}: 1, which is no resource name. Write {meant}: 1.",
        ],
        [],
    )


@pytest.mark.parametrize("resource", ["nvidia.com/gpus", "nvidia.com/GPU"])
def test_near_misses_that_it_accepts_are_warned_of(resource: str) -> None:
    tree = pod("p", "n", container("c", gpus=1, resource=resource))
    assert lines(judged(tree)) == (
        [],
        [
            (
                f"gpu-unknown-resource: container c asks {resource}: 1, which no device plugin serves. "
                "Did you mean nvidia.com/gpu?"
            )
        ],
    )
    assert lines(judged(tree, policy={"mode": "audit"})) == ([], [])


def test_a_near_miss_of_zero_is_nothing() -> None:
    assert lines(judged(pod("p", "n", container("c", gpus=0, resource="nvidia.com/gpus")))) == ([], [])


@pytest.mark.parametrize("resource", ["nvidia.com/gpumem", "gpu.intel.com/i915_monitoring", "example.com/fpga", "vgpu"])
def test_resources_of_other_products_are_let_be(resource: str) -> None:
    assert lines(judged(pod("p", "n", container("c", gpus=1, resource=resource)))) == ([], [])


def test_a_profile_that_no_node_offers() -> None:
    facts = facts_of(gpu_node(resource="nvidia.com/mig-1g.10gb", family="ampere", product="a100-80gb"))
    tree = pod(resource="nvidia.com/mig-1g.5gb")
    line = (
        "gpu-unknown-resource: no present node offers nvidia.com/mig-1g.5gb. "
        "The nearest offered is nvidia.com/mig-1g.10gb."
    )
    assert line in lines(judged(tree, facts=facts))[1]
    assert lines(judged(tree)) == ([], [])


def test_gpus_of_the_pod_as_a_whole() -> None:
    tree = pod(gpus=None, resources={"limits": {"nvidia.com/gpu": 1, "cpu": 4}})
    assert lines(judged(tree))[0] == [
        "gpu-unknown-resource: spec.resources cannot hold nvidia.com/gpu; put it under a container's resources.limits."
    ]


def test_of_thousands_of_names_the_first_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[str] = []
    nearest = GpuResources.nearest

    def counted(self: GpuResources, resource: str, present: frozenset[str]) -> str | None:
        compared.append(resource)
        return nearest(self, resource, present)

    monkeypatch.setattr(GpuResources, "nearest", counted)
    tree = pod("p", "n", container("c"))
    names = [f"nvidia.com/gpus{number:04}" for number in range(5_000)]
    tree["spec"]["containers"][0]["resources"] = {"limits": dict.fromkeys(names, "1")}
    judged(tree)

    assert set(compared) == set(names[:200])
