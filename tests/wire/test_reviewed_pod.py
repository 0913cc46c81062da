"""What of a pod under review is read, and what is not."""

import copy
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from gpusched.wire.reviewed_pod import read_reviewed_pod
from tests.build import Tree, container, pod
from tests.webhook.watched import review

Change = Callable[[Tree], object]


def part(tree: Tree, change: Change = lambda _: None, **request: Any) -> Any:
    tree = copy.deepcopy(tree)
    change(tree)
    found = read_reviewed_pod(msgspec.json.encode(review(tree, **request)))
    return None if found is None else msgspec.json.decode(found.named_part())


POD = pod(
    "p",
    "team-a",
    container(gpus=1, env=[{"name": "A", "value": "1"}, {"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}]),
    annotations={"gpusched.io/families": "turing", "status.gpusched.io/bound": "n", "note": "long"},
    labels={"app": "train"},
    affinity={"nodeAffinity": {"x": 1}, "podAffinity": {"x": 1}},
    initContainers=[container("i", image="i:1")],
    volumes=[{"name": "token"}],
)
POD["metadata"]["ownerReferences"] = [{"kind": "Job", "name": "job", "uid": "1", "controller": True}]


def spec(**fields: Any) -> Change:
    return lambda tree: tree["spec"].update(fields)


def first(**fields: Any) -> Change:
    return lambda tree: tree["spec"]["containers"][0].update(fields)


def initial(**fields: Any) -> Change:
    return lambda tree: tree["spec"]["initContainers"][0].update(fields)


def metadata(**fields: Any) -> Change:
    return lambda tree: tree["metadata"].update(fields)


def test_what_is_read() -> None:
    assert part(POD) == {
        "metadata": {
            "namespace": "team-a",
            "labels": {},
            "annotations": {"gpusched.io/families": "turing", "status.gpusched.io/bound": "n"},
            "ownerReferences": [{"kind": "Job", "controller": True}],
        },
        "spec": {
            "containers": [
                {
                    "name": "main",
                    "resources": {"limits": {"nvidia.com/gpu": 1}},
                    "env": [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}],
                }
            ],
            "initContainers": [{"name": "i"}],
            "affinity": {"nodeAffinity": {"x": 1}},
        },
    }


@pytest.mark.parametrize(
    "change",
    [
        metadata(namespace="team-b"),
        metadata(labels={"app": "", "gpusched.io/families": ""}),
        metadata(annotations={"gpusched.io/families": "ampere"}),
        metadata(annotations=POD["metadata"]["annotations"] | {"gpushed.io/families": "ampere"}),
        metadata(annotations=POD["metadata"]["annotations"] | {"kubernetes.io/config.mirror": "x"}),
        metadata(ownerReferences=[{"kind": "DaemonSet", "controller": True}]),
        first(name="other"),
        first(resources={"requests": {"nvidia.com/gpu": 1}}),
        first(env=[]),
        first(env=[{"name": "NVIDIA_VISIBLE_DEVICES", "valueFrom": {}}]),
        first(env=[{"name": "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", "value": "0=1G"}]),
        initial(restartPolicy="Always"),
        spec(affinity={}),
        spec(nodeName="n"),
        spec(nodeSelector={"a": "b"}),
        spec(overhead={"cpu": "1"}),
        spec(resources={"limits": {"cpu": "1"}}),
        spec(runtimeClassName="nvidia"),
        spec(schedulerName="other"),
        spec(schedulingGates=[{"name": "x"}]),
        spec(tolerations=[{"operator": "Exists"}]),
    ],
)
def test_a_difference_in_what_is_read(change: Change) -> None:
    assert part(POD, change) != part(POD)


@pytest.mark.parametrize(
    "change",
    [
        metadata(name="q"),
        metadata(generateName="q-", uid="2", creationTimestamp="2026-01-01T00:00:00Z", managedFields=[{}]),
        metadata(labels={"app": "other", "job-name": "x"}),
        metadata(annotations=POD["metadata"]["annotations"] | {"note": "other", "example.com/families": "x"}),
        metadata(ownerReferences=[{"kind": "Job", "name": "other", "uid": "2", "controller": True}]),
        first(image="app:2", ports=[{"hostPort": 1}], volumeMounts=[{"name": "token"}]),
        first(env=[{"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}, {"name": "B", "value": "2"}]),
        first(resources={"limits": {"nvidia.com/gpu": 1, "cpu": "1", "memory": 2, "ephemeral-storage": None}}),
        spec(hostname="p", volumes=[], priority=1, topologySpreadConstraints=[{}], serviceAccountName="x"),
        spec(affinity={"nodeAffinity": {"x": 1}}),
    ],
)
def test_a_difference_in_what_is_not(change: Change) -> None:
    assert part(POD, change) == part(POD)


def test_names_of_containers_stand_apart() -> None:
    one, other = copy.deepcopy(POD), copy.deepcopy(POD)
    first(name="other")(other)
    found, alike = (read_reviewed_pod(msgspec.json.encode(review(tree))) for tree in (one, other))

    assert found is not None
    assert alike is not None
    assert found.part == alike.part
    assert alike.named_part() == found.named_part().replace(b'"main"', b'"other"') != found.part


@pytest.mark.parametrize(
    ("tree", "name", "uid"),
    [
        (pod("p"), "p", ""),
        (pod("p") | {"metadata": {"generateName": "p-"}}, "p-", ""),
        (pod("p") | {"metadata": {"name": "p-1", "generateName": "p-", "uid": "7"}}, "p-1", "7"),
        ({"kind": "Pod"}, "", ""),
    ],
)
def test_its_name_and_uid(tree: Tree, name: str, uid: str) -> None:
    found = read_reviewed_pod(msgspec.json.encode(review(tree)))

    assert found is not None
    assert (found.name, found.uid, found.asked.namespace) == (name, uid, "team-a")


@pytest.mark.parametrize(
    "change",
    [
        spec(containers={}),
        first(env=[None]),
        first(env=[{"name": 1}]),
        metadata(labels={"a": None}),
        metadata(name=5),
        lambda tree: tree.update(spec="none"),
    ],
)
def test_what_has_not_the_shape_of_a_pod(change: Change) -> None:
    assert part(POD, change) is None


@pytest.mark.parametrize(
    "request_",
    [
        {"object": None},
        {"uid": ""},
        {"kind": {"group": "apps", "version": "v1", "kind": "Deployment"}},
        {"kind": {"group": "metrics.k8s.io", "version": "v1", "kind": "Pod"}},
    ],
)
def test_what_is_no_review_of_a_pod(request_: Tree) -> None:
    assert part(POD, **request_) is None


@pytest.mark.parametrize("body", [b"", b"nonsense", b"[]", b'{"kind":"Pod"}', b"\xff", b"[" * 10_000])
def test_what_is_no_review(body: bytes) -> None:
    assert read_reviewed_pod(body) is None


@pytest.mark.parametrize(
    "envelope", [{"apiVersion": "admission.k8s.io/v1beta1"}, {"kind": "Review"}, {"request": None}]
)
def test_what_is_no_review_of_this_version(envelope: Tree) -> None:
    assert read_reviewed_pod(msgspec.json.encode(review(POD) | envelope)) is None
