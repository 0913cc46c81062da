"""Gathers what admission needs to know about all nodes together."""

from collections.abc import Iterable, Mapping

import msgspec

from gpusched.core.cluster_facts import ClusterFacts, OperatorFacts, RuntimeClass
from gpusched.core.dra import DeviceClass
from gpusched.core.node import Node, Taint
from gpusched.core.node_groups import grouped
from gpusched.core.pool import Pool

_TAINT_EFFECTS = frozenset({"NoSchedule", "NoExecute"})


def pool_kind(pool: Pool) -> Pool:
    """The pool without what differs between nodes of one kind."""
    return msgspec.structs.replace(pool, slots=0, devices=None, notes=(), provenance=())


def gather(
    nodes: Iterable[Node],
    runtime_classes: Mapping[str, RuntimeClass],
    operator: OperatorFacts | None,
    device_classes: Iterable[DeviceClass],
    *,
    labelled: bool,
) -> ClusterFacts:
    """Facts about the cluster of today; order of nodes does not matter."""
    ordered = tuple(sorted(nodes, key=lambda node: node.name))
    offering = [node for node in ordered if any(pool.slots for pool in node.pools) or node.dra_resources]
    pools = {pool_kind(pool): None for node in ordered for pool in node.pools if pool.slots}
    taints: dict[Taint, None] = {
        taint: None for node in offering for taint in node.object.taints if taint.effect in _TAINT_EFFECTS
    }
    return ClusterFacts(
        known=True,
        nodes=ordered,
        grouped=grouped(ordered),
        pools=tuple(sorted(pools, key=repr)),
        resources=frozenset(name for node in ordered for name, amount in node.object.allocatable.items() if amount),
        gpu_taints=tuple(sorted(taints, key=repr)),
        dialects=frozenset(name for node in ordered for name in node.dialects),
        runtime_classes=dict(runtime_classes),
        operator=operator,
        dra_resources=frozenset(
            device_class.extended_resource for device_class in device_classes if device_class.extended_resource
        ),
        labelled=labelled,
    )
