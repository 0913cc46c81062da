"""Required pod affinity and anti-affinity, judged as kube-scheduler's InterPodAffinity plugin judges them.

Rules: pkg/scheduler/framework/plugins/interpodaffinity/filtering.go. Pods that are being deleted still count.
"""

import msgspec

from gpusched.core.codes import Reason
from gpusched.core.node import NodeObject
from gpusched.core.pod import Pod, PodAffinityTerm
from gpusched.native.pod_index import Counts, PodIndex, Tally
from gpusched.native.term import anchors, term_matches


class PodAffinityRules(msgspec.Struct, frozen=True):
    """What a node must satisfy for one pod, as (topology key, counts by value) pairs.

    A required count must be above zero, with the label present; a forbidden one must be zero. `first` waives the
    counts, not the labels, of the required ones.
    """

    required: tuple[tuple[str, Counts], ...] = ()
    first: bool = False
    forbidden: tuple[tuple[str, Counts], ...] = ()

    @property
    def empty(self) -> bool:
        """Whether every node satisfies them."""
        return not self.required and not self.forbidden


def pod_affinity_rules(pod: Pod, index: PodIndex) -> PodAffinityRules:
    """The rules of a pod against the bound pods of this moment: its own terms, and bound pods' terms against it.

    A pod fulfils the affinity of another only if it matches all its terms. The first pod of a group with affinity to
    itself passes: no bound pod matches, and the pod matches its own terms (satisfyPodAffinity).
    """
    spec = pod.spec
    forbidden = [(group.term.topology_key, group.counts) for group in index.groups_against(pod)]
    for term in spec.pod_anti_affinity:
        tally = _tally((term,), pod.namespace, index)
        forbidden.append((term.topology_key, tally.counts[term.topology_key]))
    if not spec.pod_affinity:
        return PodAffinityRules(forbidden=tuple(forbidden))
    tally = _tally(spec.pod_affinity, pod.namespace, index)
    return PodAffinityRules(
        required=tuple(tally.counts.items()),
        first=tally.empty and tally.matches(pod),
        forbidden=tuple(forbidden),
    )


def pod_affinity_reason(rules: PodAffinityRules, node: NodeObject) -> Reason | None:
    """`native-pod-affinity` unless the node satisfies the rules."""
    labels = node.labels
    for key, counts in rules.required:
        value = labels.get(key)
        if value is None or not (rules.first or counts.get(value)):
            return Reason.NATIVE_POD_AFFINITY
    for key, counts in rules.forbidden:
        value = labels.get(key)
        if value is not None and counts.get(value):
            return Reason.NATIVE_POD_AFFINITY
    return None


def broken_terms(
    pod: Pod, rules: PodAffinityRules, node: NodeObject
) -> tuple[tuple[PodAffinityTerm, ...], tuple[PodAffinityTerm, ...], bool]:
    """The pod's own affinity and anti-affinity terms that the node breaks, and whether terms of bound pods speak
    against it too.
    """
    spec, labels = pod.spec, node.labels
    unmet = {key for key, counts in rules.required if key not in labels or not (rules.first or counts.get(labels[key]))}
    hit = [key in labels and bool(counts.get(labels[key])) for key, counts in rules.forbidden]
    # The rules hold those of bound pods first, then the pod's own in their order.
    others = len(hit) - len(spec.pod_anti_affinity)
    own = tuple(term for term, broken in zip(spec.pod_anti_affinity, hit[others:], strict=True) if broken)
    return tuple(term for term in spec.pod_affinity if term.topology_key in unmet), own, any(hit[:others])


def _tally(terms: tuple[PodAffinityTerm, ...], namespace: str, index: PodIndex) -> Tally:
    namespace_labels = index.namespace_labels

    def matches(pod: Pod) -> bool:
        return all(term_matches(term, namespace, pod, namespace_labels) for term in terms)

    def build() -> Tally:
        return Tally(matches, {term.topology_key: {} for term in terms})

    return index.tally((namespace, terms), anchors(terms[0].selector), build)
