import pytest

from gpusched.core.misspelt import asks_for_gpu, names_of, near_misses
from gpusched.core.read_pod import read_pod
from gpusched.core.resources import GpuResources
from tests.build import container, pod

RESOURCES = GpuResources()


def test_near_misses_of_names() -> None:
    names = {"nvidia.com/gpus", "nvidia.com/gpu", "cpu", "memory", "example.org/gpus"}

    assert near_misses(names, RESOURCES, frozenset()) == {"nvidia.com/gpus": "nvidia.com/gpu"}
    assert near_misses(names, RESOURCES, frozenset({"nvidia.com/gpus"})) == {}


def test_every_name_of_a_pod() -> None:
    asking = container(resources={"requests": {"cpu": "1"}, "limits": {"nvidia.com/gpus": "1"}})
    tree = pod("p", "team-a", asking, resources={"limits": {"memory": "1Gi"}})

    assert names_of(read_pod(tree, [])) == {"cpu", "memory", "nvidia.com/gpus"}


@pytest.mark.parametrize(
    ("resource", "asks"),
    [("nvidia.com/gpu", True), ("nvidia.com/gpus", True), ("cpu", False), ("example.org/x", False)],
)
def test_what_asks_for_a_gpu(resource: str, asks: bool) -> None:
    assert asks_for_gpu(read_pod(pod("p", resource=resource), []), RESOURCES, frozenset()) is asks
