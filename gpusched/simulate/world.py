"""A dump of a cluster as working state: GPU books, native books, and every pod that was in it."""

from collections.abc import Callable, Iterable, Mapping
from typing import Self

from gpusched.core.cluster_facts import RuntimeClass
from gpusched.core.codes import Reason
from gpusched.core.demand import native_requests
from gpusched.core.dra import read_device_class, read_resource_slice
from gpusched.core.fault import Fault
from gpusched.core.pod import Pod
from gpusched.core.read_cluster import read_cluster_policy, read_node, read_runtime_class
from gpusched.core.read_pod import read_pod
from gpusched.native.ledger import NativeLedger
from gpusched.policy.model import Config
from gpusched.simulate.claim_objects import CLAIM_KINDS
from gpusched.simulate.manifest import InputFault, Manifest, located
from gpusched.simulate.node_classes import NodeClasses
from gpusched.simulate.owners import between
from gpusched.state.cluster import Cluster
from gpusched.state.events import NamespaceObject, Seen, Upsert, key_of
from gpusched.state.read_namespace import read_namespace

_Reader = Callable[[object, list[Fault]], Seen]

#: Kinds of a dump that become state, in the order in which they are taken in: pods last, since they stand on nodes.
_READERS: dict[tuple[str, str], _Reader] = {}


_READERS.update(
    {
        ("resource.k8s.io", "DeviceClass"): read_device_class,
        ("resource.k8s.io", "ResourceSlice"): read_resource_slice,
        ("node.k8s.io", "RuntimeClass"): read_runtime_class,
        ("nvidia.com", "ClusterPolicy"): read_cluster_policy,
        ("", "Namespace"): read_namespace,
        ("", "Node"): read_node,
        ("", "Pod"): read_pod,
    }
)
_ORDER = list(_READERS)


class World:
    """The cluster that manifests are tried on. `pods` are all unfinished pods of the dump, by namespace and name.

    `may_name` says of a namespace whether its pods may be named to whoever asks. `elsewhere` are nodes of the same
    cluster that are not in this world: why each does not take the pod that is asked about, None where that is unknown.
    `between` are the ReplicaSets and Jobs of the dump with what controls them, `claims` its claims to volumes and
    devices and their classes, `claim_kinds` those kinds of them that it knows all of.
    """

    def __init__(self, config: Config, *, known: bool = True) -> None:
        self.cluster = Cluster(config, label_nodes=True, known=known)
        self.ledger = NativeLedger(())
        self.pods: dict[tuple[str, str], Pod] = {}
        self.faults: list[InputFault] = []
        self.kinds: set[str] = set()
        self.may_name: Callable[[str], bool] = lambda _: True
        self.elsewhere: Mapping[str, Reason | None] = {}
        self.between: dict[tuple[str, str, str], str] = {}
        self.claims: dict[tuple[str, str, str], Mapping[str, object]] = {}
        self.claim_kinds: set[str] = set()
        self.node_classes = NodeClasses()

    @classmethod
    def of(cls, cluster: Cluster) -> Self:
        """The world of a cluster of which only what is in its state is known."""
        world = cls(cluster.config)
        world.cluster = cluster
        return world

    @property
    def runtime_classes(self) -> Mapping[str, RuntimeClass]:
        """RuntimeClasses of the dump."""
        return self.cluster.facts.runtime_classes

    def bind(self, pod: Pod, node_name: str) -> None:
        """Enter a pod into the native books of a node."""
        self.ledger.add(pod, native_requests(pod), node_name)


def load(manifests: Iterable[Manifest], config: Config, *, known: bool = True) -> World:
    """Read a dump. What cannot be read of it is in `faults`; kinds that are no state are left out.

    `known` False stands for no cluster at all, where nothing follows from what is absent.
    """
    world = World(config, known=known)
    seen: dict[tuple[str, str], list[Seen]] = {kind: [] for kind in _ORDER}
    for manifest in manifests:
        kind = (manifest.group, manifest.kind)
        _note(manifest, world)
        reader = _READERS.get(kind)
        if reader is None:
            continue
        world.kinds.add(manifest.kind)
        found: list[Fault] = []
        seen[kind].append(reader(manifest.tree, found))
        world.faults.extend(located(manifest, found))
    for kind in _ORDER:
        for item in _distinct(seen[kind]):
            world.cluster.apply(Upsert(item))
    world.ledger = NativeLedger(state.node.object for state in world.cluster.nodes.values())
    for item in seen["", "Namespace"]:
        if isinstance(item, NamespaceObject):
            world.ledger.namespace_labels[item.name] = item.labels
    for item in _distinct(seen["", "Pod"]):
        if isinstance(item, Pod) and not item.terminal:
            world.pods[item.namespace, item.name] = item
            if item.spec.node_name:
                world.bind(item, item.spec.node_name)
    return world


def _note(manifest: Manifest, world: World) -> None:
    """Keep what is no state, but tells of pods."""
    world.between.update(between(manifest))
    if (manifest.group, manifest.kind) in CLAIM_KINDS:
        world.claims[manifest.kind, manifest.namespace, manifest.name] = manifest.tree
        # A dump that has one of a kind has them all; of a kind that it lacks nobody knows.
        world.claim_kinds.add(manifest.kind)


def _distinct(items: list[Seen]) -> list[Seen]:
    """Several dumps may hold the same object; the last one counts."""
    return list({key_of(item): item for item in items}.values())
