"""One change of a pod that might make it fit."""

from collections.abc import Mapping
from enum import IntEnum

import msgspec


class Loss(IntEnum):
    """What the user gives up by a change, the least first."""

    NOTHING = 0
    #: Some of the memory that it claims, at most half.
    CLAIM = 1
    #: A wish for certain nodes.
    WISH = 2
    #: A part of what the pod asks for.
    LESS = 3
    #: The pod would get other hardware than it asks for, or less than half: worth a thought only when nothing else
    #: helps, not even waiting.
    OTHER = 4


class Change(msgspec.Struct, frozen=True):
    """A change of the pod as the user wrote it, with the words that suggest it.

    `resource` is the GPU resource that the pod asks for in another amount or instead of another one; `least_mib` what a
    slot of it must have, where that is known. `besides` follows the words about it.
    """

    text: str
    tree: Mapping[str, object]
    loss: Loss
    resource: str = ""
    least_mib: int = 0
    besides: str = ""
