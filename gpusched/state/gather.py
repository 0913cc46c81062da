"""Gathers what admission needs to know about all nodes together."""

from collections.abc import Hashable, Iterable, Mapping

import msgspec

from gpusched.core.cluster_facts import ClusterFacts, OperatorFacts, RuntimeClass
from gpusched.core.dra import DeviceClass
from gpusched.core.node import Node, Taint
from gpusched.core.node_groups import NodeGroup, offer
from gpusched.core.pool import Pool
from gpusched.state.node_state import NodeState

_TAINT_EFFECTS = frozenset({"NoSchedule", "NoExecute"})


def pool_kind(pool: Pool) -> Pool:
    """The pool without what differs between nodes of one kind."""
    return msgspec.structs.replace(pool, slots=0, devices=None, notes=(), provenance=())


class _Share(msgspec.Struct, frozen=True):
    """What one node adds to the facts; equal shares are one object, told apart by `number`."""

    number: int
    group: int
    pools: tuple[Pool, ...]
    taints: tuple[Taint, ...]
    resources: frozenset[str]
    dialects: frozenset[str]


class Gatherer:
    """Remembers what each node added, so that after a change only the nodes that changed are looked at."""

    def __init__(self) -> None:
        self._seen: dict[str, tuple[Node, _Share]] = {}
        self._shares: dict[Hashable, _Share] = {}
        self._groups: dict[Hashable, int] = {}

    def gather(
        self,
        nodes: Mapping[str, NodeState],
        runtime_classes: Mapping[str, RuntimeClass],
        operator: OperatorFacts | None,
        device_classes: Iterable[DeviceClass],
        *,
        labelled: bool,
    ) -> ClusterFacts:
        """Facts about the cluster of today; order of nodes does not matter."""
        ordered = tuple(nodes[name].node for name in sorted(nodes))
        groups: dict[int, list[Node]] = {}
        shares: dict[int, _Share] = {}
        for node in ordered:
            share = self.look_at(node)
            shares[share.number] = share
            groups.setdefault(share.group, []).append(node)
        self._forget(nodes)
        pools = {pool: None for share in shares.values() for pool in share.pools}
        taints = {taint: None for share in shares.values() for taint in share.taints}
        return ClusterFacts(
            known=True,
            nodes=ordered,
            grouped=tuple(map(NodeGroup, groups.values())),
            pools=tuple(sorted(pools, key=repr)),
            resources=frozenset().union(*(share.resources for share in shares.values())),
            gpu_taints=tuple(sorted(taints, key=repr)),
            dialects=frozenset().union(*(share.dialects for share in shares.values())),
            runtime_classes=dict(runtime_classes),
            operator=operator,
            dra_resources=frozenset(
                device_class.extended_resource for device_class in device_classes if device_class.extended_resource
            ),
            labelled=labelled,
        )

    def look_at(self, node: Node) -> _Share:
        """What a node adds; found here as nodes are seen, so that gathering them is a matter of milliseconds."""
        seen = self._seen.get(node.name)
        if seen is not None and seen[0] is node:
            return seen[1]
        group = offer(node)
        resources = frozenset(name for name, amount in node.object.allocatable.items() if amount)
        key = (group, resources, node.dialects)
        share = self._shares.get(key)
        if share is None:
            number = self._groups.setdefault(group, len(self._groups))
            share = self._shares[key] = _Share(
                number=len(self._shares),
                group=number,
                pools=tuple(pool_kind(pool) for pool in node.pools if pool.slots),
                taints=_gpu_taints(node),
                resources=resources,
                dialects=node.dialects,
            )
        self._seen[node.name] = (node, share)
        return share

    def _forget(self, nodes: Mapping[str, NodeState]) -> None:
        """Keep no more than twice what there is now: kinds of nodes come and go over the life of a cluster."""
        if len(self._shares) > 2 * len(nodes) + 64 or len(self._seen) > 2 * len(nodes):
            self._seen.clear()
            self._shares.clear()
            self._groups.clear()


def _gpu_taints(node: Node) -> tuple[Taint, ...]:
    if not any(pool.slots for pool in node.pools) and not node.dra_resources:
        return ()
    return tuple(taint for taint in node.object.taints if taint.effect in _TAINT_EFFECTS)
