"""The single writer of what gpusched knows: events in, current state out.

Everything here is synchronous: a decision that reads and then writes cannot be interleaved by another one.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from gpusched.core.cluster_facts import ClusterFacts, OperatorFacts, RuntimeClass
from gpusched.core.dra import DeviceClass, ResourceSlice, served_resources
from gpusched.core.names import PREFIX, QUOTA_GATE
from gpusched.core.node import Node, NodeObject
from gpusched.core.pod import Pod
from gpusched.core.resources import GpuResources
from gpusched.core.usage import Holder, QuotaUse
from gpusched.dialects.inventory import inventory
from gpusched.dialects.labels import with_labels
from gpusched.policy.annotations import parse_namespace, parse_pod
from gpusched.policy.model import Config, Parsed
from gpusched.policy.resolution import Resolution
from gpusched.policy.resolve import resolve
from gpusched.state.events import Event, Gone, Kind, NamespaceObject, Replace, Seen, Upsert, key_of
from gpusched.state.gather import Gatherer
from gpusched.state.node_state import NodeState
from gpusched.state.nodes import NodeBooks
from gpusched.state.pods import PodBooks, PodRecord, line_order

#: Resolutions kept in memory; beyond this the memory starts anew, since they come from users.
_MEMO_LIMIT: Final = 50_000
#: Characters of a pod's own annotations above which its resolution is not worth its place there.
_LONGEST_MEMO_KEY: Final = 2_048


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
    was given, so that nothing follows from what is absent. `generation` grows with every change that a decision about a
    GPU pod may depend on.
    """

    def __init__(self, config: Config, *, label_nodes: bool = False, labelled: bool = True, known: bool = True) -> None:
        self.config = config
        self.resources = GpuResources({item.name: item.vendor for item in config.resources})
        self.generation = 0
        self.node_books = NodeBooks()
        self.nodes: Mapping[str, NodeState] = self.node_books.states
        self.books = PodBooks(self)
        #: For those who ask of nodes, to keep what they found; it must hold for as long as its key is asked for.
        self.shapes: dict[object, object] = {}
        self._label_nodes = label_nodes
        self._labelled = labelled
        self._known = known
        self._objects: dict[Kind, dict[str, Seen]] = {kind: {} for kind in Kind}
        self._slices: dict[str, dict[str, ResourceSlice]] = {}
        self._namespaces: dict[str, NamespaceState] = {}
        self._gatherer = Gatherer()
        self._products: frozenset[str] = frozenset()
        self._facts: ClusterFacts | None = None
        self._resolutions: dict[tuple[object, ...], Resolution] = {}

    # Writing

    def apply(self, event: Event) -> None:
        """Take in one event."""
        changed = True
        match event:
            case Upsert(seen=seen):
                changed = self._upsert(seen)
            case Gone(kind=kind, key=key):
                changed = self._gone(kind, key)
            case Replace(kind=kind, seen=listed):
                keys = {key_of(seen) for seen in listed}
                for key in self._known_keys(kind) - keys:
                    self._gone(kind, key)
                for seen in listed:
                    self._upsert(seen)
        self.generation += changed

    def take_node(self, node: Node) -> None:
        """Take in a node whose inventory another state has made already."""
        self._objects[Kind.NODE][node.name] = node.object
        self._enter(node)
        self._facts = None
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
        products = self.node_books.products if self._known else frozenset()
        if products is not self._products:
            self._resolutions.clear()
            self._products = products
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
                present_products=products,
            )
            if sum(len(key) + len(text) for key, text in own) <= _LONGEST_MEMO_KEY:
                self._resolutions[memo_key] = found
        return found

    @property
    def facts(self) -> ClusterFacts:
        """Facts about all nodes together, gathered anew after a change."""
        if not self._known:
            return ClusterFacts()
        if self._facts is None:
            self._facts = self._gatherer.gather(
                self.nodes,
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

    def quota_use(self, namespace: str, *, without: str = "", placed: bool = False) -> QuotaUse:
        """What counts against a namespace's quota, but for one pod (the one that asks); `placed` as in the books."""
        return self.books.quota_use(namespace, without=without, placed=placed)

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

    def _upsert(self, seen: Seen) -> bool:
        """Take in an object; whether a decision may depend on it."""
        if isinstance(seen, Pod):
            return self.books.see(key_of(seen), seen)
        match seen:
            case NodeObject():
                shared = self.node_books.with_shared_texts(seen)
                self._objects[Kind.NODE][seen.name] = shared
                self._set_node(shared)
            case NamespaceObject():
                self._objects[Kind.NAMESPACE][seen.name] = seen
                self._namespaces[seen.name] = NamespaceState(
                    seen.name, seen.labels, parse_namespace(seen.annotations), known=True
                )
                self._resolutions.clear()
            case RuntimeClass():
                self._objects[Kind.RUNTIME_CLASS][seen.name] = seen
            case OperatorFacts():
                self._objects[Kind.CLUSTER_POLICY][""] = seen
            case DeviceClass():
                self._objects[Kind.DEVICE_CLASS][seen.name] = seen
                self._look_again(self._slices)
            case ResourceSlice():
                self._replace_slice(seen.name, seen)
        self._facts = None
        return True

    def _gone(self, kind: Kind, key: str) -> bool:
        """Drop an object; whether a decision may depend on it."""
        if kind is Kind.POD:
            return self.books.forget(key)
        if kind is Kind.RESOURCE_SLICE:
            self._replace_slice(key, None)
        self._objects[kind].pop(key, None)
        if kind is Kind.NODE:
            self.node_books.drop(key)
        elif kind is Kind.NAMESPACE:
            self._namespaces.pop(key, None)
            self._resolutions.clear()
        elif kind is Kind.DEVICE_CLASS:
            self._look_again(self._slices)
        self._facts = None
        return True

    def _forget_derived(self) -> None:
        self._facts = None
        self._resolutions.clear()

    def _set_node(self, seen: NodeObject) -> None:
        dra = served_resources(seen.name, self._device_classes(), self._slices.get(seen.name, {}).values())
        node = inventory(seen, self.resources, dra)
        self._enter(with_labels(node) if self._label_nodes else node)

    def _enter(self, node: Node) -> None:
        new = node.name not in self.nodes
        self.node_books.put(node)
        self._gatherer.look_at(node)
        if new:
            self.books.settle(node.name)

    def _refresh_nodes(self) -> None:
        self._look_again(self._objects[Kind.NODE])

    def _look_again(self, names: Iterable[str]) -> None:
        for name in names:
            seen = self._objects[Kind.NODE].get(name)
            if isinstance(seen, NodeObject):
                self._set_node(seen)

    def _replace_slice(self, name: str, seen: ResourceSlice | None) -> None:
        """Keep up which slices a node has, and look again at the nodes that this concerns."""
        before = self._objects[Kind.RESOURCE_SLICE].pop(name, None)
        if isinstance(before, ResourceSlice):
            of_node = self._slices[before.node_name]
            del of_node[name]
            if not of_node:
                del self._slices[before.node_name]
        if seen is not None:
            self._objects[Kind.RESOURCE_SLICE][name] = seen
            self._slices.setdefault(seen.node_name, {})[name] = seen
        self._look_again({item.node_name for item in (before, seen) if isinstance(item, ResourceSlice)})

    def _device_classes(self) -> list[DeviceClass]:
        return [seen for seen in self._objects[Kind.DEVICE_CLASS].values() if isinstance(seen, DeviceClass)]

    def _operator(self) -> OperatorFacts | None:
        seen = self._objects[Kind.CLUSTER_POLICY].get("")
        return seen if isinstance(seen, OperatorFacts) else None
