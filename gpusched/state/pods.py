"""The books of GPU pods: which node they hold, what is promised to them, and what their namespaces use."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

import msgspec

from gpusched.core.demand import Demand, demand, mentions_gpu
from gpusched.core.misspelt import names_of, near_misses
from gpusched.core.names import QUOTA_GATE
from gpusched.core.node import Node
from gpusched.core.pod import Pod
from gpusched.core.usage import Holder, QuotaUse
from gpusched.state.shared import SharedValues

if TYPE_CHECKING:
    from gpusched.state.cluster import Cluster


class PodRecord(msgspec.Struct, frozen=True, gc=False):
    """A GPU pod and what it asks for. `sequence` is the order in which pods were first seen."""

    key: str
    pod: Pod
    demand: Demand
    sequence: int


class PodBooks:
    """Keeps every unfinished GPU pod; pods without GPU are not kept, but for those that wait for a misspelt one.

    A pod counts on its node from the moment it is reserved or seen bound, until it is seen finished or gone. A
    terminating pod still holds its GPU.
    """

    def __init__(self, cluster: "Cluster") -> None:
        self._cluster = cluster
        self.records: dict[str, PodRecord] = {}
        self._reserved: dict[str, Holder] = {}
        self._by_node: dict[str, dict[str, Holder]] = {}
        self._node_of: dict[str, str] = {}
        self._by_namespace: dict[str, dict[str, None]] = {}
        self._sequence = 0
        self._shared = SharedValues()

    def see(self, key: str, pod: Pod) -> bool:
        """Take in a pod as the API server has it now; whether the books say something else than before."""
        resources = self._cluster.resources
        if pod.terminal or not (mentions_gpu(pod, resources) or self._waits_misspelt(pod)):
            return self.forget(key)
        claim = self._cluster.resolution(pod.namespace, pod.annotations).own.claim_mib
        pod = self._shared.pod(pod)
        asked = self._shared.one(demand(pod, resources, claim))
        before = self.records.get(key)
        if before is None:
            self._sequence += 1
        sequence = self._sequence if before is None else before.sequence
        self.records[key] = PodRecord(key=key, pod=pod, demand=asked, sequence=sequence)
        self._by_namespace.setdefault(pod.namespace, {})[key] = None
        if pod.spec.node_name:
            self._reserved.pop(key, None)
            self._place(key, pod.spec.node_name, _holder(pod, asked))
        return True

    def _waits_misspelt(self, pod: Pod) -> bool:
        """Whether the pod waits for what was meant to be a GPU, and no node has: people look for it among GPU pods."""
        if pod.spec.node_name:
            return False
        slips = near_misses(names_of(pod), self._cluster.resources, frozenset())
        offered = (state.node.object.allocatable for state in self._cluster.nodes.values())
        return bool(slips) and not any(slips.keys() & amounts.keys() for amounts in offered)

    def forget(self, key: str) -> bool:
        """Drop a pod that is finished or gone, with any promise to it; whether it was in the books."""
        record, holder = self.records.pop(key, None), self._reserved.pop(key, None)
        self._unplace(key)
        namespace = record.pod.namespace if record is not None else holder.namespace if holder is not None else None
        if namespace is not None:
            self._leave(namespace, key)
        return namespace is not None

    def reserve(self, node_name: str, key: str, holder: Holder) -> None:
        """Promise a node to a pod. One that was seen bound keeps its own place and needs no promise."""
        record = self.records.get(key)
        if record is not None and record.pod.spec.node_name:
            return
        self._reserved[key] = holder
        self._by_namespace.setdefault(holder.namespace, {})[key] = None
        self._place(key, node_name, holder)

    def release(self, key: str) -> None:
        """Take back a promise. A second release is nothing."""
        holder = self._reserved.pop(key, None)
        if holder is None:
            return
        self._unplace(key)
        if key not in self.records:
            self._leave(holder.namespace, key)

    @contextmanager
    def without(self, keys: Iterable[str]) -> Iterator[None]:
        """The books as if these pods were gone; everything stands as before at the end, whatever happens meanwhile."""
        taken: list[tuple[str, PodRecord | None, Holder | None, str | None]] = []
        for key in keys:
            record, holder, node_name = self.records.get(key), self._reserved.get(key), self._node_of.get(key)
            if record is not None or holder is not None:
                taken.append((key, record, holder, node_name))
                self.forget(key)
        try:
            yield
        finally:
            for key, record, holder, node_name in taken:
                self._restore(key, record, holder, node_name)

    def _restore(self, key: str, record: PodRecord | None, reserved: Holder | None, node_name: str | None) -> None:
        if record is not None:
            self.records[key] = record
            self._by_namespace.setdefault(record.pod.namespace, {})[key] = None
        if reserved is not None and node_name is not None:
            self.reserve(node_name, key, reserved)
        elif record is not None and node_name is not None:
            self._place(key, node_name, _holder(record.pod, record.demand))

    def node_of(self, key: str) -> str | None:
        """The node that a pod is bound to or was promised."""
        return self._node_of.get(key)

    @property
    def namespaces(self) -> Iterable[str]:
        """Names of the namespaces with GPU pods."""
        return self._by_namespace.keys()

    @property
    def reserved(self) -> Mapping[str, Holder]:
        """Promises to pods that were not seen on a node yet, by key."""
        return self._reserved

    def of_namespace(self, namespace: str) -> Iterable[str]:
        """Keys of the pods of a namespace, seen or promised a node."""
        return self._by_namespace.get(namespace, {}).keys()

    def settle(self, node_name: str) -> None:
        """Give a node that was just seen the holders that were known before it."""
        state = self._cluster.nodes[node_name]
        for key, holder in self._by_node.get(node_name, {}).items():
            state.hold(key, holder)

    def quota_use(self, namespace: str, *, without: str = "", placed: bool = False) -> QuotaUse:
        """Slots and memory that count against a quota: bound pods, promises, and pods that wait without the quota gate.

        With `without` (the pod that asks), waiting pods behind it in the line do not count: two pods that both wait
        for the last slot would otherwise refuse each other for ever. With `placed` no pod that waits counts: what is
        left is what the namespace holds.
        """
        asker = self.records.get(without)
        families: dict[str, int] = {}
        unknown = memory = unknown_memory = 0
        for key in self._by_namespace.get(namespace, {}):
            node_name = self._node_of.get(key)
            if placed and node_name is None:
                continue
            if key == without or self._waits_gated(key) or self._waits_behind(key, asker):
                continue
            slots_asked, claim = self._asked(key)
            state = self._cluster.nodes.get(node_name) if node_name else None
            for resource, slots in slots_asked.items():
                family, slot_memory = self._family(key, resource, state.node if state else None)
                if family is None:
                    unknown += slots
                else:
                    families[family] = families.get(family, 0) + slots
                part = claim if claim is not None else slot_memory
                memory += (part or 0) * slots
                unknown_memory += slots if part is None else 0
        return QuotaUse(families=families, unknown=unknown, memory_mib=memory, unknown_memory=unknown_memory)

    def _waits_gated(self, key: str) -> bool:
        return key not in self._node_of and QUOTA_GATE in self.records[key].pod.spec.gates

    def _waits_behind(self, key: str, asker: PodRecord | None) -> bool:
        return asker is not None and key not in self._node_of and line_order(self.records[key]) > line_order(asker)

    def _asked(self, key: str) -> tuple[Mapping[str, int], int | None]:
        """Slots per resource and the claim per slot, of a pod seen or only promised a node."""
        record = self.records.get(key)
        if record is not None:
            return record.demand.slots, record.demand.claim_mib
        holder = self._reserved[key]
        return holder.slots, holder.claim_mib

    def _family(self, key: str, resource: str, node: Node | None) -> tuple[str | None, int | None]:
        """Family and slot memory of what a pod holds; of a pod not placed yet, the one family it may have."""
        pool = node.pool(resource) if node is not None else None
        if pool is not None:
            return pool.family, pool.slot_memory_mib
        record = self.records.get(key)
        if record is None:
            return None, None
        pod = record.pod
        families = self._cluster.resolution(pod.namespace, pod.annotations).constraints.families
        return (families[0] if families is not None and len(families) == 1 else None), None

    def _leave(self, namespace: str, key: str) -> None:
        keys = self._by_namespace.get(namespace, {})
        keys.pop(key, None)
        if not keys:
            self._by_namespace.pop(namespace, None)

    def _place(self, key: str, node_name: str, holder: Holder) -> None:
        if self._node_of.get(key, node_name) != node_name:
            self._unplace(key)
        self._node_of[key] = node_name
        self._by_node.setdefault(node_name, {})[key] = holder
        state = self._cluster.nodes.get(node_name)
        if state is not None:
            state.hold(key, holder)

    def _unplace(self, key: str) -> None:
        node_name = self._node_of.pop(key, None)
        if node_name is None:
            return
        holders = self._by_node[node_name]
        holders.pop(key, None)
        if not holders:
            del self._by_node[node_name]
        state = self._cluster.nodes.get(node_name)
        if state is not None:
            state.release(key)


def _holder(pod: Pod, asked: Demand) -> Holder:
    return Holder(
        namespace=pod.namespace,
        name=pod.name,
        slots=asked.slots,
        claim_mib=asked.claim_mib,
        outside=not pod.bound_by_us,
        priority=pod.spec.priority,
        deleting=pod.deleting,
    )


def line_order(record: PodRecord) -> tuple[int, bool, str, int]:
    """Where a pod stands in line: higher priority, then older; one that no API server has given a time is youngest."""
    pod = record.pod
    return -pod.spec.priority, not pod.created, pod.created, record.sequence
