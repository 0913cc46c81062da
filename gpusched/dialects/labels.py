"""The normalised labels that gpusched writes on nodes, for node affinity of any pod."""

import re
from collections.abc import Callable
from typing import Final

import msgspec

from gpusched.core.names import PREFIX
from gpusched.core.node import Node
from gpusched.core.pool import Pool

#: Label value syntax of Kubernetes (apimachinery validation.IsValidLabelValue), not empty.
_VALUE: Final = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?", re.ASCII)

_FACTS: Final[tuple[tuple[str, Callable[[Pool], str | int | None]], ...]] = (
    ("vendor", lambda pool: pool.vendor),
    ("family", lambda pool: pool.family),
    ("product", lambda pool: pool.product),
    ("sharing", lambda pool: None if pool.sharing is None else pool.sharing.value),
    ("gpu-memory-mib", lambda pool: pool.gpu_memory_mib),
    ("visible-memory-mib", lambda pool: pool.visible_memory_mib),
    ("slot-memory-mib", lambda pool: pool.slot_memory_mib),
    ("replicas", lambda pool: pool.replicas),
    ("cuda-version", lambda pool: pool.cuda_version),
    ("driver-version", lambda pool: pool.driver_version),
)
MIXED: Final = f"{PREFIX}mixed"
#: Every key that may be written; those not in a node's labels are to be removed from it.
KEYS: Final = (*(PREFIX + name for name, _ in _FACTS), MIXED)


def gpusched_labels(node: Node) -> dict[str, str]:
    """The labels of a node, empty for one without GPU pools.

    A fact on which the pools differ, which only some of them know, or which is no label value (a product of more than
    63 characters) is left out and `gpusched.io/mixed` is `true`: affinity then leaves the node to the extender.
    Pools without slots have no say unless all are so: MIG leaves resources of zero behind.
    """
    pools = [pool for pool in node.pools if pool.slots] or list(node.pools)
    labels: dict[str, str] = {}
    for name, of in _FACTS:
        values = {of(pool) for pool in pools}
        if len(values) > 1:
            labels[MIXED] = "true"
            continue
        text = str(next(iter(values), None) or "")
        if _VALUE.fullmatch(text):
            labels[PREFIX + name] = text
        elif text:
            labels[MIXED] = "true"
    return labels


def with_labels(node: Node) -> Node:
    """The node with the labels that the labeller would write, in place of any it carries from an earlier pass."""
    others = {key: value for key, value in node.object.labels.items() if not key.startswith(PREFIX)}
    labels = others | gpusched_labels(node)
    return msgspec.structs.replace(node, object=msgspec.structs.replace(node.object, labels=labels))
