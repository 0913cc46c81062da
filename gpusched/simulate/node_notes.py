"""What is to be said about a node as a whole: above all that its slots take nobody now, or not everybody."""

from typing import Final

from gpusched.core.node import Taint
from gpusched.core.pod import Toleration
from gpusched.native.taints import FILTERING_EFFECTS, tolerates
from gpusched.state.cluster import Cluster
from gpusched.state.node_state import NodeState

#: Taints that Kubernetes itself sets for what a node is in: not ready, cordoned, short of memory, not yet initialised.
_SYSTEM: Final = ("node.kubernetes.io/", "node.cloudprovider.kubernetes.io/")


def node_notes(state: NodeState, cluster: Cluster) -> tuple[str, ...]:
    """Short sentences, the gravest first."""
    seen = state.node.object
    return (
        *(["cordoned"] if seen.unschedulable else []),
        *([] if seen.ready else ["not ready"]),
        *(f"taint {taint_text(taint)}" for taint in foreign_taints(state, cluster)),
        *state.node.notes,
    )


def foreign_taints(state: NodeState, cluster: Cluster) -> tuple[Taint, ...]:
    """Taints that keep every GPU pod away but those that tolerate them by themselves: admission adds tolerations for
    taints named after the GPU resource, and the configured ones.
    """
    offered = [pool for pool in state.node.pools if pool.slots]
    names = {pool.resource for pool in offered} | {cluster.resources.main(pool.vendor) for pool in offered}
    given = (*(Toleration(key=name, operator="Exists") for name in sorted(names)), *cluster.config.tolerations)
    return tuple(
        taint
        for taint in (state.node.object.taints if offered else ())
        if taint.effect in FILTERING_EFFECTS and not taint.key.startswith(_SYSTEM) and not tolerates(given, taint)
    )


def taint_text(taint: Taint) -> str:
    """As kubectl writes it: key=value:effect."""
    return f"{taint.key}={taint.value}:{taint.effect}" if taint.value else f"{taint.key}:{taint.effect}"
