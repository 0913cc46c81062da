"""Read a pod, or a workload's pod template, from a JSON tree.

Fields that gpusched does not use are ignored; what cannot be read is a fault and left out.
"""

from collections.abc import Mapping
from typing import Final

from gpusched.core.fault import Fault
from gpusched.core.fields import Field
from gpusched.core.names import DEFAULT_SCHEDULER
from gpusched.core.pod import Container, ContainerKind, Owner, Pod, PodSpec, SpreadConstraint, Toleration
from gpusched.core.read_selector import read_affinity_terms, read_node_term, read_spread
from gpusched.core.selector import NodeTerm

#: Volume sources that tie a pod to nodes: through topology, attach limits or exclusive disks.
_PLACING_VOLUMES: Final = frozenset(
    {
        "persistentVolumeClaim",
        "ephemeral",
        "gcePersistentDisk",
        "awsElasticBlockStore",
        "azureDisk",
        "cinder",
        "iscsi",
        "rbd",
    }
)
#: The priority classes that every cluster has (scheduling.k8s.io); others are resolved by the API server.
_SYSTEM_PRIORITIES: Final = {"system-node-critical": 2_000_001_000, "system-cluster-critical": 2_000_000_000}
#: What the scheduler compares host ports by when a container names no address.
_ANY_ADDRESS: Final = "0.0.0.0"  # noqa: S104 - compared, never bound
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"


def read_pod(tree: object, faults: list[Fault], *, namespace: str = "default") -> Pod:
    """A Pod object. `namespace` is used when its metadata names none; generateName stands in for a missing name."""
    root = Field(tree, "", faults)
    metadata = root.get("metadata")
    labels = metadata.get("labels").strings()
    return Pod(
        namespace=metadata.get("namespace").text() or namespace,
        name=metadata.get("name").text() or metadata.get("generateName").text(),
        spec=read_pod_spec(root.get("spec"), labels),
        uid=metadata.get("uid").text(),
        labels=labels,
        annotations=metadata.get("annotations").strings(),
        owner=read_controller(metadata.get("ownerReferences")),
        phase=root.get("status").get("phase").text() or "Pending",
        deleting=metadata.get("deletionTimestamp").present,
        created=metadata.get("creationTimestamp").text(),
        claims=_claims(root.get("spec")),
    )


def read_template(tree: object, faults: list[Fault], path: str, namespace: str, name: str, owner: Owner | None) -> Pod:
    """A PodTemplateSpec found at `path` (such as `spec.template`), as the pod named `name` that `owner` makes of it."""
    root = Field(tree, path, faults)
    metadata = root.get("metadata")
    labels = metadata.get("labels").strings()
    return Pod(
        namespace=namespace,
        name=name,
        spec=read_pod_spec(root.get("spec"), labels),
        labels=labels,
        annotations=metadata.get("annotations").strings(),
        owner=owner,
    )


def read_pod_spec(field: Field, labels: Mapping[str, str]) -> PodSpec:
    """A PodSpec; `labels` are the pod's own, which matchLabelKeys refer to."""
    affinity = field.get("affinity")
    pod_affinity, pod_anti_affinity = affinity.get("podAffinity"), affinity.get("podAntiAffinity")
    spread, soft_spread = _spread(field.get("topologySpreadConstraints"), labels)
    preferred = [affinity.get("nodeAffinity"), pod_affinity, pod_anti_affinity] if affinity.present else []
    resources = field.get("resources")
    return PodSpec(
        host_network=field.get("hostNetwork").boolean(),
        containers=_containers(field),
        node_name=field.get("nodeName").text(),
        scheduler_name=field.get("schedulerName").text() or DEFAULT_SCHEDULER,
        runtime_class=field.get("runtimeClassName").optional_text(),
        priority=_priority(field),
        node_selector=field.get("nodeSelector").strings(),
        node_affinity=_node_affinity(affinity.get("nodeAffinity").get(_REQUIRED)),
        tolerations=tuple(read_toleration(item) for item in field.get("tolerations").items()),
        pod_affinity=read_affinity_terms(pod_affinity, labels),
        pod_anti_affinity=read_affinity_terms(pod_anti_affinity, labels),
        spread=spread,
        gates=tuple(gate.get("name").text() for gate in field.get("schedulingGates").items()),
        overhead=field.get("overhead").quantities(),
        pod_requests=resources.get("requests").quantities(),
        pod_limits=resources.get("limits").quantities(),
        soft_preferences=soft_spread or any(kind.get(_PREFERRED).items() for kind in preferred),
        unmodelled=_unmodelled(field),
    )


