"""One change of a pod that might make it fit."""

from collections.abc import Mapping
from enum import IntEnum

import msgspec


class Loss(IntEnum):
    """What the user gives up by a change, the least first."""

    NOTHING = 0
    #: Some of the memory that it claims, at most half.
    CLAIM = 1
    #: A wish for certain nodes, or a rule about other pods.
    WISH = 2
    #: A part of what the pod asks for.
    LESS = 3
    #: A wish for certain GPUs: less of the wished ones comes before as many of others.
    KIND = 4
    #: The pod would get other hardware than it asks for, or less than half: worth a thought only when nothing else
    #: helps, not even waiting.
    OTHER = 5


class Change(msgspec.Struct, frozen=True):
    """A change of the pod as the user wrote it, with the words that suggest it.

    `resource` is the GPU resource that the pod asks for in another amount or instead of another one; `least_mib` what a
    slot of it must have, where that is known. `besides` follows the words about it. `shared` is made in the template of
    the other pods of its workload too, whose rules speak of it.
    """

    text: str
    tree: Mapping[str, object]
    loss: Loss
    resource: str = ""
    least_mib: int = 0
    besides: str = ""
    shared: bool = False
