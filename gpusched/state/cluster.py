"""The single writer of what gpusched knows: events in, current state out.

Everything here is synchronous: a decision that reads and then writes cannot be interleaved by another one.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from typing import Final

import msgspec

from gpusched.core.cluster_facts import ClusterFacts, OperatorFacts, RuntimeClass
from gpusched.core.dra import DeviceClass, ResourceSlice, served_resources
from gpusched.core.names import PREFIX, QUOTA_GATE
from gpusched.core.node import Node, NodeObject
from gpusched.core.pod import Pod
from gpusched.core.resources import GpuResources
from gpusched.core.usage import Holder, QuotaUse
from gpusched.dialects.inventory import inventory
from gpusched.dialects.labels import gpusched_labels
from gpusched.policy.annotations import parse_namespace, parse_pod
from gpusched.policy.model import Config, Parsed
from gpusched.policy.resolution import Resolution
from gpusched.policy.resolve import resolve
from gpusched.state.events import Event, Gone, Kind, NamespaceObject, Replace, Seen, Upsert, key_of
from gpusched.state.gather import gather, pool_kind
from gpusched.state.node_state import NodeState
from gpusched.state.pods import PodBooks, PodRecord, line_order

#: Resolutions and shared texts kept in memory; beyond this the memory starts anew, since both come from users.
_MEMO_LIMIT: Final = 50_000


class NamespaceState:
    """A namespace with its parsed policy. `known` False means that nobody has seen the Namespace object."""

    __slots__ = ("known", "labels", "name", "parsed")

    def __init__(self, name: str, labels: Mapping[str, str], parsed: Parsed, *, known: bool) -> None:
        self.name = name
        self.labels = labels
        self.parsed = parsed
        self.known = known


class Cluster:
    """Nodes, GPU pods, namespaces and the facts gathered from them.

    `label_nodes` gives every node the normalised labels itself, for work on a dump; live, the labeller writes them
    through the API. `labelled` says whether affinity may rely on these labels. `known` False means that no cluster
    was given, so that nothing follows from what is absent.
    """

    def __init__(self, config: Config, *, label_nodes: bool = False, labelled: bool = True, known: bool = True) -> None:
        self.config = config
        self.resources = GpuResources({item.name: item.vendor for item in config.resources})
        self.nodes: dict[str, NodeState] = {}
        self.generation = 0
        self.books = PodBooks(self)
        self._label_nodes = label_nodes
        self._labelled = labelled
        self._known = known
        self._objects: dict[Kind, dict[str, Seen]] = {kind: {} for kind in Kind}
        self._namespaces: dict[str, NamespaceState] = {}
        self._kinds: dict[object, int] = {}
        self._numbers = count()
        self._texts: dict[str, str] = {}
        self._facts: ClusterFacts | None = None
        self._resolutions: dict[tuple[object, ...], Resolution] = {}

    # Writing

    def apply(self, event: Event) -> None:
        """Take in one event."""
        match event:
            case Upsert(seen=seen):
                self._upsert(seen)
            case Gone(kind=kind, key=key):
                self._gone(kind, key)
            case Replace(kind=kind, seen=listed):
                keys = {key_of(seen) for seen in listed}
                for key in self._known_keys(kind) - keys:
                    self._gone(kind, key)
                for seen in listed:
                    self._upsert(seen)
        self.generation += 1

    def take_node(self, node: Node) -> None:
        """Take in a node whose inventory another state has made already."""
        self._objects[Kind.NODE][node.name] = node.object
        self._enter(node)
        self._forget_derived()
        self.generation += 1

    def reserve(self, node_name: str, key: str, holder: Holder) -> None:
        """Promise slots of a node to a pod that is being bound. Idempotent."""
        self.books.reserve(node_name, key, holder)
        self.generation += 1

    def release(self, key: str) -> None:
        """Take back a promise; nothing happens when there is none. A pod that is bound keeps its slots."""
        self.books.release(key)
        self.generation += 1

    @contextmanager
    def without(self, keys: Iterable[str]) -> Iterator[None]:
        """For what-if questions: the state as if these pods were gone, put back at the end."""
        try:
            with self.books.without(keys):
                self.generation += 1
                yield
        finally:
            self.generation += 1

    # Reading

    @property
    def pods(self) -> Mapping[str, PodRecord]:
        """GPU pods that are not finished, by key (UID)."""
        return self.books.records

    def node_of(self, key: str) -> str | None:
        """The node that a pod is bound to or was promised; None when there is none."""
        return self.books.node_of(key)

    def namespace(self, name: str) -> NamespaceState:
        """What is known of a namespace; without a Namespace object it has no labels and no policy."""
        found = self._namespaces.get(name)
        return found if found is not None else NamespaceState(name, {}, Parsed(), known=False)

    def namespaces(self) -> Iterable[str]:
        """Names of the Namespaces that were seen."""
        return self._objects[Kind.NAMESPACE].keys()

    def seen(self, kind: Kind) -> Mapping[str, Seen]:
        """Objects of a kind as they were last seen, by key; pods are in `pods`."""
        return self._objects[kind]

    def namespace_object(self, name: str) -> NamespaceObject | None:
        """The Namespace as it was last seen."""
        seen = self._objects[Kind.NAMESPACE].get(name)
        return seen if isinstance(seen, NamespaceObject) else None

    def resolution(self, namespace: str, annotations: Mapping[str, str]) -> Resolution:
        """What holds for a pod with these annotations in this namespace."""
        own = tuple(sorted(item for item in annotations.items() if item[0].startswith(PREFIX)))
        memo_key = (namespace, own)
        found = self._resolutions.get(memo_key)
        if found is None:
            if len(self._resolutions) >= _MEMO_LIMIT:
                self._resolutions.clear()
            state = self.namespace(namespace)
            found = resolve(
                self.config,
                namespace,
                state.labels,
                state.parsed,
                parse_pod(dict(own)),
                present_products=frozenset(pool.product for pool in self.facts.pools if pool.product),
            )
            self._resolutions[memo_key] = found
        return found

    @property
    def facts(self) -> ClusterFacts:
        """Facts about all nodes together, gathered anew after a change."""
        if not self._known:
            return ClusterFacts()
        if self._facts is None:
            self._facts = gather(
                (state.node for state in self.nodes.values()),
                {
                    key: seen
                    for key, seen in self._objects[Kind.RUNTIME_CLASS].items()
                    if isinstance(seen, RuntimeClass)
                },
                self._operator(),
                self._device_classes(),
                labelled=self._labelled,
            )
        return self._facts

    def quota_use(self, namespace: str, *, without: str = "") -> QuotaUse:
        """What a namespace holds, leaving out one pod (the one that asks)."""
        return self.books.quota_use(namespace, without=without)

    def gated(self) -> list[PodRecord]:
        """Pods that still carry the quota gate, oldest first within a priority, highest priority first.

        A pod that no API server has given a time of creation is the youngest.
        """
        waiting = (record for record in self.pods.values() if QUOTA_GATE in record.pod.spec.gates)
        return sorted(waiting, key=line_order)

    # Internals

    def _known_keys(self, kind: Kind) -> set[str]:
        if kind is Kind.POD:
            return set(self.books.records)
        return set(self._objects[kind])

    def _upsert(self, seen: Seen) -> None:
        if isinstance(seen, Pod):
            self.books.see(key_of(seen), seen)
            return
        match seen:
            case NodeObject():
                shared = self._with_shared_texts(seen)
                self._objects[Kind.NODE][seen.name] = shared
                self._set_node(shared)
            case NamespaceObject():
                self._objects[Kind.NAMESPACE][seen.name] = seen
                self._namespaces[seen.name] = NamespaceState(
                    seen.name, seen.labels, parse_namespace(seen.annotations), known=True
                )
            case RuntimeClass():
                self._objects[Kind.RUNTIME_CLASS][seen.name] = seen
            case OperatorFacts():
                self._objects[Kind.CLUSTER_POLICY][""] = seen
            case DeviceClass():
                self._objects[Kind.DEVICE_CLASS][seen.name] = seen
                self._refresh_nodes()
            case ResourceSlice():
                self._objects[Kind.RESOURCE_SLICE][seen.name] = seen
                self._refresh_nodes()
        self._forget_derived()

    def _gone(self, kind: Kind, key: str) -> None:
        if kind is Kind.POD:
            self.books.forget(key)
            return
        self._objects[kind].pop(key, None)
        if kind is Kind.NODE:
            self.nodes.pop(key, None)
        elif kind is Kind.NAMESPACE:
            self._namespaces.pop(key, None)
        elif kind in {Kind.DEVICE_CLASS, Kind.RESOURCE_SLICE}:
            self._refresh_nodes()
        self._forget_derived()

    def _forget_derived(self) -> None:
        self._facts = None
        self._resolutions.clear()

    def _with_shared_texts(self, seen: NodeObject) -> NodeObject:
        """The node with texts that other nodes have too held in memory once: labels are most of what a node weighs."""
        if len(self._texts) >= _MEMO_LIMIT:
            # Some labels change by the minute (time stamps): what is remembered must not grow with time.
            self._texts.clear()
        share = self._texts.setdefault
        labels = {share(key, key): share(value, value) for key, value in seen.labels.items()}
        amounts = {share(name, name): amount for name, amount in seen.allocatable.items()}
        capacity = {share(name, name): amount for name, amount in seen.capacity.items()}
        return msgspec.structs.replace(seen, labels=labels, allocatable=amounts, capacity=capacity)

    def _set_node(self, seen: NodeObject) -> None:
        dra = served_resources(seen.name, self._device_classes(), self._slices())
        node = inventory(seen, self.resources, dra)
        self._enter(_labelled(node) if self._label_nodes else node)

    def _enter(self, node: Node) -> None:
        identity = (tuple(pool_kind(pool) for pool in node.pools), node.dialects, node.dra_resources)
        kind = self._kind_of(identity)
        state = self.nodes.get(node.name)
        if state is None:
            state = self.nodes[node.name] = NodeState(node, kind)
            self.books.settle(node.name)
        state.set_node(node, kind)

    def _kind_of(self, identity: object) -> int:
        if len(self._kinds) >= _MEMO_LIMIT:
            self._kinds.clear()
        return self._kinds.setdefault(identity, next(self._numbers))

    def _refresh_nodes(self) -> None:
        for seen in self._objects[Kind.NODE].values():
            if isinstance(seen, NodeObject):
                self._set_node(seen)

    def _device_classes(self) -> list[DeviceClass]:
        return [seen for seen in self._objects[Kind.DEVICE_CLASS].values() if isinstance(seen, DeviceClass)]

    def _slices(self) -> list[ResourceSlice]:
        return [seen for seen in self._objects[Kind.RESOURCE_SLICE].values() if isinstance(seen, ResourceSlice)]

    def _operator(self) -> OperatorFacts | None:
        seen = self._objects[Kind.CLUSTER_POLICY].get("")
        return seen if isinstance(seen, OperatorFacts) else None


def _labelled(node: Node) -> Node:
    """The node with the labels that the labeller would write, in place of any it carries from an earlier pass."""
    own = gpusched_labels(node)
    others = {key: value for key, value in node.object.labels.items() if not key.startswith(PREFIX)}
    return msgspec.structs.replace(node, object=msgspec.structs.replace(node.object, labels=others | own))
