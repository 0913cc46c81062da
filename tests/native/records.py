"""Builders of the records that native rules judge; every call makes fresh ones."""

from collections.abc import Mapping
from typing import Any

from gpusched.core.node import NodeObject, Taint
from gpusched.core.pod import Container, ContainerKind, Pod, PodAffinityTerm, PodSpec, SpreadConstraint
from gpusched.core.selector import Operator, Requirement
from gpusched.native.ledger import NativeLedger

ZONE = "topology.kubernetes.io/zone"
HOST = "kubernetes.io/hostname"


def labelled(key: str, *values: str) -> tuple[Requirement, ...]:
    """A selector of pods whose label has one of the values."""
    return (Requirement(key, Operator.IN, values),)


def make_pod(
    name: str = "p",
    namespace: str = "team-a",
    labels: Mapping[str, str] | None = None,
    *,
    deleting: bool = False,
    phase: str = "Pending",
    **spec: Any,
) -> Pod:
    """A pod; further keys go into the spec."""
    return Pod(namespace, name, PodSpec(**spec), labels=labels or {}, deleting=deleting, phase=phase)


def with_ports(*ports: tuple[str, str, int], kind: ContainerKind = ContainerKind.APP) -> tuple[Container, ...]:
    """Containers of a pod that wants host ports."""
    return (Container("main", kind, 0, host_ports=ports),)


def make_node(
    name: str = "n1",
    labels: Mapping[str, str] | None = None,
    taints: tuple[Taint, ...] = (),
    *,
    unschedulable: bool = False,
    **allocatable: int,
) -> NodeObject:
    """A node with its hostname label and room for 10 pods; further keys are allocatable amounts."""
    return NodeObject(
        name,
        labels={HOST: name, **(labels or {})},
        taints=taints,
        unschedulable=unschedulable,
        allocatable={"pods": 10, "cpu": 4000, "memory": 8 << 30} | allocatable,
    )


def zoned(**zones: str) -> list[NodeObject]:
    """Nodes by name with their zone; an empty zone means no zone label."""
    return [make_node(name, {ZONE: zone} if zone else {}) for name, zone in zones.items()]


def booked(nodes: list[NodeObject], *pods: tuple[Pod, str]) -> NativeLedger:
    """A ledger with pods bound to nodes, asking for nothing."""
    ledger = NativeLedger(nodes)
    for pod, node_name in pods:
        assert ledger.add(pod, {}, node_name)
    return ledger


def near(selector: tuple[Requirement, ...] | None, key: str = ZONE, **extra: Any) -> PodAffinityTerm:
    """A pod affinity term."""
    return PodAffinityTerm(key, selector, **extra)


def spread(
    selector: tuple[Requirement, ...] | None, max_skew: int = 1, key: str = ZONE, **extra: Any
) -> SpreadConstraint:
    """A DoNotSchedule constraint."""
    return SpreadConstraint(max_skew, key, selector, **extra)
