from typing import Any

import pytest

from gpusched.core.read_pod import read_pod
from gpusched.simulate.expand import MAX_PODS, PlannedPod, expand
from gpusched.simulate.manifest import InputFault
from tests.build import Tree, container, pod
from tests.simulate.scene import manifests, messages, owned, workload


def _expand(*trees: Tree) -> tuple[list[PlannedPod], list[InputFault]]:
    faults: list[InputFault] = []
    return expand(manifests(trees), faults), faults


@pytest.mark.parametrize(
    ("tree", "names"),
    [
        (workload("Deployment", "w", replicas=3), ["w-0", "w-1", "w-2"]),
        (workload("Deployment", "w"), ["w-0"]),
        (workload("StatefulSet", "db", replicas=2), ["db-0", "db-1"]),
        (workload("ReplicaSet", "rs", replicas=2), ["rs-0", "rs-1"]),
        (workload("ReplicationController", "rc", replicas=1), ["rc-0"]),
        (workload("Job", "j", parallelism=2), ["j-0", "j-1"]),
        (workload("Job", "j", parallelism=4, completions=3), ["j-0", "j-1", "j-2"]),
        (workload("Job", "j", completions=3), ["j-0"]),
        (workload("CronJob", "cj", parallelism=2), ["cj-0", "cj-1"]),
        (workload("DaemonSet", "ds"), ["ds-0"]),
        (pod("p"), ["p"]),
    ],
)
def test_pods_are_named_after_what_makes_them(tree: Tree, names: list[str]) -> None:
    planned, faults = _expand(tree)

    assert [item.name for item in planned] == names
    assert faults == []
    owner = None if tree["kind"] == "Pod" else f"{tree['kind']}/{tree['metadata']['name']}"
    assert {item.owner for item in planned} == {owner}


def test_templates_of_one_object_are_told_apart() -> None:
    template = {"spec": {"containers": [container(gpus=1)]}}
    specs = {"Master": {"replicas": 1, "template": template}, "Worker": {"replicas": 2, "template": template}}
    tree = {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": "train", "namespace": "team-a"},
        "spec": {"pytorchReplicaSpecs": specs},
    }
    planned, _ = _expand(tree)

    assert [item.name for item in planned] == ["train-master-0", "train-worker-0", "train-worker-1"]


def test_the_order_is_that_of_the_files() -> None:
    planned, _ = _expand(pod("b"), workload("Deployment", "a", replicas=2), pod("c"))

    assert [item.name for item in planned] == ["b", "a-0", "a-1", "c"]


def test_what_a_controller_among_the_inputs_owns_is_left_to_it() -> None:
    deployment = workload("Deployment", "web", replicas=2)
    replica_set = owned(workload("ReplicaSet", "web-5d", replicas=2), "Deployment", "web")
    made = [owned(pod(f"web-5d-{name}"), "ReplicaSet", "web-5d") for name in "xy"]

    assert [item.name for item in _expand(deployment, replica_set, *made)[0]] == ["web-0", "web-1"]
    assert [item.name for item in _expand(replica_set, *made)[0]] == ["web-5d-0", "web-5d-1"]
    assert [item.owner for item in _expand(*made)[0]] == ["ReplicaSet/web-5d"] * 2


def test_an_owner_of_another_namespace_or_a_mere_reference_does_not_count() -> None:
    deployment = workload("Deployment", "web", namespace="other")
    made = owned(pod("p"), "Deployment", "web")
    referred = owned(pod("q", "other"), "Deployment", "web")
    referred["metadata"]["ownerReferences"][0]["controller"] = False

    assert [item.name for item in _expand(deployment, made, referred)[0]] == ["web-0", "p", "q"]


