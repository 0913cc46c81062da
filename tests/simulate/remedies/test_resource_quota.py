import pytest

from gpusched.simulate.remedies.resource_quota import Exceeded, exceeded, quota_suggestion
from tests.build import Tree, bound, container, h100_node, pod
from tests.simulate.scene import manifest, workload, world_of

REFUSAL = (
    'pods "w-x" is forbidden: exceeded quota: gpus, requested: requests.nvidia.com/gpu=2, '
    "used: requests.nvidia.com/gpu={used}, limited: requests.nvidia.com/gpu=4"
)


def test_what_the_api_server_says_is_read() -> None:
    found = exceeded(REFUSAL.format(used=3))
    name = "requests.nvidia.com/gpu"

    assert found == Exceeded("gpus", {name: "2"}, {name: "3"}, {name: "4"})
    assert found.cause == f"ResourceQuota gpus is used up: 3 of 4 {name}, 2 requested"


def test_several_resources_of_one_quota() -> None:
    found = exceeded(
        "exceeded quota: all, requested: limits.cpu=2,pods=1, used: limits.cpu=3,pods=9, limited: limits.cpu=4,pods=9"
    )

    assert found is not None
    assert found.cause == "ResourceQuota all is used up: 3 of 4 limits.cpu, 2 requested; 9 of 9 pods, 1 requested"


@pytest.mark.parametrize(
    "refusal",
    ["", 'pods "w-x" is forbidden: failed quota: gpus: must specify limits.cpu for: main', "exceeded quota: x"],
)
def test_other_refusals_are_about_no_quota(refusal: str) -> None:
    assert exceeded(refusal) is None


@pytest.mark.parametrize(
    ("used", "cluster", "template", "less"),
    [
        (3, [h100_node()], pod(gpus=2), "; or ask for nvidia.com/gpu: 1 in container main"),
        (4, [h100_node()], pod(gpus=2), ""),
        (3, [h100_node(gpus=1), bound(pod("old"), "h100")], pod(gpus=2), ""),
        (3, [h100_node()], pod("p", "team-a", container("a", gpus=1), container("b", gpus=1)), ""),
    ],
)
def test_less_is_suggested_where_something_is_left(used: int, cluster: list[Tree], template: Tree, less: str) -> None:
    quota = exceeded(REFUSAL.format(used=used))
    assert quota is not None
    job = manifest(workload("Job", template=template))

    assert quota_suggestion(quota, job, world_of(*cluster)) == (
        f"Free some of ResourceQuota gpus, or let an admin raise it{less}"
    )
