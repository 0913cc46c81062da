import pytest

from gpusched.core.demand import ContainerDemand, Demand, demand, mentions_gpu, native_requests
from gpusched.core.pod import ContainerKind, Pod
from gpusched.core.read_pod import read_pod
from gpusched.core.resources import GpuResources
from tests.build import Tree, container, pod

GPU = "nvidia.com/gpu"


def read(tree: object) -> Pod:
    return read_pod(tree, [])


def of(tree: object, claim: int | None = None) -> Demand:
    return demand(read(tree), GpuResources(), claim)


def sidecar(name: str, gpus: int) -> Tree:
    return container(name, gpus=gpus, restartPolicy="Always")


@pytest.mark.parametrize(
    ("containers", "inits", "effective"),
    [
        ([container("a", gpus=1), container("b", gpus=2)], [], 3),
        ([container("a")], [container("warm", gpus=1)], 1),
        ([container("a", gpus=1)], [container("wait", gpus=1)], 1),
        ([container("a", gpus=1)], [container("warm", gpus=4)], 4),
        ([container("a", gpus=1)], [container("i1", gpus=1), sidecar("s", 1), container("i2", gpus=2)], 3),
        ([container("a", gpus=1)], [container("i2", gpus=2), sidecar("s", 1)], 2),
        ([container("a")], [sidecar("s", 1), sidecar("t", 2)], 3),
        ([container("a", gpus=0)], [], 0),
        ([container("a", gpus=-1)], [], 0),
        ([container("a", gpus="abc")], [], 0),
        ([container("a", gpus="500m")], [], 1),
        ([container("a", gpus="1k")], [], 1000),
    ],
)
def test_effective_slots(containers: list[Tree], inits: list[Tree], effective: int) -> None:
    found = of(pod("p", "team-a", *containers, initContainers=inits))

    assert found.slots == ({GPU: effective} if effective else {})
    assert found.total == effective


def test_resources_may_be_null_or_absent() -> None:
    containers = [
        {"resources": None},
        {},
        {"resources": {"limits": None}},
        {"resources": {"limits": {GPU: "1"}, "requests": {}}},
    ]

    assert of({"spec": {"containers": containers}}).slots == {GPU: 1}


def test_each_container_is_listed() -> None:
    tree = pod(
        "p",
        "team-a",
        container("main", gpus=2),
        container("web"),
        container("mig", gpus=1, resource="nvidia.com/mig-1g.5gb"),
        initContainers=[sidecar("s", 1)],
    )

    found = of(tree, 6144)

    assert found == Demand(
        slots={GPU: 3, "nvidia.com/mig-1g.5gb": 1},
        containers=(
            ContainerDemand("main", ContainerKind.APP, {GPU: 2}),
            ContainerDemand("mig", ContainerKind.APP, {"nvidia.com/mig-1g.5gb": 1}),
            ContainerDemand("s", ContainerKind.SIDECAR, {GPU: 1}),
        ),
        claim_mib=6144,
    )
    assert found.total == 4
    assert found.largest_container(GPU) == 2
    assert found.largest_container("amd.com/gpu") == 0


def test_the_larger_of_request_and_limit_counts() -> None:
    resources = {"requests": {GPU: 2, "cpu": 1}, "limits": {GPU: 1}}

    assert of(pod("p", "team-a", container(resources=resources))).slots == {GPU: 2}


@pytest.mark.parametrize(
    ("tree", "mentions"),
    [
        (pod(gpus=1), True),
        (pod(gpus=0), False),
        (pod(gpus="abc"), True),
        (pod(gpus=-1), True),
        (pod(gpus=None), False),
        (pod(gpus=1, resource="nvidia.com/gpumem"), False),
        (pod("p", "team-a", container(resources={"requests": {GPU: 1}})), True),
        (pod("p", "team-a", container(), initContainers=[container("i", gpus=1)]), True),
        (pod(gpus=None, resources={"limits": {GPU: 1}}), True),
    ],
)
def test_mentions_gpu(tree: Tree, mentions: bool) -> None:
    assert mentions_gpu(read(tree), GpuResources()) is mentions


def asking(cpu: str | None, memory: str | None = None, **extra: object) -> Tree:
    amounts = {"cpu": cpu, "memory": memory}
    return container(resources={"requests": {key: value for key, value in amounts.items() if value}}, **extra)


@pytest.mark.parametrize(
    ("spec", "requests"),
    [
        ({"containers": [asking("500m", "1Gi"), asking("1")]}, {"cpu": 1500, "memory": 2**30}),
        ({"containers": [container(resources={"limits": {"cpu": "2", GPU: 1}})]}, {"cpu": 2000, GPU: 1}),
        (
            {"containers": [container(resources={"limits": {"cpu": "2"}, "requests": {"cpu": "1"}})]},
            {"cpu": 1000},
        ),
        ({"containers": [asking("1")], "initContainers": [asking("3")]}, {"cpu": 3000}),
        (
            {"containers": [asking("1")], "initContainers": [asking("1", restartPolicy="Always"), asking("3")]},
            {"cpu": 4000},
        ),
        ({"containers": [asking("1")], "overhead": {"cpu": "250m", "memory": "64Mi"}}, {"cpu": 1250, "memory": 2**26}),
        ({"containers": [asking("1", "1Gi")], "resources": {"requests": {"cpu": "4"}}}, {"cpu": 4000, "memory": 2**30}),
        (
            {"containers": [asking("1")], "resources": {"limits": {"cpu": "4", "memory": "1Gi"}}},
            {"cpu": 1000, "memory": 2**30},
        ),
        ({"containers": [asking("-1", "junk")]}, {}),
        ({"containers": []}, {}),
    ],
)
def test_native_requests(spec: dict[str, object], requests: dict[str, int]) -> None:
    assert native_requests(read({"spec": spec})) == requests
