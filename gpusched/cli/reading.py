"""A reading: one document of a text, as a plain tree together with what is wrong with it."""

import re
from collections.abc import Iterator
from typing import Final

import msgspec

from gpusched.core.fault import Fault

#: Deeper documents are refused: everything that walks a tree later may do so by recursion.
MAX_DEPTH: Final = 256

_PLAIN_KEY: Final = re.compile(r"[A-Za-z0-9_-]+")
_LONGEST_VALUE: Final = 60


class Reading(msgspec.Struct, frozen=True):
    """One document. A tree that is not `usable` could not be read as a whole: it serves to name the object only."""

    tree: object
    faults: tuple[Fault, ...] = ()
    usable: bool = True


def unreadable(message: str, path: str = "") -> Reading:
    """The reading of a document of which nothing is left."""
    return Reading(None, (Fault(path, message),), usable=False)


def child_path(path: str, step: str | int) -> str:
    """The path one step down: `spec`, `0` or `nvidia.com/gpu` become `.spec`, `[0]` and `[nvidia.com/gpu]`."""
    if isinstance(step, int) or not _PLAIN_KEY.fullmatch(step):
        return f"{path}[{step}]"
    return f"{path}.{step}" if path else step


def walk(tree: object, path: str = "") -> Iterator[tuple[str, object]]:
    """Every value of a tree in order with its path, the tree itself first."""
    pending: list[tuple[str, object]] = [(path, tree)]
    while pending:
        place, value = pending.pop()
        yield place, value
        if isinstance(value, dict):
            pending += [(child_path(place, key), member) for key, member in reversed(value.items())]
        elif isinstance(value, list):
            pending += [(child_path(place, index), value[index]) for index in reversed(range(len(value)))]


def shorten(text: str) -> str:
    """The text on one line, cut to what a message can carry."""
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST_VALUE else line[: _LONGEST_VALUE - 1] + "…"
