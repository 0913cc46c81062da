"""DoNotSchedule topology spread, judged as kube-scheduler's PodTopologySpread plugin judges it.

Rules: pkg/scheduler/framework/plugins/podtopologyspread/filtering.go and common.go. Only pods of the pod's own
namespace that are not being deleted count, on nodes that carry the topology keys of all constraints and pass the
constraint's nodeAffinityPolicy and nodeTaintsPolicy.
"""

from collections.abc import Hashable

import msgspec

from gpusched.core.codes import Reason
from gpusched.core.node import NodeObject
from gpusched.core.pod import Pod, SpreadConstraint
from gpusched.native.affinity import node_affinity_reason
from gpusched.native.pod_index import Counts, PodIndex, Tally
from gpusched.native.taints import untolerated
from gpusched.native.term import anchors, selects


class SpreadLimit(msgspec.Struct, frozen=True):
    """One constraint at this moment: no domain with more than `most` matching pods may take the pod."""

    topology_key: str
    counts: Counts
    most: int


def spread_limits(pod: Pod, index: PodIndex) -> tuple[SpreadLimit, ...]:
    """The limits of a pod's constraints, in the pod's order; they hold until a pod is bound or removed.

    Skew is matching pods, plus one if the pod matches its own selector, minus the least count over the domains, which
    is zero while there are fewer domains than minDomains.
    """
    limits: list[SpreadLimit] = []
    for constraint in pod.spec.spread:
        counts = _tally(constraint, pod, index).counts[constraint.topology_key]
        least = min(counts.values()) if counts and len(counts) >= constraint.min_domains else 0
        own = 1 if selects(constraint.selector, pod.labels) else 0
        limits.append(SpreadLimit(constraint.topology_key, counts, constraint.max_skew + least - own))
    return tuple(limits)


def spread_reason(limits: tuple[SpreadLimit, ...], node: NodeObject) -> Reason | None:
    """`native-spread` unless the node has every topology label and no limit is passed."""
    labels = node.labels
    for limit in limits:
        value = labels.get(limit.topology_key)
        if value is None or limit.counts.get(value, 0) > limit.most:
            return Reason.NATIVE_SPREAD
    return None


def _tally(constraint: SpreadConstraint, pod: Pod, index: PodIndex) -> Tally:
    namespace, selector = pod.namespace, constraint.selector

    def matches(other: Pod) -> bool:
        return other.namespace == namespace and not other.deleting and selects(selector, other.labels)

    def build() -> Tally:
        domains: Counts = {}
        eligible: set[str] = set()
        for node in index.nodes:
            if _eligible(constraint, pod, node):
                domains[node.labels[constraint.topology_key]] = 0
                eligible.add(node.name)
        return Tally(matches, {constraint.topology_key: domains}, frozenset(eligible))

    # kube-scheduler counts nothing for an empty selector, though the pod itself matches it (countPodsMatchSelector).
    return index.tally(_question(constraint, pod), anchors(selector) if selector else (), build)


def _eligible(constraint: SpreadConstraint, pod: Pod, node: NodeObject) -> bool:
    spec = pod.spec
    if not all(other.topology_key in node.labels for other in spec.spread):
        return False
    if constraint.honor_affinity and node_affinity_reason(spec, node) is not None:
        return False
    return not constraint.honor_taints or untolerated(spec.tolerations, node.taints) is None


def _question(constraint: SpreadConstraint, pod: Pod) -> Hashable:
    spec = pod.spec
    return (
        pod.namespace,
        constraint.selector,
        constraint.topology_key,
        frozenset(other.topology_key for other in spec.spread),
        (frozenset(spec.node_selector.items()), spec.node_affinity) if constraint.honor_affinity else None,
        spec.tolerations if constraint.honor_taints else None,
    )
