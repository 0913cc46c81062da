"""The inventory as metrics: slots, use and claims of every pool, and what namespaces hold and wait for.

Written as text by itself: with thousands of nodes a scrape through the client library would stop the event loop for
half a second. Lines of nodes that did not change since the last scrape are kept.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from gpusched.core.names import QUOTA_GATE
from gpusched.core.pool import Pool
from gpusched.state.cluster import Cluster
from gpusched.state.node_state import NodeState

_MIB: Final = 1 << 20
UNKNOWN: Final = "unknown"

#: Name and help of every metric of this module, all of them gauges.
POOL_METRICS: Final[Mapping[str, str]] = {
    "gpusched_pool_slots": "GPU slots that a node offers (allocatable), by resource.",
    "gpusched_pool_slots_used": "GPU slots that pods hold, by node and resource; promised ones count.",
    "gpusched_pool_memory_bytes": "Memory of the GPUs or MIG instances behind the slots, where it is known.",
    "gpusched_pool_memory_claimed_bytes": "Sum of the memory claims of pods, by node and resource.",
    "gpusched_pool_available": "1 where slots can be taken: the node is ready and not cordoned, the pool not blocked.",
}
NAMESPACE_METRICS: Final[Mapping[str, str]] = {
    "gpusched_namespace_slots_used": "GPU slots that pods of a namespace hold.",
    "gpusched_namespace_memory_claimed_bytes": "Sum of the memory claims of a namespace's pods on nodes.",
}
OTHER_METRICS: Final[Mapping[str, str]] = {
    "gpusched_pods_waiting": "GPU pods without a node: pending, behind the quota gate, or behind another gate.",
    "gpusched_quota_slots": "Limit of a namespace's quota in GPU slots, by family; * for all families together.",
    "gpusched_quota_slots_used": "GPU slots that count against that limit.",
    "gpusched_quota_memory_bytes": "Limit of a namespace's quota of GPU memory.",
    "gpusched_quota_memory_used_bytes": "GPU memory that counts against that limit.",
}
METRICS: Final = {**POOL_METRICS, **NAMESPACE_METRICS, **OTHER_METRICS}

_Held = tuple[str, str, str]
"""Namespace, resource, family."""


class _Lines(msgspec.Struct, frozen=True):
    """One node as it was counted: its lines by metric, and what namespaces hold on it in slots and MiB."""

    state: NodeState
    version: int
    lines: tuple[bytes, ...]
    slots: Mapping[_Held, int]
    claims: Mapping[_Held, int]


class Inventory:
    """Metrics of one cluster state: take the steps of `update`, then `render`."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._nodes: dict[str, _Lines] = {}
        self._slots: Counter[_Held] = Counter()
        self._claims: Counter[_Held] = Counter()
        self._others: dict[str, list[str]] = {}

    def update(self) -> Iterator[None]:
        """Bring the figures up to date in short steps."""
        states = dict(self._cluster.nodes)
        for name in [name for name in self._nodes if name not in states]:
            self._drop(self._nodes.pop(name))
        for name, state in states.items():
            known = self._nodes.get(name)
            if known is None or known.state is not state or known.version != state.version:
                if known is not None:
                    self._drop(known)
                self._nodes[name] = self._enter(_lines_of(state))
                yield
        yield from self._update_others()

    def render(self) -> bytes:
        """The figures in Prometheus' text format."""
        parts: list[bytes] = []
        nodes = self._nodes.values()
        for index, metric in enumerate(POOL_METRICS):
            parts += [_head(metric), *(node.lines[index] for node in nodes)]
        sums = zip(NAMESPACE_METRICS, (self._slots, self._claims), (1, _MIB), strict=True)
        for metric, held, unit in sums:
            parts += [_head(metric), *_held(metric, held, unit)]
        for metric in OTHER_METRICS:
            parts += [_head(metric), *(line.encode() for line in self._others.get(metric, ()))]
        return b"".join(parts)

    def _enter(self, node: _Lines) -> _Lines:
        self._slots.update(node.slots)
        self._claims.update(node.claims)
        return node

    def _drop(self, node: _Lines) -> None:
        for sums, own in ((self._slots, node.slots), (self._claims, node.claims)):
            for key, amount in own.items():
                sums[key] -= amount
                if not sums[key]:
                    del sums[key]

    def _update_others(self) -> Iterator[None]:
        """Pods that wait and quotas; a step a namespace."""
        cluster = self._cluster
        found: dict[str, list[str]] = {metric: [] for metric in OTHER_METRICS}
        waiting: Counter[tuple[str, str]] = Counter()
        for number, record in enumerate(list(cluster.pods.values())):
            if cluster.node_of(record.key) is None:
                gates = record.pod.spec.gates
                waiting[record.pod.namespace, "quota" if QUOTA_GATE in gates else "gated" if gates else "pending"] += 1
            if number % 500 == 499:
                yield
        for (namespace, state), count in sorted(waiting.items()):
            found["gpusched_pods_waiting"].append(
                _line("gpusched_pods_waiting", {"namespace": namespace, "state": state}, count)
            )
        for namespace in sorted(cluster.namespaces()):
            _quota(cluster, namespace, found)
            yield
        self._others = found


