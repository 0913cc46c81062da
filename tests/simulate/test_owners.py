import pytest

from gpusched.core.read_pod import read_pod
from gpusched.simulate.owners import workload_of
from tests.build import Tree, pod
from tests.simulate.scene import owned, workload, world_of

HASHED = {"pod-template-hash": "6976b98d59"}


@pytest.mark.parametrize(
    ("kind", "name", "labels", "between", "expected"),
    [
        ("ReplicaSet", "port-6976b98d59", HASHED, [], "Deployment/port"),
        ("ReplicaSet", "port", {}, [], "ReplicaSet/port"),
        ("ReplicaSet", "port-x", HASHED, [], "ReplicaSet/port-x"),
        ("ReplicaSet", "port-6976b98d59", HASHED, [("Rollout", "canary")], "Rollout/canary"),
        ("ReplicaSet", "port-6976b98d59", HASHED, [None], "ReplicaSet/port-6976b98d59"),
        ("Job", "nightly-29412000", {}, [], "CronJob/nightly"),
        ("Job", "train-20260101", {}, [], "Job/train-20260101"),
        ("Job", "by-hand", {}, [("CronJob", "nightly")], "CronJob/nightly"),
        ("StatefulSet", "db", {}, [], "StatefulSet/db"),
    ],
)
def test_the_workload_that_people_know(
    kind: str, name: str, labels: dict[str, str], between: list[tuple[str, str] | None], expected: str
) -> None:
    made: list[Tree] = [
        workload(kind, name) if owner is None else owned(workload(kind, name), *owner) for owner in between
    ]
    world = world_of(*made)

    assert workload_of(read_pod(owned(pod(labels=labels), kind, name), []), world.between) == expected


def test_a_pod_without_a_controller() -> None:
    assert workload_of(read_pod(pod(), []), {}) is None
