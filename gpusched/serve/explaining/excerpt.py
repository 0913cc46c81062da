"""PURE. A few nodes of the live cluster as a world of its own, on which changes of one pod may be tried at leisure."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import msgspec

from gpusched.core.cluster_facts import ClusterFacts
from gpusched.core.codes import Reason
from gpusched.core.node import Node, NodeObject
from gpusched.core.pod import Pod
from gpusched.core.usage import Holder, QuotaUse
from gpusched.native.ledger import NativeLedger
from gpusched.native.term import looks_around, selects, term_matches, wide
from gpusched.policy.model import Config
from gpusched.simulate.world import World
from gpusched.state.cluster import Cluster
from gpusched.state.events import NamespaceObject, Upsert, key_of
from gpusched.state.pods import PodRecord

#: Pods looked at in one step.
_STEP: Final = 500


class Placed(msgspec.Struct, frozen=True):
    """A GPU pod on a node; `promise` where it was not seen bound yet."""

    pod: Pod
    node_name: str
    promise: Holder | None


class Excerpt(msgspec.Struct, frozen=True):
    """Everything that decides about one pod on these nodes. It shares nothing that changes with the live cluster, so
    that another thread may work on it.

    `around` are GPU pods on other nodes that matter for rules of affinity and spread; `objects` are the nodes of all of
    them, for the topology. `facts` and `quota_use`, that of the pod's namespace, are about the whole cluster, and
    `elsewhere` is what GPUs say of its other nodes.
    """

    config: Config
    namespace: str
    nodes: tuple[Node, ...]
    placed: tuple[Placed, ...]
    objects: tuple[NodeObject, ...]
    around: tuple[Placed, ...]
    namespaces: tuple[NamespaceObject, ...]
    facts: ClusterFacts
    quota_use: QuotaUse
    elsewhere: Mapping[str, Reason | None]

    def world(self, others: Sequence[Pod] = ()) -> World:
        """The world of the excerpt. `others` are the pods without a GPU that are bound to its nodes."""
        world = World(self.config)
        world.kinds = {"Node", "Pod", "Namespace", "RuntimeClass"}
        world.elsewhere = self.elsewhere
        world.ledger = NativeLedger(self.objects, {item.name: item.labels for item in self.namespaces})
        for pod in others:
            world.bind(pod, pod.spec.node_name)
        for item in (*self.placed, *self.around):
            world.bind(item.pod, item.node_name)
        world.cluster = _Part(self)
        return world


class _Part(Cluster):
    """A cluster that holds some nodes and knows the facts, products and quota use of all."""

    def __init__(self, excerpt: Excerpt) -> None:
        super().__init__(excerpt.config)
        self._excerpt = excerpt
        ruled = {excerpt.namespace, *(item.pod.namespace for item in excerpt.placed)}
        for namespace in excerpt.namespaces:
            if namespace.name in ruled:
                self.apply(Upsert(namespace))
        for node in excerpt.nodes:
            self.node_books.put(node)
        self.node_books.products = frozenset(pool.product for pool in excerpt.facts.pools if pool.product)
        for item in excerpt.placed:
            self.apply(Upsert(item.pod))
            if item.promise is not None:
                self.reserve(item.node_name, key_of(item.pod), item.promise)
        self._began_with = super().quota_use(excerpt.namespace)

    @property
    def facts(self) -> ClusterFacts:
        """Facts about all nodes of the live cluster."""
        return self._excerpt.facts

    def quota_use(self, namespace: str, *, without: str = "", placed: bool = False) -> QuotaUse:  # noqa: ARG002 - an excerpt is for one pod, which is left out already
        """What the pod's namespace holds on all nodes, but for pods that were taken out of this part."""
        whole, began, now = self._excerpt.quota_use, self._began_with, super().quota_use(namespace, placed=placed)
        freed = {family: slots - now.families.get(family, 0) for family, slots in began.families.items()}
        return QuotaUse(
            families={family: slots - freed.get(family, 0) for family, slots in whole.families.items()},
            unknown=whole.unknown - began.unknown + now.unknown,
            memory_mib=whole.memory_mib - began.memory_mib + now.memory_mib,
            unknown_memory=whole.unknown_memory - began.unknown_memory + now.unknown_memory,
        )


def around(pod: Pod, cluster: Cluster) -> Iterator[list[Placed]]:
    """GPU pods of any node that the pod's affinity or spread speaks of, or whose anti-affinity speaks of the pod, in
    short steps so that a caller may pause.
    """
    rules = looks_around(pod.spec)
    labels = {item.name: item.labels for item in _namespaces(cluster)}
    records = list(cluster.pods.values())

    def matters(other: Pod) -> bool:
        against = other.spec.pod_anti_affinity and any(
            term_matches(term, other.namespace, pod, labels) for term in wide(other.spec.pod_anti_affinity)
        )
        return bool(against or (rules and any(selects(rule.selector, other.labels) for rule in rules)))

    for start in range(0, len(records), _STEP):
        found = (_placed(record, cluster) for record in records[start : start + _STEP] if matters(record.pod))
        yield [item for item in found if item is not None]


def excerpt_of(
    cluster: Cluster,
    pod: Pod,
    names: Sequence[str],
    found: Mapping[str, Reason | None],
    quota_use: QuotaUse | None = None,
    seen: Sequence[Placed] = (),
) -> Excerpt:
    """The part of the cluster that these nodes are, for one pod. `found` is what GPUs say of all nodes, `quota_use`
    what counts against the quota of the pod, if any, `seen` are the pods around.
    """
    states = {name: cluster.nodes[name] for name in names if name in cluster.nodes}
    records = (cluster.pods[key] for state in states.values() for key in state.holders if key in cluster.pods)
    beyond = [item for item in seen if item.node_name in cluster.nodes and item.node_name not in states]
    # Spread counts domains without any pod too.
    mapped = cluster.nodes if pod.spec.spread else {*states, *(item.node_name for item in beyond)}
    return Excerpt(
        config=cluster.config,
        namespace=pod.namespace,
        nodes=tuple(state.node for state in states.values()),
        placed=tuple(item for record in records if (item := _placed(record, cluster)) is not None),
        objects=tuple(cluster.nodes[name].node.object for name in mapped),
        around=tuple(beyond),
        namespaces=_namespaces(cluster),
        facts=cluster.facts,
        quota_use=quota_use or QuotaUse(),
        elsewhere={name: reason for name, reason in found.items() if name not in states},
    )


def _namespaces(cluster: Cluster) -> tuple[NamespaceObject, ...]:
    return tuple(item for name in cluster.namespaces() if (item := cluster.namespace_object(name)) is not None)


def _placed(record: PodRecord, cluster: Cluster) -> Placed | None:
    node_name = cluster.node_of(record.key)
    return None if node_name is None else Placed(record.pod, node_name, cluster.books.reserved.get(record.key))
