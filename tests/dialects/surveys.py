"""Nodes for dialect tests, straight from labels and slots."""

from gpusched.core.node import Node, NodeObject
from gpusched.core.pool import Pool
from gpusched.core.resources import GpuResources
from gpusched.dialects.inventory import inventory


def survey(
    labels: dict[str, str],
    slots: dict[str, int] | int = 1,
    *,
    capacity: dict[str, int] | None = None,
    facts: str | None = None,
    extra: dict[str, str] | None = None,
    dra: frozenset[str] = frozenset(),
) -> Node:
    """The inventory of a node; labels without a domain are NVIDIA's, a bare number is of nvidia.com/gpu."""
    allocatable = {"nvidia.com/gpu": slots} if isinstance(slots, int) else slots
    full = {key if "/" in key else f"nvidia.com/{key}": value for key, value in labels.items()}
    node = NodeObject(
        "n",
        labels=full,
        annotations={} if facts is None else {"gpusched.io/facts": facts},
        allocatable={"cpu": 64000} | allocatable,
        capacity={"cpu": 64000} | (allocatable if capacity is None else capacity),
    )
    return inventory(node, GpuResources(extra or {}), dra)


def only_pool(node: Node) -> Pool:
    """The pool of a node that has one."""
    (pool,) = node.pools
    return pool


def facts_of(pool: Pool) -> tuple[object, ...]:
    """family, product, sharing, replicas, devices, card, visible and slot memory."""
    return (
        pool.family,
        pool.product,
        None if pool.sharing is None else pool.sharing.value,
        pool.replicas,
        pool.devices,
        pool.gpu_memory_mib,
        pool.visible_memory_mib,
        pool.slot_memory_mib,
    )