def read_controller(field: Field) -> Owner | None:
    """The reference of `metadata.ownerReferences` that controls the object."""
    for reference in field.items():
        if reference.get("controller").boolean():
            return Owner(reference.get("kind").text(), reference.get("name").text(), reference.get("uid").text())
    return None


def _containers(field: Field) -> tuple[Container, ...]:
    host_network = field.get("hostNetwork").boolean()
    apps = [
        _container(item, ContainerKind.APP, index, host_network)
        for index, item in enumerate(field.get("containers").items())
    ]
    inits = [
        _container(item, _init_kind(item), index, host_network)
        for index, item in enumerate(field.get("initContainers").items())
    ]
    return (*apps, *inits)


def _init_kind(field: Field) -> ContainerKind:
    return ContainerKind.SIDECAR if field.get("restartPolicy").text() == "Always" else ContainerKind.INIT


def _container(field: Field, kind: ContainerKind, index: int, host_network: bool) -> Container:
    resources = field.get("resources")
    return Container(
        name=field.get("name").text(),
        kind=kind,
        index=index,
        requests=resources.get("requests").quantities(),
        limits=resources.get("limits").quantities(),
        env=tuple(_variable(item) for item in field.get("env").items()),
        host_ports=() if kind is ContainerKind.INIT else _host_ports(field.get("ports"), host_network),
    )


def _variable(field: Field) -> tuple[str, str | None]:
    value = None if field.get("valueFrom").present else field.get("value").text()
    return field.get("name").text(), value


def _host_ports(field: Field, host_network: bool) -> tuple[tuple[str, str, int], ...]:
    found = []
    for item in field.items():
        # The API server fills hostPort in for pods on the host network.
        port = item.get("hostPort").integer() or (item.get("containerPort").integer() if host_network else 0)
        if port > 0:
            found.append((item.get("protocol").text() or "TCP", item.get("hostIP").text() or _ANY_ADDRESS, port))
    return tuple(found)


def _priority(field: Field) -> int:
    default = _SYSTEM_PRIORITIES.get(field.get("priorityClassName").text(), 0)
    return field.get("priority").integer(default)


def _node_affinity(field: Field) -> tuple[NodeTerm, ...] | None:
    if not field.present:
        return None
    terms = field.get("nodeSelectorTerms")
    read = tuple(read_node_term(item) for item in terms.items())
    if not read:
        terms.fault("must list at least one term")
    return read


def read_toleration(field: Field) -> Toleration:
    """One toleration, of a pod or of a RuntimeClass."""
    operator = field.get("operator")
    text = operator.text() or "Equal"
    if text not in {"Equal", "Exists", "Lt", "Gt"}:
        operator.fault(f'"{text}" is not supported: write Equal or Exists')
    return Toleration(
        key=field.get("key").text(), operator=text, value=field.get("value").text(), effect=field.get("effect").text()
    )


def _spread(field: Field, labels: Mapping[str, str]) -> tuple[tuple[SpreadConstraint, ...], bool]:
    read = [read_spread(item, labels) for item in field.items()]
    hard = tuple(constraint for constraint in read if constraint is not None)
    return hard, len(hard) < len(read)


def _unmodelled(field: Field) -> tuple[str, ...]:
    found = set()
    if field.get("resourceClaims").items():
        found.add("resourceClaims")
    if any(_places(volume) for volume in field.get("volumes").items()):
        found.add("volumes")
    return tuple(sorted(found))


def _claims(field: Field) -> tuple[str, ...]:
    volumes = (item.get("persistentVolumeClaim").get("claimName").text() for item in field.get("volumes").items())
    devices = (item.get("resourceClaimName").text() for item in field.get("resourceClaims").items())
    return tuple(sorted({*volumes, *devices} - {""}))


def _places(volume: Field) -> bool:
    named = _PLACING_VOLUMES.intersection(volume.value) if isinstance(volume.value, dict) else _PLACING_VOLUMES
    return any(volume.get(source).present for source in named)
