import pytest

from gpusched.admission.templates import templates_of
from gpusched.cli.objects import Objects, sort_objects
from gpusched.simulate.manifest import InputFault, Manifest
from tests.build import namespace, node, pod


def document(kind: str, api_version: str = "v1", metadata: object = None, **extra: object) -> Manifest:
    given = {"name": "x"} if metadata is None else metadata
    name = given.get("name") if isinstance(given, dict) else None
    tree = {"apiVersion": api_version, "kind": kind, "metadata": given, **extra}
    return Manifest("f:1", tree, kind, api_version, name if isinstance(name, str) else "", "team-a")


def sort(documents: list[Manifest]) -> tuple[Objects, list[InputFault]]:
    return sort_objects(documents, has_template=lambda tree: templates_of(tree, []) is not None)


@pytest.mark.parametrize(
    ("kind", "api_version", "field"),
    [
        ("Node", "v1", "nodes"),
        ("Namespace", "v1", "namespaces"),
        ("Pod", "v1", "pods"),
        ("RuntimeClass", "node.k8s.io/v1", "runtime_classes"),
        ("ClusterPolicy", "nvidia.com/v1", "cluster_policies"),
        ("DeviceClass", "resource.k8s.io/v1", "device_classes"),
        ("ResourceSlice", "resource.k8s.io/v1beta1", "resource_slices"),
        ("Config", "gpusched.io/v1alpha1", "configs"),
        ("KubeSchedulerConfiguration", "kubescheduler.config.k8s.io/v1", "scheduler_configs"),
        ("Deployment", "apps/v1", "workloads"),
        ("Job", "batch/v1", "workloads"),
    ],
)
def test_kinds(kind: str, api_version: str, field: str) -> None:
    found = document(kind, api_version)
    objects, errors = sort([found])
    assert errors == []
    assert getattr(objects, field) == [found]
    assert objects.skipped_note() is None


def test_manifests_keep_the_order_of_creation() -> None:
    documents = [document("Job", "batch/v1"), document("Pod"), document("Node"), document("Namespace")]
    objects, _ = sort(documents)
    assert [item.kind for item in objects.manifests] == ["Job", "Pod"]


def test_other_kinds_are_counted_and_familiar_ones_tell_their_version() -> None:
    others = [
        *(document("Service") for _ in range(3)),
        document("ConfigMap", metadata={}),
        document("ClusterPolicy", "kyverno.io/v1"),
        document("Pod", "apps/v1"),
    ]
    objects, errors = sort(others)
    assert errors == []
    assert objects.manifests == []
    assert objects.skipped_note() == (
        "skipped: 3 Service, 1 ClusterPolicy (kyverno.io/v1), 1 ConfigMap, 1 Pod (apps/v1)"
    )


@pytest.mark.parametrize(
    ("metadata", "path", "message"),
    [
        ({}, "metadata.name", "Pod team-a/(no name): missing: every object needs a name"),
        ({"name": ""}, "metadata.name", "Pod team-a/(no name): missing: every object needs a name"),
        ({"name": 12}, "metadata.name", 'Pod team-a/(no name): must be text, not 12: write "12"'),
        ({"name": ["a"]}, "metadata.name", "Pod team-a/(no name): must be text, not a list"),
        ({"name": "x", "namespace": True}, "metadata.namespace", 'Pod team-a/x: must be text, not true: write "true"'),
        (["a"], "metadata", "Pod team-a/(no name): must be a mapping with a name, not a list"),
    ],
)
def test_objects_without_a_proper_name_are_left_out(metadata: object, path: str, message: str) -> None:
    objects, errors = sort([document("Pod", metadata=metadata)])
    assert objects.pods == []
    assert errors == [InputFault("f:1", path, message)]


def test_configurations_need_no_name() -> None:
    objects, errors = sort([document("Config", "gpusched.io/v1alpha1", metadata={})])
    assert (len(objects.configs), errors) == (1, [])


def test_builders_sort() -> None:
    trees = [node("n"), namespace("team-a"), pod("p")]
    documents = [Manifest("f:1", tree, tree["kind"], "v1", tree["metadata"]["name"], "") for tree in trees]
    objects, errors = sort(documents)
    assert errors == []
    assert [len(objects.nodes), len(objects.namespaces), len(objects.pods)] == [1, 1, 1]
