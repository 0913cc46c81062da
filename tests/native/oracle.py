"""Spread and pod affinity worked out the slow way, walking every bound pod as kube-scheduler's PreFilter does.

Written from filtering.go of kube-scheduler's podtopologyspread and interpodaffinity plugins, apart from the code under
test, to be compared with it.
"""

from collections import Counter
from collections.abc import Mapping

from gpusched.core.node import NodeObject
from gpusched.core.pod import Pod, PodAffinityTerm
from gpusched.core.selector import Requirement

Bound = list[tuple[Pod, NodeObject]]
Namespaces = Mapping[str, Mapping[str, str]]


def selected(selector: tuple[Requirement, ...] | None, labels: Mapping[str, str]) -> bool:
    return selector is not None and all(requirement.matches(labels) for requirement in selector)


def speaks_of(term: PodAffinityTerm, owner: Pod, other: Pod, namespaces: Namespaces) -> bool:
    listed = set(term.namespaces)
    if not listed and term.namespace_selector is None:
        listed = {owner.namespace}
    in_scope = other.namespace in listed or selected(term.namespace_selector, namespaces[other.namespace])
    return in_scope and selected(term.selector, other.labels)


def spread_fits(pod: Pod, node: NodeObject, nodes: list[NodeObject], bound: Bound) -> bool:
    constraints = pod.spec.spread
    for constraint in constraints:
        key = constraint.topology_key
        if key not in node.labels:
            return False
        matched: Counter[str] = Counter()
        for where in nodes:
            if any(other.topology_key not in where.labels for other in constraints):
                continue
            if constraint.honor_affinity and any(
                where.labels.get(name) != value for name, value in pod.spec.node_selector.items()
            ):
                continue
            matched[where.labels[key]] += sum(
                constraint.selector != ()
                and not other.deleting
                and other.namespace == pod.namespace
                and selected(constraint.selector, other.labels)
                for other, place in bound
                if place is where
            )
        least = 0 if len(matched) < constraint.min_domains else min(matched.values())
        if matched[node.labels[key]] + selected(constraint.selector, pod.labels) - least > constraint.max_skew:
            return False
    return True


def affinity_fits(pod: Pod, node: NodeObject, bound: Bound, namespaces: Namespaces) -> bool:
    wanted: Counter[tuple[str, str]] = Counter()
    unwanted: Counter[tuple[str, str]] = Counter()
    guarded: Counter[tuple[str, str]] = Counter()
    terms, anti_terms = pod.spec.pod_affinity, pod.spec.pod_anti_affinity
    for other, place in bound:
        if terms and all(speaks_of(term, pod, other, namespaces) for term in terms):
            _count(wanted, terms, place)
        _count(unwanted, tuple(term for term in anti_terms if speaks_of(term, pod, other, namespaces)), place)
        theirs = other.spec.pod_anti_affinity
        _count(guarded, tuple(term for term in theirs if speaks_of(term, other, pod, namespaces)), place)
    if any(term.topology_key not in node.labels for term in terms):
        return False
    if any(not wanted[term.topology_key, node.labels[term.topology_key]] for term in terms) and (
        +wanted or not all(speaks_of(term, pod, pod, namespaces) for term in terms)
    ):
        return False
    if any(unwanted[term.topology_key, node.labels.get(term.topology_key, "")] for term in anti_terms):
        return False
    return not any(guarded[pair] for pair in node.labels.items())


def _count(counter: Counter[tuple[str, str]], terms: tuple[PodAffinityTerm, ...], place: NodeObject) -> None:
    for term in terms:
        if term.topology_key in place.labels:
            counter[term.topology_key, place.labels[term.topology_key]] += 1
