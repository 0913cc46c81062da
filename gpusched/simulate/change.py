"""One change of a pod that might make it fit."""

from collections.abc import Mapping

import msgspec


class Change(msgspec.Struct, frozen=True):
    """A change of the pod as the user wrote it, with the words that suggest it.

    `radical` tells that the pod would get other hardware than it asks for: worth a thought only when nothing else
    helps, not even waiting.
    """

    text: str
    tree: Mapping[str, object]
    radical: bool = False
