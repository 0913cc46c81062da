"""The records of a diagnosis: a check, what it saw, and the problem that comes of it."""

from collections.abc import Callable, Iterable
from enum import StrEnum

import msgspec

from gpusched.doctor.scene import Scene


class Severity(StrEnum):
    """An error breaks GPU pods now or lets rules be passed by; a warning will, or wastes GPUs; information is neither
    and leaves the exit code at 0.
    """

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


class Sight(msgspec.Struct, frozen=True):
    """One thing seen: the object, what is so about it, and the command that mends it."""

    subject: str
    seen: str
    fix: str


class Check(msgspec.Struct, frozen=True):
    """One question put to a cluster. `title` says what is wrong where it sees something, `matters` why that is bad."""

    name: str
    severity: Severity
    title: str
    matters: str
    look: Callable[[Scene], Iterable[Sight]]
    #: Whether it needs a live cluster with gpusched installed.
    live: bool = False


class Problem(msgspec.Struct, frozen=True):
    """What one check has found."""

    check: str
    severity: Severity
    title: str
    matters: str
    sights: tuple[Sight, ...] = ()
