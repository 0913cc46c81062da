"""The results of offline commands, in the shape and order of their JSON output."""

from collections.abc import Iterable, Mapping

import msgspec

from gpusched.admission.admission import Admission
from gpusched.core.codes import Finding
from gpusched.core.pool import Pool
from gpusched.simulate.node_notes import node_notes
from gpusched.state.cluster import Cluster
from gpusched.state.node_state import NodeState


class FindingView(msgspec.Struct, frozen=True):
    """A warning."""

    code: str
    message: str


class AdmissionView(msgspec.Struct, frozen=True):
    """The admission verdict of one object."""

    allowed: bool
    code: str | None
    message: str | None
    warnings: tuple[FindingView, ...]
    patch: tuple[dict[str, object], ...]


class PlacementView(msgspec.Struct, frozen=True):
    """Where a pod goes; `resources` holds GPU resources only."""

    node: str
    resources: Mapping[str, int]
    score: int


class ReasonView(msgspec.Struct, frozen=True):
    """A reason with the number of nodes that gave it."""

    code: str
    message: str
    nodes: int


class UnschedulableView(msgspec.Struct, frozen=True):
    """Why no node takes a pod, the reason of the nearest node first, and the smallest change that would fit."""

    reasons: tuple[ReasonView, ...]
    suggestion: str


class PodView(msgspec.Struct, frozen=True):
    """One pod of the manifests."""

    namespace: str
    name: str
    owner: str | None
    source: str
    admission: AdmissionView
    placement: PlacementView | None = None
    unschedulable: UnschedulableView | None = None
    gated: str | None = None
    notes: tuple[str, ...] = ()


class CheckView(msgspec.Struct, frozen=True):
    """One object as applied, judged by admission alone: the element of `simulate` without a placement.

    `unschedulable` and `gated` stay null, so that programs read both outputs alike.
    """

    namespace: str
    name: str
    kind: str
    owner: str | None
    source: str
    admission: AdmissionView
    unschedulable: None = None
    gated: None = None
    notes: tuple[str, ...] = ()


class NamespaceView(msgspec.Struct, frozen=True):
    """A Namespace of the manifests."""

    name: str
    admission: AdmissionView


class PoolView(msgspec.Struct, frozen=True):
    """One pool of a node; unknown facts are null."""

    resource: str
    vendor: str
    family: str | None
    product: str | None
    sharing: str | None
    slots: int
    used: int
    replicas: int | None
    gpu_memory_mib: int | None
    visible_memory_mib: int | None
    slot_memory_mib: int | None
    notes: tuple[str, ...]


class NodeView(msgspec.Struct, frozen=True):
    """One node with its pools."""

    name: str
    pools: tuple[PoolView, ...]


class ErrorView(msgspec.Struct, frozen=True):
    """Something in the input that could not be used."""

    source: str
    path: str
    message: str


class Summary(msgspec.Struct, frozen=True):
    """Each pod counts once."""

    pods: int
    placed: int = 0
    denied: int = 0
    unschedulable: int = 0
    gated: int = 0


class SimulateResult(msgspec.Struct, frozen=True):
    """The whole answer of `simulate`."""

    pods: tuple[PodView, ...]
    namespaces: tuple[NamespaceView, ...]
    nodes: tuple[NodeView, ...]
    errors: tuple[ErrorView, ...]
    summary: Summary


class CheckResult(msgspec.Struct, frozen=True):
    """The whole answer of `check`; of the summary only `pods` (objects but for Namespaces) and `denied` can be
    more than 0.
    """

    pods: tuple[CheckView, ...]
    namespaces: tuple[NamespaceView, ...]
    errors: tuple[ErrorView, ...]
    summary: Summary


def admission_view(admission: Admission) -> AdmissionView:
    """The verdict; refusals after the first follow as warnings, so that all can be mended at once."""
    return AdmissionView(
        allowed=admission.allowed,
        code=admission.code.value if admission.code else None,
        message=admission.message or None,
        warnings=tuple(_finding(finding) for finding in admission.refusals[1:] + admission.warnings),
        patch=tuple(op.as_json() for op in admission.patch),
    )


def _finding(finding: Finding) -> FindingView:
    return FindingView(code=finding.code.value, message=finding.message)


def node_views(nodes: Iterable[NodeState], cluster: Cluster) -> tuple[NodeView, ...]:
    """Nodes by name, with the use of their pools; notes about a node stand with its first pool."""
    return tuple(_node_view(state, cluster) for state in sorted(nodes, key=lambda state: state.node.name))


def _node_view(state: NodeState, cluster: Cluster) -> NodeView:
    node = state.node
    pools = []
    for index, pool in enumerate(node.pools):
        notes = (*node_notes(state, cluster), *pool.notes) if index == 0 else pool.notes
        pools.append(_pool_view(pool, state.use(pool.resource).used, notes))
    return NodeView(name=node.name, pools=tuple(pools))


def _pool_view(pool: Pool, used: int, notes: tuple[str, ...]) -> PoolView:
    return PoolView(
        resource=pool.resource,
        vendor=pool.vendor,
        family=pool.family,
        product=pool.product,
        sharing=pool.sharing.value if pool.sharing else None,
        slots=pool.slots,
        used=used,
        replicas=pool.replicas,
        gpu_memory_mib=pool.gpu_memory_mib,
        visible_memory_mib=pool.visible_memory_mib,
        slot_memory_mib=pool.slot_memory_mib,
        notes=notes,
    )
