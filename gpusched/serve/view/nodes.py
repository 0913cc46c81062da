"""Nodes as the page and `gpusched top` show them: pools, slots and who holds them, for one caller."""

import msgspec

from gpusched.core.pool import Pool
from gpusched.core.usage import Holder
from gpusched.serve.view.access import Scope
from gpusched.simulate.node_notes import foreign_taints, node_notes, taint_text
from gpusched.state.cluster import Cluster
from gpusched.state.node_state import NodeState


class HolderView(msgspec.Struct, frozen=True, omit_defaults=True):
    """Slots of a pool that one pod holds. Without names for callers who may not list pods of its namespace.

    `claim_mib` is per slot. `ending` marks pods that are being terminated, `outside` those bound round gpusched.
    """

    slots: int
    namespace: str | None = None
    name: str | None = None
    claim_mib: int | None = None
    ending: bool = False
    outside: bool = False


class PoolView(msgspec.Struct, frozen=True):
    """One GPU resource of a node; unknown facts are null, memory is in MiB.

    `devices` are GPUs or MIG instances, each with `replicas` slots; `device_memory_mib` is what the slots of one of
    them share. `claimed_mib` is the sum of claims. `blocked` says why nobody is placed here now.
    """

    resource: str
    vendor: str
    family: str | None
    product: str | None
    sharing: str | None
    slots: int
    used: int
    devices: int | None
    replicas: int | None
    device_memory_mib: int | None
    slot_memory_mib: int | None
    claimed_mib: int
    blocked: str | None
    holders: tuple[HolderView, ...]
    notes: tuple[str, ...]


class NodeView(msgspec.Struct, frozen=True):
    """One node. `state` is ready, cordoned or not-ready; `version` grows with every change. `taints` keep GPU pods away
    that do not tolerate them themselves.
    """

    name: str
    state: str
    version: int
    taints: tuple[str, ...]
    pools: tuple[PoolView, ...]
    notes: tuple[str, ...]


def node_view(state: NodeState, scope: Scope, cluster: Cluster) -> NodeView:
    """The node for a caller."""
    return NodeView(
        name=state.node.name,
        state=_state(state),
        version=state.version,
        taints=tuple(map(taint_text, foreign_taints(state, cluster))),
        pools=tuple(_pool_view(pool, state, scope) for pool in state.node.pools if _shown(pool, state)),
        notes=node_notes(state, cluster),
    )


def is_shown(state: NodeState) -> bool:
    """Whether a node is about GPUs at all."""
    return bool(state.node.pools or state.node.notes)


def _shown(pool: Pool, state: NodeState) -> bool:
    """A resource that a node names but offers none of is left out beside others."""
    return len(state.node.pools) == 1 or bool(pool.slots or state.use(pool.resource).used)


def _state(state: NodeState) -> str:
    seen = state.node.object
    if not seen.ready:
        return "not-ready"
    return "cordoned" if seen.unschedulable else "ready"


def _pool_view(pool: Pool, state: NodeState, scope: Scope) -> PoolView:
    use = state.use(pool.resource)
    return PoolView(
        resource=pool.resource,
        vendor=pool.vendor,
        family=pool.family,
        product=pool.product,
        sharing=None if pool.sharing is None else str(pool.sharing),
        slots=pool.slots,
        used=use.used,
        devices=pool.devices,
        replicas=pool.replicas,
        device_memory_mib=pool.device_memory_mib,
        slot_memory_mib=pool.slot_memory_mib,
        claimed_mib=sum(use.claims),
        blocked=None if pool.blocked is None else str(pool.blocked),
        holders=tuple(
            _holder_view(holder, slots, scope)
            for holder in sorted(state.holders.values(), key=lambda holder: (holder.namespace, holder.name))
            if (slots := holder.slots.get(pool.resource, 0))
        ),
        notes=pool.notes,
    )


def _holder_view(holder: Holder, slots: int, scope: Scope) -> HolderView:
    if not scope.sees(holder.namespace):
        return HolderView(slots=slots, claim_mib=holder.claim_mib)
    return HolderView(
        slots=slots,
        namespace=holder.namespace,
        name=holder.name,
        claim_mib=holder.claim_mib,
        ending=holder.deleting,
        outside=holder.outside,
    )
