"""A copy of the cluster state to try changes on: the state that decides is never touched by what-if questions."""

from collections.abc import Mapping
from typing import Final

import msgspec

from gpusched.core.demand import native_requests
from gpusched.core.node import Node
from gpusched.core.pod import Pod
from gpusched.core.usage import Holder
from gpusched.native.ledger import NativeLedger
from gpusched.policy.model import Config
from gpusched.serve.live_cluster import LiveCluster
from gpusched.simulate.world import World
from gpusched.state.cluster import Cluster
from gpusched.state.events import Gone, Kind, NamespaceObject, Seen, Upsert

_COPIED: Final = (
    Kind.DEVICE_CLASS,
    Kind.RESOURCE_SLICE,
    Kind.RUNTIME_CLASS,
    Kind.CLUSTER_POLICY,
    Kind.NAMESPACE,
)


class Photograph(msgspec.Struct, frozen=True):
    """The state at one moment. Records never change, so that holding on to them is enough; taking one is cheap."""

    config: Config
    labelled: bool
    nodes: Mapping[str, Node]
    objects: Mapping[Kind, Mapping[str, Seen]]
    pods: Mapping[str, Pod]
    promises: Mapping[str, tuple[str, Holder]]


def photograph(cluster: LiveCluster) -> Photograph:
    """The state as it is now."""
    return Photograph(
        config=cluster.config,
        labelled=cluster.labelled,
        nodes={name: state.node for name, state in cluster.nodes.items()},
        objects={kind: dict(cluster.seen(kind)) for kind in _COPIED},
        pods={key: record.pod for key, record in cluster.pods.items()},
        promises={
            key: (node_name, holder)
            for key, holder in cluster.books.reserved.items()
            if (node_name := cluster.node_of(key)) is not None
        },
    )


class Copy:
    """A world that is brought to one photograph after the other; only what changed costs anything.

    Pods without a GPU are unknown to the service, and so is what they use of processors and memory.
    """

    def __init__(self) -> None:
        self._photograph: Photograph | None = None
        self._world = World(Config())

    def bring_to(self, new: Photograph) -> World:
        """The world as the photograph shows it."""
        old = self._photograph
        if old is None or old.config is not new.config or old.labelled != new.labelled:
            old = None
            self._world = World(new.config)
            self._world.cluster = Cluster(new.config, labelled=new.labelled)
            self._world.kinds = {"Node", "Pod", "Namespace", "RuntimeClass"}
        self._photograph = None
        cluster = self._world.cluster
        for kind in _COPIED:
            _bring_kind(cluster, kind, new.objects[kind])
        for name in [name for name in cluster.nodes if name not in new.nodes]:
            cluster.apply(Gone(Kind.NODE, name))
        for name, node in new.nodes.items():
            state = cluster.nodes.get(name)
            if state is None or state.node is not node:
                cluster.take_node(node)
        self._bring_pods(old, new)
        self._bring_ledger(old, new)
        self._photograph = new
        return self._world

    def _bring_pods(self, old: Photograph | None, new: Photograph) -> None:
        """Photographs are compared with each other: what the copy holds are records of its own, equal at best."""
        cluster = self._world.cluster
        before: Mapping[str, Pod] = {} if old is None else old.pods
        for key in before.keys() - new.pods.keys():
            cluster.apply(Gone(Kind.POD, key))
        for key, pod in new.pods.items():
            if before.get(key) is not pod:
                cluster.apply(Upsert(pod))
        for key in [key for key in cluster.books.reserved if key not in new.promises]:
            cluster.release(key)
        for key, (node_name, holder) in new.promises.items():
            cluster.reserve(node_name, key, holder)

    def _bring_ledger(self, old: Photograph | None, new: Photograph) -> None:
        ledger = self._world.ledger
        labels = {
            name: seen.labels for name, seen in new.objects[Kind.NAMESPACE].items() if isinstance(seen, NamespaceObject)
        }
        standing = old is not None and ledger.namespace_labels == labels and _same_objects(old.nodes, new.nodes)
        before: Mapping[str, Pod] = old.pods if old is not None and standing else {}
        if not standing:
            ledger = self._world.ledger = NativeLedger((node.object for node in new.nodes.values()), labels)
        for key in before.keys() - new.pods.keys():
            ledger.remove(key)
        for key, pod in new.pods.items():
            if before.get(key) is not pod and pod.spec.node_name:
                ledger.add(pod, native_requests(pod), pod.spec.node_name)


def _bring_kind(cluster: Cluster, kind: Kind, wanted: Mapping[str, Seen]) -> None:
    standing = dict(cluster.seen(kind))
    for key in standing.keys() - wanted.keys():
        cluster.apply(Gone(kind, key))
    for key, seen in wanted.items():
        if standing.get(key) is not seen:
            cluster.apply(Upsert(seen))


def _same_objects(old: Mapping[str, Node], new: Mapping[str, Node]) -> bool:
    return old.keys() == new.keys() and all(old[name].object is node.object for name, node in new.items())
