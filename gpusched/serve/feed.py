"""Takes events into the cluster state, and tells what changed to those who act on it."""

from collections.abc import Callable
from typing import NamedTuple

from gpusched.core.node import NodeObject
from gpusched.core.pod import Pod
from gpusched.obs.metrics import Metrics
from gpusched.state.cluster import Cluster
from gpusched.state.events import Event, Gone, Kind, NamespaceObject, Replace, Seen, Upsert, key_of


class _Touched(NamedTuple):
    """What an event concerns: nodes, namespaces whose policy it changes, keys of pods not seen on a node before, and
    whether it may make room for pods that wait.
    """

    nodes: list[str]
    namespaces: list[str]
    newly_bound: list[str]
    room: bool


class Feed:
    """The one sink of all reflectors.

    `on_node` is told the name of a node seen or gone, `on_policy` the name of a namespace whose policy or labels
    changed, `on_room` that pods left their nodes or a node changed, `on_change` of anything at all. Listeners only take
    notes: they are called between two events.
    """

    def __init__(self, cluster: Cluster, metrics: Metrics) -> None:
        self.on_node: list[Callable[[str], None]] = []
        self.on_policy: list[Callable[[str], None]] = []
        self.on_room: list[Callable[[], None]] = []
        self.on_change: list[Callable[[], None]] = []
        self._cluster = cluster
        self._metrics = metrics

    def apply(self, event: Event) -> None:
        """Take in one event. An object that says what is known of it, such as a node's heartbeat, changes nothing."""
        if isinstance(event, Upsert) and self._known(event.seen):
            return
        touched = self._touched(event)
        self._cluster.apply(event)
        if isinstance(event, Gone) and event.kind is Kind.NAMESPACE:
            self._metrics.forget_namespace(event.key)
        for key in touched.newly_bound:
            record = self._cluster.pods.get(key)
            if record is not None and not record.pod.bound_by_us:
                self._metrics.bound_elsewhere.inc()
        for name in touched.nodes:
            for told in self.on_node:
                told(name)
        for name in touched.namespaces:
            for told in self.on_policy:
                told(name)
        for told_of_all in [*(self.on_room if touched.room else ()), *self.on_change]:
            told_of_all()

    def _known(self, seen: Seen) -> bool:
        match seen:
            case NodeObject():
                state = self._cluster.nodes.get(seen.name)
                return state is not None and state.node.object == seen
            case NamespaceObject():
                return self._cluster.namespace_object(seen.name) == seen
            case Pod():
                record = self._cluster.pods.get(key_of(seen))
                return record is not None and record.pod == seen
        return False

    def _touched(self, event: Event) -> _Touched:
        match event:
            case Upsert(seen=seen):
                listed: tuple[Seen, ...] = (seen,)
            case Replace(seen=seen):
                listed = seen
            case Gone(kind=Kind.NODE, key=key):
                return _Touched([key], [], [], room=False)
            case _:
                listed = ()
        return _Touched(
            room=self._makes_room(event),
            nodes=[seen.name for seen in listed if isinstance(seen, NodeObject)],
            namespaces=[seen.name for seen in listed if isinstance(seen, NamespaceObject) and self._differs(seen)],
            newly_bound=[key_of(seen) for seen in listed if isinstance(seen, Pod) and self._newly_bound(seen)],
        )

    def _makes_room(self, event: Event) -> bool:
        match event:
            case Gone(kind=Kind.POD, key=key):
                return self._cluster.node_of(key) is not None
            case Upsert(seen=Pod() as pod):
                return pod.terminal and self._cluster.node_of(key_of(pod)) is not None
            case Upsert(seen=NodeObject()) | Replace(kind=Kind.POD | Kind.NODE):
                return True
        return False

    def _differs(self, seen: NamespaceObject) -> bool:
        before = self._cluster.namespace_object(seen.name)
        return before is not None and (before.annotations, before.labels) != (seen.annotations, seen.labels)

    def _newly_bound(self, pod: Pod) -> bool:
        before = self._cluster.pods.get(key_of(pod))
        return bool(pod.spec.node_name) and (before is None or not before.pod.spec.node_name)
