"""The pools of today that a pod's request could meet, for warnings only: what is absent now may come back."""

from collections.abc import Iterable, Iterator

import msgspec

from gpusched.admission.admission import Context
from gpusched.core.demand import Demand
from gpusched.core.names import PREFIX
from gpusched.core.node import Node
from gpusched.core.pod import Pod, PodSpec
from gpusched.core.pool import Pool, Sharing
from gpusched.core.selector import NodeTerm
from gpusched.native.affinity import named_nodes, node_affinity_reason


def eligible_nodes(pod: Pod, ctx: Context) -> Iterator[Node]:
    """Nodes that the pod's own node selector and the policy's leave: one of each kind that differs for this pod."""
    constraints = ctx.resolution.constraints
    for node in _kinds(pod.spec, ctx):
        if (
            node_affinity_reason(_judged_by(pod.spec, node), node.object) is None
            and constraints.reason_against_labels(node.object.labels) is None
        ):
            yield node


def serving_pools(pod: Pod, resource: str, ctx: Context) -> tuple[Pool, ...]:
    """Pools with slots of a resource on eligible nodes that satisfy the static constraints."""
    return tuple(
        pool
        for pool in _pools(eligible_nodes(pod, ctx), resource)
        if ctx.resolution.constraints.reason_against(pool) is None
    )


def could_serve(node: Node, demand: Demand, ctx: Context) -> bool:
    """Whether the node, when empty, has every resource asked for under the static constraints; labels aside."""
    return all(_serves(node, resource, demand, ctx) for resource in demand.slots)


def _serves(node: Node, resource: str, demand: Demand, ctx: Context) -> bool:
    if resource in node.dra_resources:
        return True
    pool = node.pool(resource)
    if pool is None or pool.slots < demand.slots[resource]:
        return False
    if pool.sharing is Sharing.MPS and demand.largest_container(resource) > 1:
        return False
    # A blocked pool comes back with facts of its own, which nobody knows yet.
    return pool.blocked is not None or ctx.resolution.constraints.reason_against(pool) is None


def _kinds(spec: PodSpec, ctx: Context) -> Iterator[Node]:
    """One node of each group and of each combination of labels that the pod or its policy asks for."""
    terms = spec.node_affinity or ()
    keys = {*spec.node_selector, *(part.key for term in terms for part in term.expressions)}
    keys.update(part.key for part in ctx.resolution.constraints.node_selector)
    asked, names = tuple(sorted(keys)), named_nodes(spec)
    by_name = any(term.fields for term in terms)
    for group in ctx.facts.groups:
        if names is not None:
            yield from group.named(names)
        else:
            yield from group.nodes if by_name else group.distinct(asked)


def _judged_by(spec: PodSpec, node: Node) -> PodSpec:
    """The spec, without affinity to labels of gpusched where they are missing or about to change.

    A pod that comes in again has been given such affinity; what it stands for is judged by the pools themselves.
    """
    if spec.node_affinity is None:
        return spec
    if f"{PREFIX}vendor" in node.object.labels and all(pool.blocked is None for pool in node.pools):
        return spec
    terms = [(term, _of_others(term)) for term in spec.node_affinity]
    emptied = any(other == NodeTerm() != term for term, other in terms)
    others = None if emptied else tuple(other for _, other in terms)
    return msgspec.structs.replace(spec, node_affinity=others)


def _of_others(term: NodeTerm) -> NodeTerm:
    return NodeTerm(tuple(part for part in term.expressions if not part.key.startswith(PREFIX)), term.fields)


def _pools(nodes: Iterable[Node], resource: str) -> Iterator[Pool]:
    for node in nodes:
        pool = node.pool(resource)
        if pool is not None and pool.slots > 0:
            yield pool