@pytest.mark.parametrize(
    ("kind", "count", "path"),
    [
        ("Deployment", {"replicas": MAX_PODS + 1}, "spec.replicas"),
        ("Deployment", {"replicas": 10**9}, "spec.replicas"),
        ("StatefulSet", {"replicas": 10**200}, "spec.replicas"),
        ("Job", {"parallelism": 10**12, "completions": 10**12}, "spec.parallelism"),
    ],
)
def test_a_number_of_replicas_cannot_eat_the_memory(kind: str, count: dict[str, int], path: str) -> None:
    planned, faults = _expand(workload(kind, "w", **count))

    assert len(planned) == MAX_PODS
    ((where, message),) = messages(faults)
    assert where == path
    assert message.endswith("is too many to simulate: write 10000 or less")


def test_a_number_of_replicas_within_the_bound_is_taken_as_it_is() -> None:
    planned, faults = _expand(workload("Deployment", "w", replicas=MAX_PODS))

    assert (len(planned), faults) == (MAX_PODS, [])


@pytest.mark.parametrize("tree", [workload("Deployment", "w", replicas=0), workload("Job", "w", parallelism=0)])
def test_an_object_without_pods_stands_for_itself(tree: Tree) -> None:
    (item,) = _expand(tree)[0]

    assert item.dormant


_NONE: Any = None


@pytest.mark.parametrize(
    ("tree", "path", "message"),
    [
        (pod("p") | {"spec": _NONE}, "spec.containers", "missing: a pod needs at least one container"),
        (pod("p") | {"spec": {"containers": []}}, "spec.containers", "missing: a pod needs at least one container"),
        (pod("p") | {"spec": []}, "spec", 'must be a mapping, not a list: write "key: value" lines'),
        (
            pod("p") | {"spec": {"containers": [_NONE]}},
            "spec.containers[0]",
            "must be a mapping with a name and an image, not null",
        ),
        (
            pod("p") | {"spec": {"containers": {"name": "a"}}},
            "spec.containers",
            'must be a list, not a mapping: start every item with "- "',
        ),
    ],
)
def test_pods_that_cannot_be_are_reported_and_left_out(tree: Tree, path: str, message: str) -> None:
    planned, faults = _expand(tree)

    assert planned == []
    assert messages(faults) == [(path, f"Pod team-a/p: {message}")]


@pytest.mark.parametrize(
    ("kind", "spec", "path", "message"),
    [
        ("Deployment", {"replicas": 2}, "spec.template", "missing: a Deployment needs a pod template"),
        ("Deployment", {"template": _NONE}, "spec.template", "missing: a Deployment needs a pod template"),
        ("Deployment", _NONE, "spec.template", "missing: a Deployment needs a pod template"),
        ("CronJob", {}, "spec.jobTemplate.spec.template", "missing: a CronJob needs a pod template"),
        ("DaemonSet", {"template": "x"}, "spec.template", 'must be a mapping, not a string: write "key: value" lines'),
        ("Job", {"template": {}}, "spec.template.spec.containers", "missing: a pod needs at least one container"),
    ],
)
def test_templates_that_cannot_be_are_reported_and_left_out(kind: str, spec: object, path: str, message: str) -> None:
    tree = workload(kind, "w") | {"spec": spec}
    planned, faults = _expand(tree)

    assert planned == []
    assert messages(faults) == [(path, f"{kind} team-a/w: {message}")]


def test_a_negative_number_is_reported_and_read_as_one() -> None:
    planned, faults = _expand(workload("Deployment", "w", replicas=-3))

    assert [item.name for item in planned] == ["w-0"]
    assert messages(faults) == [("spec.replicas", "Deployment team-a/w: must not be negative: write 0 or more, not -3")]


def test_the_claims_of_a_stateful_set_are_volumes_of_its_pods() -> None:
    template = pod(volumes=[{"name": "data", "emptyDir": {}}, {"name": "tmp", "emptyDir": {}}])
    claim = {"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"]}}
    (planned,), faults = _expand(workload("StatefulSet", "db", template=template, volumeClaimTemplates=[claim]))

    assert faults == []
    assert read_pod(planned.tree, []).spec.unmodelled == ("volumes",)
    spec = planned.tree["spec"]
    assert isinstance(spec, dict)
    assert spec["volumes"] == [
        {"name": "tmp", "emptyDir": {}},
        {"name": "data", "persistentVolumeClaim": {"claimName": "data-db-0"}},
    ]
