"""A source: one kind of object, where it is served and how it is read."""

from collections.abc import Callable, Mapping

import msgspec

from gpusched.core.fault import Fault
from gpusched.state.events import Kind, Seen

#: Gives the record of an object, or None for one that is not to be kept; faults are collected.
Reader = Callable[[object, list[Fault]], Seen | None]


class Source(msgspec.Struct, frozen=True):
    """One kind. `paths` are tried in turn while the API server answers 404: one kind under several versions.

    `query` goes with every list and watch. An `optional` kind may be served nowhere.
    """

    kind: Kind
    paths: tuple[str, ...]
    reader: Reader
    query: Mapping[str, str] = {}
    optional: bool = False
