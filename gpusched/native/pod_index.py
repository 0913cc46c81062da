"""Bound pods, counted by topology value for each question that affinity and spread rules have asked so far.

kube-scheduler walks all pods for every pod it schedules (PreFilter). Here a count is made once per distinct question
and kept up to date, and pods and questions find each other through the labels that the selectors ask for.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import TypeVar

import msgspec

from gpusched.core.node import NodeObject
from gpusched.core.pod import Pod, PodAffinityTerm
from gpusched.native.term import LabelPair, anchors, term_matches

#: Topology value → number of pods.
Counts = dict[str, int]
T = TypeVar("T")


class Tally(msgspec.Struct):
    """How many bound pods satisfy a condition, per topology key and value; `counts` holds every key from the start.

    Only nodes in `eligible` count, all of them when it is None. Pods on nodes without the label count nowhere.
    """

    matches: Callable[[Pod], bool]
    counts: dict[str, Counts]
    eligible: frozenset[str] | None = None

    def count(self, pod: Pod, node: NodeObject, step: int) -> None:
        """Count a pod in (1) or out (-1)."""
        if (self.eligible is not None and node.name not in self.eligible) or not self.matches(pod):
            return
        for key, counts in self.counts.items():
            value = node.labels.get(key)
            if value is not None:
                counts[value] = counts.get(value, 0) + step

    @property
    def empty(self) -> bool:
        """Whether no pod counts anywhere."""
        return not any(any(counts.values()) for counts in self.counts.values())


class AntiAffinityGroup(msgspec.Struct):
    """Bound pods of one namespace that carry one required anti-affinity term, counted by topology value."""

    term: PodAffinityTerm
    namespace: str
    counts: Counts


class PodIndex:
    """Bound pods with their nodes, the tallies over them, and their own anti-affinity terms."""

    def __init__(self, nodes: Iterable[NodeObject], namespace_labels: Mapping[str, Mapping[str, str]]) -> None:
        self.nodes = tuple(nodes)
        self.namespace_labels = namespace_labels
        self._pods: dict[str, tuple[Pod, NodeObject]] = {}
        self._pods_by_label: dict[LabelPair, dict[str, None]] = {}
        self._tallies: dict[Hashable, Tally] = {}
        self._tallies_by_label: dict[LabelPair | None, list[Tally]] = {}
        self._groups: dict[tuple[str, PodAffinityTerm], AntiAffinityGroup] = {}
        self._groups_by_label: dict[LabelPair | None, list[AntiAffinityGroup]] = {}
        #: Label keys that the anti-affinity terms of bound pods ask for.
        self.keys_against: frozenset[str] = frozenset()

    def add(self, key: str, pod: Pod, node: NodeObject) -> None:
        """Take in a bound pod under a key that is not yet in use."""
        self._pods[key] = (pod, node)
        for label in pod.labels.items():
            self._pods_by_label.setdefault(label, {})[key] = None
        self._count(pod, node, 1)

    def remove(self, key: str) -> None:
        """Undo `add`. KeyError when there is no such key."""
        pod, node = self._pods.pop(key)
        for label in pod.labels.items():
            del self._pods_by_label[label][key]
        self._count(pod, node, -1)

    def tally(self, question: Hashable, anchored: tuple[LabelPair, ...] | None, build: Callable[[], Tally]) -> Tally:
        """The tally of a question, built and filled at its first asking.

        `anchored` are the `anchors` of the condition; the condition must be false for pods without any of them.
        """
        found = self._tallies.get(question)
        if found is not None:
            return found
        tally = self._tallies[question] = build()
        for pod, node in self._candidates(anchored):
            tally.count(pod, node, 1)
        for label in (None,) if anchored is None else anchored:
            self._tallies_by_label.setdefault(label, []).append(tally)
        return tally

    def groups_against(self, pod: Pod) -> list[AntiAffinityGroup]:
        """Groups of bound pods whose anti-affinity term speaks of the pod."""
        if not self._groups:
            return []
        return [
            group
            for group in _by_labels(self._groups_by_label, pod)
            if term_matches(group.term, group.namespace, pod, self.namespace_labels)
        ]

    def _candidates(self, anchored: tuple[LabelPair, ...] | None) -> Iterable[tuple[Pod, NodeObject]]:
        if anchored is None:
            return self._pods.values()
        return (self._pods[key] for label in anchored for key in self._pods_by_label.get(label, ()))

    def _count(self, pod: Pod, node: NodeObject, step: int) -> None:
        for tally in _by_labels(self._tallies_by_label, pod):
            tally.count(pod, node, step)
        for term in pod.spec.pod_anti_affinity:
            value = node.labels.get(term.topology_key)
            if value is not None:
                counts = self._group(term, pod.namespace).counts
                counts[value] = counts.get(value, 0) + step

    def _group(self, term: PodAffinityTerm, namespace: str) -> AntiAffinityGroup:
        group = self._groups.get((namespace, term))
        if group is None:
            group = self._groups[namespace, term] = AntiAffinityGroup(term, namespace, {})
            self.keys_against |= {part.key for part in term.selector or ()}
            anchored = anchors(term.selector)
            for label in (None,) if anchored is None else anchored:
                self._groups_by_label.setdefault(label, []).append(group)
        return group


def _by_labels(index: Mapping[LabelPair | None, list[T]], pod: Pod) -> Iterator[T]:
    yield from index.get(None, ())
    for label in pod.labels.items():
        yield from index.get(label, ())
