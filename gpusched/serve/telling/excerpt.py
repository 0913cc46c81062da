"""PURE. A few nodes of the live cluster as a world of its own, on which changes of one pod may be tried at leisure."""

from collections.abc import Mapping, Sequence

import msgspec

from gpusched.core.cluster_facts import ClusterFacts
from gpusched.core.node import Node
from gpusched.core.pod import Pod
from gpusched.core.usage import QuotaUse
from gpusched.native.ledger import NativeLedger
from gpusched.policy.model import Config
from gpusched.simulate.world import World
from gpusched.state.cluster import Cluster
from gpusched.state.events import NamespaceObject, Upsert, key_of
from gpusched.state.node_state import NodeState


class Excerpt(msgspec.Struct, frozen=True):
    """Everything that decides about one pod on these nodes. It shares nothing that changes with the live cluster, so
    that another thread may work on it.

    `bound` are the pods known to hold their GPUs. `facts` and `quota_use`, that of
    the pod's namespace, are about the whole cluster; `whole` tells that these are all nodes there are.
    """

    config: Config
    nodes: tuple[Node, ...]
    bound: tuple[Pod, ...]
    namespaces: tuple[NamespaceObject, ...]
    facts: ClusterFacts
    quota_use: QuotaUse
    whole: bool

    def world(self, others: Sequence[Pod] = ()) -> World:
        """The world of the excerpt. `others` are the pods without a GPU that are bound to its nodes."""
        world = World(self.config)
        world.cluster = _Part(self)
        world.ledger = NativeLedger((node.object for node in self.nodes), self._namespace_labels())
        for pod in (*others, *self.bound):
            world.cluster.apply(Upsert(pod))
            world.bind(pod, pod.spec.node_name)
        return world

    def _namespace_labels(self) -> dict[str, Mapping[str, str]]:
        return {namespace.name: namespace.labels for namespace in self.namespaces}


class _Part(Cluster):
    """A cluster that holds some nodes and knows the facts and products of all."""

    def __init__(self, excerpt: Excerpt) -> None:
        super().__init__(excerpt.config)
        self._excerpt = excerpt
        for namespace in excerpt.namespaces:
            self.apply(Upsert(namespace))
        for node in excerpt.nodes:
            self.node_books.put(node)
        self.node_books.products = frozenset(pool.product for pool in excerpt.facts.pools if pool.product)

    @property
    def facts(self) -> ClusterFacts:
        """Facts about all nodes of the live cluster."""
        return self._excerpt.facts

    def quota_use(self, namespace: str, *, without: str = "") -> QuotaUse:  # noqa: ARG002 - an excerpt is for one pod, which is left out already
        """What the namespace of the pod holds on all nodes."""
        return self._excerpt.quota_use


def excerpt_of(cluster: Cluster, pod: Pod, names: Sequence[str]) -> Excerpt:
    """The part of the cluster that these nodes are, for one pod."""
    states = [cluster.nodes[name] for name in names if name in cluster.nodes]
    return Excerpt(
        config=cluster.config,
        nodes=tuple(state.node for state in states),
        bound=tuple(pod for state in states for pod in _holders(cluster, state)),
        namespaces=tuple(found for name in cluster.namespaces() if (found := cluster.namespace_object(name))),
        facts=cluster.facts,
        quota_use=cluster.quota_use(pod.namespace, without=key_of(pod)),
        whole=len(states) == len(cluster.nodes),
    )


def _holders(cluster: Cluster, state: NodeState) -> list[Pod]:
    """Pods bound to the node or promised it, all as if they were bound."""
    records = [cluster.pods[key] for key in state.holders if key in cluster.pods]
    return [_on(record.pod, state.node.name) for record in records]


def _on(pod: Pod, node_name: str) -> Pod:
    return msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, node_name=node_name))