def _lines_of(state: NodeState) -> _Lines:
    lines: dict[str, list[str]] = {metric: [] for metric in POOL_METRICS}
    slots: Counter[_Held] = Counter()
    claims: Counter[_Held] = Counter()
    for pool in state.node.pools:
        use = state.use(pool.resource)
        amounts: dict[str, int | None] = {
            "gpusched_pool_slots": pool.slots,
            "gpusched_pool_slots_used": use.used,
            "gpusched_pool_memory_bytes": _memory(pool),
            "gpusched_pool_memory_claimed_bytes": sum(use.claims) * _MIB,
            "gpusched_pool_available": int(pool.blocked is None and state.node.object.in_service),
        }
        labels = {
            "node": state.node.name,
            "resource": pool.resource,
            "family": pool.family or UNKNOWN,
            "product": pool.product or UNKNOWN,
            "sharing": str(pool.sharing) if pool.sharing is not None else UNKNOWN,
        }
        for metric, amount in amounts.items():
            if amount is not None:
                lines[metric].append(_line(metric, labels, amount))
        for holder in state.holders.values():
            count = holder.slots.get(pool.resource, 0)
            if count:
                key = (holder.namespace, pool.resource, pool.family or UNKNOWN)
                slots[key] += count
                claims[key] += count * (holder.claim_mib or 0)
    return _Lines(state, state.version, tuple("".join(own).encode() for own in lines.values()), slots, claims)


def _memory(pool: Pool) -> int | None:
    if pool.device_memory_mib is None or pool.devices is None:
        return None
    return pool.device_memory_mib * pool.devices * _MIB


def _quota(cluster: Cluster, namespace: str, found: Mapping[str, list[str]]) -> None:
    resolution = cluster.resolution(namespace, {})
    quota, memory = resolution.quota, resolution.quota_memory_mib
    if quota is None and memory is None:
        return
    use = cluster.quota_use(namespace)
    limits = [(family, limit, use.families.get(family, 0)) for family, limit in (quota.families if quota else ())]
    if quota is not None and quota.total is not None:
        limits.append(("*", quota.total, use.total))
    for family, limit, used in limits:
        labels = {"namespace": namespace, "family": family}
        found["gpusched_quota_slots"].append(_line("gpusched_quota_slots", labels, limit))
        found["gpusched_quota_slots_used"].append(_line("gpusched_quota_slots_used", labels, used))
    if memory is not None:
        for metric, amount in (
            ("gpusched_quota_memory_bytes", memory),
            ("gpusched_quota_memory_used_bytes", use.memory_mib),
        ):
            found[metric].append(_line(metric, {"namespace": namespace}, amount * _MIB))


def _held(metric: str, held: Mapping[_Held, int], unit: int) -> Iterator[bytes]:
    for (namespace, resource, family), amount in sorted(held.items()):
        yield _line(metric, {"namespace": namespace, "resource": resource, "family": family}, amount * unit).encode()


def _head(metric: str) -> bytes:
    return f"# HELP {metric} {METRICS[metric]}\n# TYPE {metric} gauge\n".encode()


def _line(metric: str, labels: Mapping[str, str], amount: int) -> str:
    inside = ",".join(f'{key}="{_escaped(value)}"' for key, value in labels.items())
    return f"{metric}{{{inside}}} {amount}\n"


def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")
