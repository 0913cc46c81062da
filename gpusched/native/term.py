"""Which pods a pod affinity term speaks of, and the label pairs by which such pods can be looked up."""

from collections.abc import Mapping
from typing import Final

from gpusched.core.pod import Pod, PodAffinityTerm, PodSpec, SpreadConstraint
from gpusched.core.selector import Operator, Requirement, all_match

#: A label as (key, value).
LabelPair = tuple[str, str]
Selector = tuple[Requirement, ...] | None

#: Of this topology every node is a domain by itself.
_HOSTNAME: Final = "kubernetes.io/hostname"
#: Every namespace has it: the API server sets it (KEP-2161).
NAMESPACE_NAME_LABEL = "kubernetes.io/metadata.name"


def selects(selector: Selector, labels: Mapping[str, str]) -> bool:
    """Whether a label selector matches: absent matches nothing, empty everything (metav1.LabelSelectorAsSelector)."""
    return selector is not None and all_match(selector, labels)


def looks_around(spec: PodSpec) -> tuple[PodAffinityTerm | SpreadConstraint, ...]:
    """The rules of a pod for which pods on other nodes count. Spread compares all domains, and affinity asks whether
    there is any such pod; anti-affinity within a node does not look beyond it.
    """
    return (*spec.pod_affinity, *spec.spread, *wide(spec.pod_anti_affinity))


def wide(terms: tuple[PodAffinityTerm, ...]) -> tuple[PodAffinityTerm, ...]:
    """The terms of which one domain may be several nodes."""
    return tuple(term for term in terms if term.topology_key != _HOSTNAME)


def term_matches(
    term: PodAffinityTerm, owner_namespace: str, pod: Pod, namespace_labels: Mapping[str, Mapping[str, str]]
) -> bool:
    """Whether the term, written on a pod of `owner_namespace`, speaks of `pod`; topology is not looked at.

    Rules: kube-scheduler framework types, AffinityTerm.Matches and getNamespacesFromPodAffinityTerm. Without a list of
    namespaces and without a namespaceSelector the owner's own namespace is meant; with both, either suffices. A
    namespace that is not in `namespace_labels` has only its name label.
    """
    if not selects(term.selector, pod.labels):
        return False
    if term.namespaces:
        if pod.namespace in term.namespaces:
            return True
    elif term.namespace_selector is None:
        return pod.namespace == owner_namespace
    if term.namespace_selector is None:
        return False
    name_label = {NAMESPACE_NAME_LABEL: pod.namespace}
    return all_match(term.namespace_selector, {**name_label, **namespace_labels.get(pod.namespace, {})})


def anchors(selector: Selector) -> tuple[LabelPair, ...] | None:
    """Label pairs of which every selected pod carries exactly one; None when the selector guarantees none.

    A selector that matches nothing has no anchors at all: `()`.
    """
    if selector is None:
        return ()
    for requirement in selector:
        if requirement.operator is Operator.IN:
            return tuple((requirement.key, value) for value in dict.fromkeys(requirement.values))
    return None
