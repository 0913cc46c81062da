"""What is followed and how it is read."""

import random
import subprocess
import sys

import pytest

from gpusched.core.pod import Pod
from gpusched.core.resources import GpuResources
from gpusched.kube.backoff import Backoff
from gpusched.kube.objects import gpu_pod_reader, read_namespace, reflectors, sources
from gpusched.kube.pages import identity_of, version_of
from gpusched.kube.session import Session
from gpusched.state.events import Kind, NamespaceObject
from tests.build import container, namespace, pod
from tests.fakes.apiserver import NAMESPACES, NODES, PODS, RUNTIME_CLASSES

RESOURCES = GpuResources({"example.com/card": "nvidia"})
read = gpu_pod_reader(lambda: RESOURCES)


def test_every_kind_is_followed_and_pods_last() -> None:
    found = sources(lambda: RESOURCES)

    assert {source.kind for source in found} == set(Kind)
    assert found[-1].kind is Kind.POD
    assert {source.kind for source in found if source.optional} == {
        Kind.CLUSTER_POLICY,
        Kind.DEVICE_CLASS,
        Kind.RESOURCE_SLICE,
    }
    assert [source.paths for source in found if not source.optional] == [
        (NAMESPACES,),
        (RUNTIME_CLASSES,),
        (NODES,),
        (PODS,),
    ]


def test_reflector_for_each_source() -> None:
    found = reflectors(Session.__new__(Session), lambda: RESOURCES, lambda _: None)

    assert {reflector.kind for reflector in found} == set(Kind)


@pytest.mark.parametrize(
    ("tree", "kept"),
    [
        (pod(gpus=1), True),
        (pod(gpus=1, resource="nvidia.com/mig-1g.10gb"), True),
        (pod(gpus=1, resource="example.com/card"), True),
        (pod(gpus=1, resource="example.com/other"), False),
        (pod(gpus=1, resource="nvidia.com/gpus"), True),
        (pod(gpus=1, resource="gpu.nvidia.com/a100"), False),
        (pod(gpus=None), False),
        (pod("p", "a", container(gpus=None, resources={"requests": {"amd.com/gpu": "1"}})), True),
        (pod(gpus=None, initContainers=[container("init", gpus=1)]), True),
        (pod(gpus=None, resources={"limits": {"nvidia.com/gpu": "1"}}), True),
        ({"metadata": {"name": "bare"}}, False),
        ({"spec": {"containers": "odd", "initContainers": [None, {"resources": []}]}}, False),
        ({"spec": {"containers": [{"resources": {"limits": None, "claims": []}}]}}, False),
        (None, False),
    ],
)
def test_pods_without_gpu_are_dropped(tree: object, kept: bool) -> None:
    assert isinstance(read(tree, []), Pod) is kept


def test_names_are_asked_for_each_time() -> None:
    names = [GpuResources()]
    reader = gpu_pod_reader(lambda: names[0])
    before = reader(pod(resource="example.com/card"), [])
    names[0] = RESOURCES

    assert before is None
    assert isinstance(reader(pod(resource="example.com/card"), []), Pod)


def test_namespace_keeps_own_annotations() -> None:
    tree = namespace("team-a", {"team": "a"}, families="h200")
    tree["metadata"]["annotations"]["other/key"] = "x"

    assert read_namespace(tree, []) == NamespaceObject(
        "team-a", {"kubernetes.io/metadata.name": "team-a", "team": "a"}, {"gpusched.io/families": "h200"}
    )


@pytest.mark.parametrize(
    ("tree", "identity", "version"),
    [
        ({"metadata": {"name": "a", "resourceVersion": "5"}}, "a", "5"),
        ({"metadata": {"name": "a", "namespace": "n"}}, "n/a", ""),
        ({"metadata": {"name": "a", "resourceVersion": 5}}, "a", ""),
        ({}, "None", ""),
        (None, "None", ""),
    ],
)
def test_identity_and_version(tree: object, identity: str, version: str) -> None:
    assert (identity_of(tree), version_of(tree)) == (identity, version)


def test_backoff_doubles_within_bounds() -> None:
    backoff = Backoff(random.Random(1))
    waits = [backoff.next() for _ in range(100)]
    backoff.reset()

    assert all(1.0 <= wait <= 30.0 for wait in waits)
    assert all(min(30.0, 2.0**step) / 2 <= wait <= min(30.0, 2.0**step) for step, wait in enumerate(waits))
    assert len(set(waits[10:])) > 50
    assert backoff.next() == 1.0


def test_import_loads_no_model() -> None:
    """The models cost seconds; nothing here may load one."""
    code = (
        "import sys, gpusched.kube.session, gpusched.kube.objects, gpusched.kube.writes, gpusched.kube.leader, "
        "gpusched.kube.events\n"
        "print([name for name in sys.modules if '.client.models.' in name or '.client.api.' in name])"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout == "[]\n"
