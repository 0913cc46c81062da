"""Whether one node takes one pod, and if not, the first rule that it breaks.

Static rules depend on what the node offers, live ones on what is left of it. Refusals are reported in one fixed order,
whichever resource of the pod they come from, so that equal situations read equally.
"""

from collections.abc import Callable, Iterable
from typing import Final

from gpusched.core.claims import claim_reason
from gpusched.core.codes import Reason
from gpusched.core.node import Node
from gpusched.core.pool import Pool, Sharing
from gpusched.core.usage import PoolUse, QuotaUse, pool_use
from gpusched.placement.allowance import quota_reason, quota_use_of
from gpusched.placement.request import Request
from gpusched.policy.model import Config
from gpusched.state.cluster import Cluster
from gpusched.state.node_state import NodeState

_ORDER: Final = {
    reason: place
    for place, reason in enumerate(
        (
            Reason.NO_RESOURCE,
            Reason.FAMILY,
            Reason.PRODUCT,
            Reason.MEMORY,
            Reason.SHARING,
            Reason.VERSION,
            Reason.NODE_SELECTOR,
            Reason.FACTS_UNKNOWN,
            Reason.RECONFIGURING,
            Reason.SHARED_SINGLE,
            Reason.FREE_REPLICAS,
            Reason.MEMORY_CLAIM,
            Reason.QUOTA,
        )
    )
}
#: GKE's device plugin fails a container that asks for more than one time-shared GPU:
#: https://cloud.google.com/kubernetes-engine/docs/concepts/timesharing-gpus
_SINGLE_SLOT_DIALECT: Final = "gke"


def earlier(one: Reason | None, other: Reason) -> Reason:
    """Which of two reasons is reported; the other where there is only that."""
    return other if one is None or _ORDER[other] < _ORDER[one] else one


def reason(request: Request, state: NodeState, cluster: Cluster) -> Reason | None:
    """Why the node does not take the pod, None when it does. A pod without GPU demand fits everywhere.

    What the pod itself already holds or was promised on the node is left out, so that a bind may be repeated.
    """
    return static_reason(request, state.node) or live_reason(request, state, cluster)


def static_reason(request: Request, node: Node) -> Reason | None:
    """The first static rule that the node breaks."""
    if not request.demand.slots:
        return None
    by_labels = request.resolution.constraints.reason_against_labels(node.object.labels)
    return _earliest((pools_reason(request, node), by_labels))


def pools_reason(request: Request, node: Node) -> Reason | None:
    """Static rules but for `node-selector`: equal for nodes of one kind."""
    return _earliest(_static(request, node, resource) for resource in request.demand.slots)


def live_reason(request: Request, state: NodeState, cluster: Cluster) -> Reason | None:
    """The first live rule that the node breaks: free slots, memory claims, quota."""
    use_of: Callable[[str], PoolUse] = state.use
    if request.uid in state.holders:
        use_of = use_without(state, frozenset({request.uid}))
    return left_reason(request, state.node, use_of, cluster.config, quota_use_of(request, cluster))


def left_reason(
    request: Request, node: Node, use_of: Callable[[str], PoolUse], config: Config, quota_use: QuotaUse | None
) -> Reason | None:
    """Live rules, given the use of the node's pools and of the namespace (None where no quota holds)."""
    found = _earliest(_live(request, node, resource, use_of, config) for resource in request.demand.slots)
    if found is None and quota_use is not None:
        return quota_reason(request, node, quota_use)
    return found


def use_without(state: NodeState, leaving: frozenset[str]) -> Callable[[str], PoolUse]:
    """Use of the node's pools as it would be without some of its holders, given by key."""
    staying = [holder for key, holder in state.holders.items() if key not in leaving]
    uses = {pool.resource: pool_use(pool, staying) for pool in state.node.pools}
    return lambda resource: uses.get(resource, PoolUse())


def _earliest(reasons: Iterable[Reason | None]) -> Reason | None:
    return min((reason for reason in reasons if reason is not None), key=_ORDER.__getitem__, default=None)


def _static(request: Request, node: Node, resource: str) -> Reason | None:
    if resource in node.dra_resources:
        return None
    pool = node.pool(resource)
    if pool is None:
        return Reason.NO_RESOURCE
    return request.resolution.constraints.reason_against(pool) or pool.blocked or _shared_single(request, node, pool)


def _shared_single(request: Request, node: Node, pool: Pool) -> Reason | None:
    """A container may get one slot of an MPS pool, and of a time-sliced one where configured or known to be so.

    Rule: the device plugin's failRequestsGreaterThanOne, always on under MPS
    (https://github.com/NVIDIA/k8s-device-plugin#shared-access-to-gpus).
    """
    if request.demand.largest_container(pool.resource) <= 1 or not pool.shared:
        return None
    if pool.sharing is Sharing.MPS:
        return Reason.SHARED_SINGLE
    if pool.sharing is None:
        return None
    single = request.time_slicing_single
    if single is None:
        single = _SINGLE_SLOT_DIALECT in node.dialects
    return Reason.SHARED_SINGLE if single else None


def _live(
    request: Request, node: Node, resource: str, use_of: Callable[[str], PoolUse], config: Config
) -> Reason | None:
    if resource in node.dra_resources:
        return None
    pool = node.pool(resource)
    if pool is None:
        return Reason.NO_RESOURCE
    use = use_of(resource)
    slots = request.demand.slots[resource]
    if slots > pool.slots - use.used:
        return Reason.FREE_REPLICAS
    return claim_reason(
        pool,
        use,
        slots,
        request.demand.claim_mib,
        reserve=config.claim_reserve,
        above_slot=config.claim_above_slot,
    )
