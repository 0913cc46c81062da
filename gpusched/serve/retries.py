"""Which pods kube-scheduler asks about again: those it could not place on the nodes it was given."""

from collections import OrderedDict
from typing import Final

import msgspec

_REMEMBERED: Final = 10_000


class _Metadata(msgspec.Struct):
    uid: str = ""


class _Pod(msgspec.Struct):
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)


class _Head(msgspec.Struct):
    pod: _Pod | None = msgspec.field(name="Pod", default=None)


_HEAD: Final = msgspec.json.Decoder(_Head)


class Retries:
    """Remembers the pods asked about last, as many as may wait at one time."""

    def __init__(self) -> None:
        self._asked: OrderedDict[str, None] = OrderedDict()

    def again(self, body: bytes) -> bool:
        """Whether the pod of this filter call was asked about before; from now on it was."""
        try:
            pod = _HEAD.decode(body).pod
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return False
        if pod is None or not pod.metadata.uid:
            return False
        known = pod.metadata.uid in self._asked
        self._asked[pod.metadata.uid] = None
        self._asked.move_to_end(pod.metadata.uid)
        if len(self._asked) > _REMEMBERED:
            self._asked.popitem(last=False)
        return known
