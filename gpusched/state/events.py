"""What can happen to the cluster's objects, as records: an object seen, an object gone, a whole kind listed anew."""

from collections.abc import Mapping
from enum import StrEnum

import msgspec

from gpusched.core.cluster_facts import OperatorFacts, RuntimeClass
from gpusched.core.dra import DeviceClass, ResourceSlice
from gpusched.core.node import NodeObject
from gpusched.core.pod import Pod


class Kind(StrEnum):
    """The kinds of objects that the cluster state is made of."""

    NODE = "Node"
    POD = "Pod"
    NAMESPACE = "Namespace"
    RUNTIME_CLASS = "RuntimeClass"
    CLUSTER_POLICY = "ClusterPolicy"
    DEVICE_CLASS = "DeviceClass"
    RESOURCE_SLICE = "ResourceSlice"


class NamespaceObject(msgspec.Struct, frozen=True):
    """A Namespace, trimmed: `annotations` are those under `gpusched.io/` alone."""

    name: str
    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}


Seen = NodeObject | Pod | NamespaceObject | RuntimeClass | OperatorFacts | DeviceClass | ResourceSlice

_KINDS: dict[type, Kind] = {
    NodeObject: Kind.NODE,
    Pod: Kind.POD,
    NamespaceObject: Kind.NAMESPACE,
    RuntimeClass: Kind.RUNTIME_CLASS,
    OperatorFacts: Kind.CLUSTER_POLICY,
    DeviceClass: Kind.DEVICE_CLASS,
    ResourceSlice: Kind.RESOURCE_SLICE,
}


def kind_of(seen: Seen) -> Kind:
    """The kind of a record."""
    return _KINDS[type(seen)]


def key_of(seen: Seen) -> str:
    """Identity within a kind: pods by UID (a recreated pod is another one; namespace/name where a dump has no UID),
    everything else by name.
    """
    if isinstance(seen, Pod):
        return seen.uid or f"{seen.namespace}/{seen.name}"
    return "" if isinstance(seen, OperatorFacts) else seen.name


class Upsert(msgspec.Struct, frozen=True):
    """An object was added or changed."""

    seen: Seen


class Gone(msgspec.Struct, frozen=True):
    """An object was deleted."""

    kind: Kind
    key: str


class Replace(msgspec.Struct, frozen=True):
    """A whole kind was listed anew; what is not in the list is gone, so that deletions in a gap are seen."""

    kind: Kind
    seen: tuple[Seen, ...]


Event = Upsert | Gone | Replace
