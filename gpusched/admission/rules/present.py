"""The pools of today that a pod's request could meet, for warnings only: what is absent now may come back."""

from collections.abc import Iterator

from gpusched.admission.admission import Context
from gpusched.core.node import Node
from gpusched.core.pod import Pod
from gpusched.core.pool import Pool
from gpusched.native.affinity import node_affinity_reason


def eligible_nodes(pod: Pod, ctx: Context) -> tuple[Node, ...]:
    """Nodes that the pod's own node selector and the policy's leave, in the order of the cluster facts."""
    constraints = ctx.resolution.constraints
    return tuple(
        node
        for node in ctx.facts.nodes
        if node_affinity_reason(pod.spec, node.object) is None
        and constraints.reason_against_labels(node.object.labels) is None
    )


def serving_pools(pod: Pod, resource: str, ctx: Context) -> tuple[Pool, ...]:
    """Pools with slots of a resource on eligible nodes that satisfy the static constraints."""
    return tuple(
        pool
        for pool in _pools(eligible_nodes(pod, ctx), resource)
        if ctx.resolution.constraints.reason_against(pool) is None
    )


def _pools(nodes: tuple[Node, ...], resource: str) -> Iterator[Pool]:
    for node in nodes:
        pool = node.pool(resource)
        if pool is not None and pool.slots > 0:
            yield pool
