"""The native books of a cluster: what bound pods use of every node, and what they mean for affinity and spread."""

from collections.abc import Iterable, Mapping

import msgspec

from gpusched.core.node import NodeObject
from gpusched.core.pod import Pod
from gpusched.native.node import BoundPod, NativeNode
from gpusched.native.pod_affinity import PodAffinityRules, pod_affinity_rules
from gpusched.native.pod_index import PodIndex
from gpusched.native.ports import HostPort, host_ports
from gpusched.native.spread import SpreadLimit, spread_limits

__all__ = ["NativeLedger", "NativeNode", "Outlook", "pod_key"]


class Outlook(msgspec.Struct, frozen=True):
    """What one pod meets on any node, worked out once per state of the books (kube-scheduler's PreFilter)."""

    pod: Pod
    ports: tuple[HostPort, ...]
    spread: tuple[SpreadLimit, ...]
    affinity: PodAffinityRules

    @property
    def local(self) -> bool:
        """Whether a node's answer depends on that node's own books alone."""
        return not self.spread and self.affinity.empty


class NativeLedger:
    """Mutable books over a fixed set of nodes; of several with one name the last counts.

    `version` grows with every change.
    """

    def __init__(
        self, nodes: Iterable[NodeObject], namespace_labels: dict[str, Mapping[str, str]] | None = None
    ) -> None:
        self._namespace_labels: dict[str, Mapping[str, str]] = {} if namespace_labels is None else namespace_labels
        self.nodes: dict[str, NativeNode] = {node.name: NativeNode(node) for node in nodes}
        self.version = 0
        self._index = PodIndex((node.object for node in self.nodes.values()), self._namespace_labels)
        self._node_of: dict[str, NativeNode] = {}
        self._outlook: tuple[int, Outlook] | None = None

    @property
    def namespace_labels(self) -> dict[str, Mapping[str, str]]:
        """Namespace → its labels, for namespaceSelectors. Fill it before the first pod is added or judged."""
        return self._namespace_labels

    def node(self, name: str) -> NativeNode:
        """The books of a node. KeyError when there is none of that name; `nodes` has them all."""
        return self.nodes[name]

    def add(self, pod: Pod, requests: Mapping[str, int], node_name: str) -> bool:
        """Book a pod on a node with its effective requests (overhead included); booked elsewhere before, it moves.

        False, and nothing booked, for a terminal pod or an unknown node: kube-scheduler does not see either.
        """
        key = pod_key(pod)
        self.remove(key)
        node = self.nodes.get(node_name)
        if node is None or pod.terminal:
            return False
        node.add(key, BoundPod(pod, requests))
        self._index.add(key, pod, node.object)
        self._node_of[key] = node
        self.version += 1
        return True

    def remove(self, key: str) -> bool:
        """Undo `add` for a pod's uid (or `pod_key`); False when it is not booked."""
        node = self._node_of.pop(key, None)
        if node is None:
            return False
        node.remove(key)
        self._index.remove(key)
        self.version += 1
        return True

    def outlook(self, pod: Pod) -> Outlook:
        """What the pod meets now; remembered for as long as the same pod is asked about and the books stand still."""
        held = self._outlook
        if held is not None and held[0] == self.version and held[1].pod is pod:
            return held[1]
        outlook = Outlook(pod, host_ports(pod), spread_limits(pod, self._index), pod_affinity_rules(pod, self._index))
        self._outlook = (self.version, outlook)
        return outlook

    def labels_asked(self, pod: Pod) -> frozenset[str]:
        """Keys of its labels that may decide what the pod meets: pods that differ in others alone meet the same."""
        spec = pod.spec
        terms = (*spec.pod_affinity, *spec.pod_anti_affinity)
        selectors = (*(term.selector for term in terms), *(rule.selector for rule in spec.spread))
        return self._index.keys_against | {part.key for selector in selectors for part in selector or ()}


def pod_key(pod: Pod) -> str:
    """The uid; namespace/name for a pod that the API server has not seen yet."""
    return pod.uid or f"{pod.namespace}/{pod.name}"
