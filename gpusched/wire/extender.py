"""The JSON of kube-scheduler's extender protocol (k8s.io/kube-scheduler/extender/v1), key for key.

The Go structs carry no JSON tags, so keys are capitalised; unset pointers and maps arrive as null.
"""

from collections.abc import Mapping

import msgspec


class NodeList(msgspec.Struct):
    """A list of nodes whose objects are carried through untouched."""

    items: list[msgspec.Raw] | None = None


class ExtenderArgs(msgspec.Struct):
    """Request of filter and prioritize. Exactly one of `nodes` and `node_names` is set."""

    pod: object = msgspec.field(name="Pod", default=None)
    nodes: NodeList | None = msgspec.field(name="Nodes", default=None)
    node_names: list[str] | None = msgspec.field(name="NodeNames", default=None)


class NodeListAnswer(msgspec.Struct):
    """Nodes as they were sent."""

    items: list[msgspec.Raw]


class ExtenderFilterResult(msgspec.Struct):
    """Answer of filter, in the same field as asked. A non-empty `error` fails the pod's cycle."""

    nodes: NodeListAnswer | None = msgspec.field(name="Nodes", default=None)
    node_names: list[str] | None = msgspec.field(name="NodeNames", default=None)
    failed_nodes: Mapping[str, str] = msgspec.field(name="FailedNodes", default_factory=dict)
    failed_and_unresolvable_nodes: Mapping[str, str] = msgspec.field(
        name="FailedAndUnresolvableNodes", default_factory=dict
    )
    error: str = msgspec.field(name="Error", default="")


class HostPriority(msgspec.Struct):
    """One element of the prioritize answer; the score is an integer, since Go drops the whole answer otherwise."""

    host: str = msgspec.field(name="Host")
    score: int = msgspec.field(name="Score")


class MetaPod(msgspec.Struct):
    """A victim by UID."""

    uid: str = msgspec.field(name="UID", default="")


class MetaVictims(msgspec.Struct):
    """Victims of one node."""

    pods: list[MetaPod] | None = msgspec.field(name="Pods", default=None)
    violations: int = msgspec.field(name="NumPDBViolations", default=0)


class VictimMetadata(msgspec.Struct):
    """The part of a victim's object that identifies it."""

    uid: str = ""


class VictimPod(msgspec.Struct):
    """A victim as a whole Pod."""

    metadata: VictimMetadata = msgspec.field(default_factory=VictimMetadata)


class Victims(msgspec.Struct):
    """Victims of one node, as whole pods: sent when nodeCacheCapable is false."""

    pods: list[VictimPod] | None = msgspec.field(name="Pods", default=None)
    violations: int = msgspec.field(name="NumPDBViolations", default=0)


class ExtenderPreemptionArgs(msgspec.Struct):
    """Request of preempt. Exactly one of the two maps is filled."""

    pod: object = msgspec.field(name="Pod", default=None)
    victims: dict[str, Victims] | None = msgspec.field(name="NodeNameToVictims", default=None)
    meta_victims: dict[str, MetaVictims] | None = msgspec.field(name="NodeNameToMetaVictims", default=None)


class ExtenderPreemptionResult(msgspec.Struct):
    """Answer of preempt: always by UID, whatever was asked."""

    meta_victims: Mapping[str, MetaVictims] = msgspec.field(name="NodeNameToMetaVictims", default_factory=dict)


class ExtenderBindingArgs(msgspec.Struct):
    """Request of bind."""

    pod_name: str = msgspec.field(name="PodName", default="")
    pod_namespace: str = msgspec.field(name="PodNamespace", default="")
    pod_uid: str = msgspec.field(name="PodUID", default="")
    node: str = msgspec.field(name="Node", default="")


class ExtenderBindingResult(msgspec.Struct):
    """Answer of bind; empty for success."""

    error: str = msgspec.field(name="Error", default="")
