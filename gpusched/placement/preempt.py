"""The extender's preempt: which nodes are worth evicting pods for."""

from collections.abc import Mapping, Sequence

from gpusched.core.usage import QuotaUse
from gpusched.placement.allowance import quota_use_of, use_after
from gpusched.placement.fit import left_reason, static_reason, use_without
from gpusched.placement.request import Request
from gpusched.state.cluster import Cluster
from gpusched.state.node_state import NodeState


def preempt(request: Request, victims: Mapping[str, Sequence[str]], cluster: Cluster) -> dict[str, list[str]]:
    """The nodes, of those offered with their victims' UIDs, that would take the pod once the victims are gone.

    Victims are never changed. A node without victims is left out: kube-scheduler fails the whole preemption over it
    (pkg/scheduler/framework/preemption, "expected at least one victim pod"), and so is a node that is not known.
    """
    quota_use = quota_use_of(request, cluster)
    kept: dict[str, list[str]] = {}
    for name, uids in victims.items():
        state = cluster.nodes.get(name)
        if state is not None and uids and _would_fit(request, state, frozenset(uids), quota_use, cluster):
            kept[name] = list(uids)
    return kept


def _would_fit(
    request: Request, state: NodeState, leaving: frozenset[str], quota_use: QuotaUse | None, cluster: Cluster
) -> bool:
    if static_reason(request, state.node) is not None:
        return False
    if quota_use is not None:
        gone = (holder for key, holder in state.holders.items() if key in leaving)
        quota_use = use_after(quota_use, request.namespace, state.node, gone)
    use_of = use_without(state, leaving | {request.uid})
    return left_reason(request, state.node, use_of, cluster.config, quota_use) is None
