"""What gpusched knows of a pod: its containers' resources and the parts of the spec that decide placement.

Records only; `core.read_pod` makes them from a JSON tree. Quantities stay the text the user wrote, because admission
must judge values that do not parse.
"""

from collections.abc import Mapping
from enum import StrEnum

import msgspec

from gpusched.core.names import BOUND_ANNOTATION, DEFAULT_SCHEDULER, MIRROR_ANNOTATION
from gpusched.core.selector import NodeTerm, Requirement


class ContainerKind(StrEnum):
    """`sidecar` is an init container with restartPolicy Always."""

    APP = "app"
    INIT = "init"
    SIDECAR = "sidecar"


class Container(msgspec.Struct, frozen=True, gc=False):
    """One container. `index` counts within its own list, `containers` or `initContainers`."""

    name: str
    kind: ContainerKind
    index: int
    requests: Mapping[str, str] = {}
    limits: Mapping[str, str] = {}
    #: Literal environment values in order; None where the value comes from elsewhere (valueFrom).
    env: tuple[tuple[str, str | None], ...] = ()
    #: (protocol, host IP, port), the IP `0.0.0.0` for every address; empty for plain init containers.
    host_ports: tuple[tuple[str, str, int], ...] = ()

    @property
    def field(self) -> str:
        """The path of this container in the pod spec, such as `initContainers[0]`."""
        return f"{'containers' if self.kind is ContainerKind.APP else 'initContainers'}[{self.index}]"


class Toleration(msgspec.Struct, frozen=True, gc=False):
    """core/v1 Toleration; empty key with Exists tolerates everything, empty effect means every effect."""

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""


class PodAffinityTerm(msgspec.Struct, frozen=True, gc=False):
    """A required pod (anti-)affinity term. `selector` None matches no pod, empty tuple every pod.

    `namespaces` is the explicit list, empty for the pod's own; `namespace_selector` as `selector`.
    """

    topology_key: str
    selector: tuple[Requirement, ...] | None
    namespaces: tuple[str, ...] = ()
    namespace_selector: tuple[Requirement, ...] | None = None


class SpreadConstraint(msgspec.Struct, frozen=True, gc=False):
    """A topologySpreadConstraint with whenUnsatisfiable DoNotSchedule."""

    max_skew: int
    topology_key: str
    selector: tuple[Requirement, ...] | None
    min_domains: int = 1
    honor_affinity: bool = True
    honor_taints: bool = False


class PodSpec(msgspec.Struct, frozen=True, gc=False):
    """The parts of a pod spec that decide admission and placement."""

    containers: tuple[Container, ...] = ()
    node_name: str = ""
    scheduler_name: str = DEFAULT_SCHEDULER
    runtime_class: str | None = None
    priority: int = 0
    node_selector: Mapping[str, str] = {}
    #: Required node affinity: None when absent, else OR-ed terms (an empty tuple matches nothing).
    node_affinity: tuple[NodeTerm, ...] | None = None
    tolerations: tuple[Toleration, ...] = ()
    pod_affinity: tuple[PodAffinityTerm, ...] = ()
    pod_anti_affinity: tuple[PodAffinityTerm, ...] = ()
    spread: tuple[SpreadConstraint, ...] = ()
    gates: tuple[str, ...] = ()
    overhead: Mapping[str, str] = {}
    #: spec.resources (pod level): requests and limits.
    pod_requests: Mapping[str, str] = {}
    pod_limits: Mapping[str, str] = {}
    #: Preferred affinity or soft spread: `candidates` must then return all nodes.
    soft_preferences: bool = False
    #: What placement depends on but is not modelled, such as "volumes" or "resourceClaims".
    unmodelled: tuple[str, ...] = ()
    #: Shares the node's network; hostPort is then the containerPort.
    host_network: bool = False


class Owner(msgspec.Struct, frozen=True, gc=False):
    """The controlling owner reference."""

    kind: str
    name: str
    uid: str = ""


class Pod(msgspec.Struct, frozen=True, gc=False):
    """A pod or a pod template seen as a pod."""

    namespace: str
    name: str
    spec: PodSpec
    uid: str = ""
    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}
    owner: Owner | None = None
    phase: str = "Pending"
    deleting: bool = False
    #: metadata.creationTimestamp as written (RFC 3339 UTC sorts as text).
    created: str = ""
    #: Names of the PersistentVolumeClaims and ResourceClaims that it uses, sorted.
    claims: tuple[str, ...] = ()

    @property
    def terminal(self) -> bool:
        """Succeeded and Failed pods hold nothing; a terminating pod still holds its GPU."""
        return self.phase in {"Succeeded", "Failed"}

    @property
    def bound_by_us(self) -> bool:
        """Whether gpusched's bind put it where it is: the mark counts only if equal to spec.nodeName."""
        return bool(self.spec.node_name) and self.annotations.get(BOUND_ANNOTATION) == self.spec.node_name

    @property
    def mirror(self) -> bool:
        """Mirror pods show a static pod of a kubelet; refusing one stops nothing."""
        return MIRROR_ANNOTATION in self.annotations
