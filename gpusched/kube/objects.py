"""What gpusched follows: a source for every kind of the cluster state, and a reflector for every source."""

from collections.abc import Callable, Mapping
from typing import Final

from gpusched.core.dra import read_device_class, read_resource_slice
from gpusched.core.fault import Fault
from gpusched.core.misspelt import near_misses
from gpusched.core.pod import Pod
from gpusched.core.read_cluster import read_cluster_policy, read_node, read_runtime_class
from gpusched.core.read_pod import read_pod
from gpusched.core.resources import GpuResources
from gpusched.kube.reflector import Reflector
from gpusched.kube.session import Session
from gpusched.kube.source import Source
from gpusched.kube.timing import Timing
from gpusched.state.events import Event, Kind
from gpusched.state.read_namespace import read_namespace

_DRA_VERSIONS: Final = ("v1", "v1beta2", "v1beta1")


def sources(resources: Callable[[], GpuResources]) -> tuple[Source, ...]:
    """All that is followed, in the order in which it is best read first: pods stand on nodes and in namespaces.

    Pods that have ended are left out by the server, as kube-scheduler has it; pods without GPU are dropped as they come
    in. `resources` is asked for each pod: after a change of the configured names pods must be listed anew.
    """
    return (
        Source(Kind.NAMESPACE, ("/api/v1/namespaces",), read_namespace),
        Source(Kind.RUNTIME_CLASS, ("/apis/node.k8s.io/v1/runtimeclasses",), read_runtime_class),
        Source(Kind.CLUSTER_POLICY, ("/apis/nvidia.com/v1/clusterpolicies",), read_cluster_policy, optional=True),
        Source(Kind.DEVICE_CLASS, _dra("deviceclasses"), read_device_class, optional=True),
        Source(Kind.RESOURCE_SLICE, _dra("resourceslices"), read_resource_slice, optional=True),
        Source(Kind.NODE, ("/api/v1/nodes",), read_node),
        Source(
            Kind.POD,
            ("/api/v1/pods",),
            gpu_pod_reader(resources),
            {"fieldSelector": "status.phase!=Succeeded,status.phase!=Failed"},
        ),
    )


def reflectors(
    session: Session,
    resources: Callable[[], GpuResources],
    apply: Callable[[Event], None],
    timing: Timing | None = None,
) -> tuple[Reflector, ...]:
    """One reflector for each source; none runs yet."""
    return tuple(Reflector(session, source, apply, timing=timing) for source in sources(resources))


def gpu_pod_reader(resources: Callable[[], GpuResources]) -> Callable[[object, list[Fault]], Pod | None]:
    """A reader of pods that drops those naming no GPU resource, nor what was meant to be one, before the costly part of
    reading.
    """

    def read(tree: object, faults: list[Fault]) -> Pod | None:
        names = resources()
        asked = _extended_names(tree)
        if not (any(map(names.vendor, asked)) or near_misses(asked, names, frozenset())):
            return None
        return read_pod(tree, faults)

    return read


def _dra(resource: str) -> tuple[str, ...]:
    return tuple(f"/apis/resource.k8s.io/{version}/{resource}" for version in _DRA_VERSIONS)


def _extended_names(tree: object) -> set[str]:
    """Names with a domain among the requests and limits of a pod and its containers."""
    spec = _mapping(_mapping(tree).get("spec"))
    asking = [spec, *_list(spec.get("containers")), *_list(spec.get("initContainers"))]
    return {
        name
        for part in asking
        for amounts in _mapping(_mapping(part).get("resources")).values()
        if isinstance(amounts, Mapping)
        for name in amounts
        if "/" in name
    }


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []
