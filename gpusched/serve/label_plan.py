"""PURE. Which labels of a node are to be written now, and which may stand although their facts have vanished."""

from collections.abc import Iterable
from typing import Final

from gpusched.core.node import Node
from gpusched.dialects.labels import KEYS, MIXED, gpusched_labels

_GONE: Final = 1_000


class LabelPlan:
    """Remembers since when facts have been missing. A changed value is written at once; a label whose fact vanished
    (device plugins are rolled out, NFD restarts) is kept for `keep` seconds, unless the Node is another one by now.
    """

    def __init__(self, keep: float) -> None:
        self.keep = keep
        self._missing: dict[str, dict[str, float]] = {}
        self._uids: dict[str, str] = {}
        self._gone: dict[str, str] = {}

    def patch(self, node: Node, now: float) -> dict[str, str | None]:
        """Labels to set, and with None to remove; empty when nothing is to be done now."""
        wanted, present = gpusched_labels(node), node.object.labels
        former = self._gone.pop(node.name, node.object.uid)
        replaced = self._uids.get(node.name, former) != node.object.uid
        missing = {} if replaced else self._missing.get(node.name, {})
        still: dict[str, float] = {}
        patch: dict[str, str | None] = {}
        for key in KEYS:
            value = wanted.get(key)
            if value is not None:
                if present.get(key) != value:
                    patch[key] = value
            elif key in present:
                since = missing.get(key, now)
                if replaced or _contradicted(key, wanted) or now - since >= self.keep:
                    patch[key] = None
                else:
                    still[key] = since
        self._uids[node.name] = node.object.uid
        self._missing[node.name] = still
        if not still:
            del self._missing[node.name]
        return patch

    def forget(self, name: str) -> None:
        """Drop what is remembered of a node that is gone."""
        self._missing.pop(name, None)
        uid = self._uids.pop(name, None)
        if uid is not None:
            # A Node of this name that comes later is another one; names of autoscaled nodes do not come again.
            self._gone[name] = uid
            while len(self._gone) > _GONE:
                del self._gone[next(iter(self._gone))]

    def waiting(self) -> Iterable[str]:
        """Names of nodes that have a label to remove later."""
        return list(self._missing)


def _contradicted(key: str, wanted: dict[str, str]) -> bool:
    """Whether the label says what is known to be wrong: the pools differ, or agree again."""
    return MIXED in wanted or (key == MIXED and bool(wanted))
