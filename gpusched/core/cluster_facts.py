"""What admission needs to know of the cluster of today, gathered once per change instead of per pod."""

from collections.abc import Mapping

import msgspec

from gpusched.core.node import Node, Taint
from gpusched.core.node_groups import NodeGroup, grouped
from gpusched.core.pod import Toleration
from gpusched.core.pool import Pool


class RuntimeClass(msgspec.Struct, frozen=True):
    """node.k8s.io/v1 RuntimeClass, trimmed. `overhead` is podFixed as written."""

    name: str
    handler: str = ""
    overhead: Mapping[str, str] = {}
    node_selector: Mapping[str, str] = {}
    tolerations: tuple[Toleration, ...] = ()


class OperatorFacts(msgspec.Struct, frozen=True):
    """The GPU Operator's ClusterPolicy, trimmed. `version` is (major, minor) or None when it cannot be told."""

    runtime_class: str = "nvidia"
    cdi_enabled: bool | None = None
    nri_enabled: bool = False
    version: tuple[int, int] | None = None


class ClusterFacts(msgspec.Struct, frozen=True):
    """`known` False means that no cluster was given: nothing may be concluded from what is absent."""

    known: bool = False
    nodes: tuple[Node, ...] = ()
    #: The same nodes by what they offer; empty where nobody has grouped them yet.
    grouped: tuple[NodeGroup, ...] = ()
    #: Every pool of every node that has slots, distinct by everything but slots, devices and notes.
    pools: tuple[Pool, ...] = ()
    #: Extended resource names in any node's allocatable.
    resources: frozenset[str] = frozenset()
    #: NoSchedule and NoExecute taints of nodes that offer GPUs, distinct.
    gpu_taints: tuple[Taint, ...] = ()
    dialects: frozenset[str] = frozenset()
    runtime_classes: Mapping[str, RuntimeClass] = {}
    operator: OperatorFacts | None = None
    #: Extended resource names that a DeviceClass serves through DRA.
    dra_resources: frozenset[str] = frozenset()
    #: Whether the labeller has finished a first pass; offline it is taken to have (simulate labels the nodes itself).
    labelled: bool = True

    @property
    def groups(self) -> tuple[NodeGroup, ...]:
        """The nodes by what they offer."""
        return self.grouped or grouped(self.nodes)
