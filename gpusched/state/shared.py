"""Equal values held in memory once: the pods of one controller differ in little but their names."""

from typing import Final, TypeVar, cast

import msgspec

from gpusched.core.pod import Pod

#: Values kept; beyond this the memory starts anew, since they come from users and some change all the time.
_MOST: Final = 50_000
#: Bytes of a value above which it is not kept: hardly two pods have an annotation of a thousand characters in common.
_LARGEST: Final = 4_096

_Value = TypeVar("_Value")
_encode: Final = msgspec.msgpack.Encoder().encode


class SharedValues:
    """Hands out the first of all values that are equal. They are records, mappings and texts, none of which changes."""

    def __init__(self) -> None:
        self._kept: dict[tuple[type, bytes], object] = {}

    def one(self, value: _Value) -> _Value:
        """The value, or one equal to it that is held already."""
        if len(self._kept) >= _MOST:
            self._kept.clear()
        try:
            key = (type(value), _encode(value))
        except OverflowError:
            # An integer beyond 64 bits, which only a file can hold.
            return value
        if len(key[1]) > _LARGEST:
            return value
        return cast("_Value", self._kept.setdefault(key, value))

    def pod(self, pod: Pod) -> Pod:
        """The pod with all parts shared that other pods may have too."""
        spec = self.one(msgspec.structs.replace(pod.spec, node_name=""))
        node_name = pod.spec.node_name
        if node_name:
            node_name = self.one(node_name)
            spec = msgspec.structs.replace(spec, node_name=node_name)
        return msgspec.structs.replace(
            pod,
            namespace=self.one(pod.namespace),
            spec=spec,
            labels=self.one(pod.labels),
            annotations={self.one(key): self.one(text) for key, text in pod.annotations.items()},
            owner=self.one(pod.owner),
            created=self.one(pod.created),
            phase=self.one(pod.phase),
        )
