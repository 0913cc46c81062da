"""nodeSelector and required node affinity, judged as kube-scheduler's NodeAffinity plugin judges them."""

from gpusched.core.codes import Reason
from gpusched.core.node import NodeObject
from gpusched.core.pod import PodSpec
from gpusched.core.selector import NodeTerm, Operator


def node_affinity_reason(spec: PodSpec, node: NodeObject) -> Reason | None:
    """`native-affinity` unless every nodeSelector pair and at least one required term match the node.

    Rules: component-helpers/scheduling/corev1/nodeaffinity/nodeaffinity.go, RequiredNodeAffinity.Match. Terms are
    OR-ed, requirements inside a term AND-ed; an empty term and an empty list of terms match nothing.
    """
    labels = node.labels
    for key, value in spec.node_selector.items():
        if labels.get(key) != value:
            return Reason.NATIVE_AFFINITY
    terms = spec.node_affinity
    if terms is None:
        return None
    for term in terms:
        if term.matches(node.name, labels):
            return None
    return Reason.NATIVE_AFFINITY


def named_nodes(spec: PodSpec) -> frozenset[str] | None:
    """The only nodes that the terms admit by metadata.name, None when some term names no node.

    kube-scheduler looks at no other node, so those are refused by node affinity whatever else speaks against them.
    Rule: pkg/scheduler/framework/plugins/nodeaffinity/node_affinity.go, PreFilter.
    """
    if not spec.node_affinity:
        return None
    names: set[str] = set()
    for term in spec.node_affinity:
        named = _named(term)
        if named is None:
            return None
        names |= named
    return frozenset(names)


def _named(term: NodeTerm) -> set[str] | None:
    names: set[str] | None = None
    for field in term.fields:
        if field.key == "metadata.name" and field.operator is Operator.IN:
            names = set(field.values) if names is None else names.intersection(field.values)
    return names
