"""What admission of this replica refused in the last hour."""

from collections import OrderedDict
from collections.abc import Callable
from typing import Final

import msgspec

from gpusched.serve.view.access import Scope
from gpusched.wire.decision import Decision

_HOUR: Final = 3600.0
_MOST: Final = 500
_VERBS: Final = frozenset({"mutate", "validate"})


class RefusalView(msgspec.Struct, frozen=True):
    """What was refused of one workload, by its kind and name: controllers try again and again, under ever new names, so
    that alike refusals are counted. An object that nothing made stands for itself. Times are seconds since 1970.
    """

    namespace: str
    kind: str
    name: str
    code: str
    message: str
    count: int
    first: float
    last: float


class Refusals:
    """Keeps the newest refusals in memory. `wall_clock` gives seconds since 1970."""

    def __init__(self, wall_clock: Callable[[], float]) -> None:
        self._wall_clock = wall_clock
        self._kept: OrderedDict[tuple[str, str, str, str, str], RefusalView] = OrderedDict()
        #: Grows with every refusal.
        self.count = 0

    def note(self, decision: Decision) -> None:
        """Take note of a decision, if it is a refusal and no trial, such as that of `gpusched doctor`."""
        if decision.verb not in _VERBS or decision.code == "allowed" or decision.dry_run:
            return
        now = self._wall_clock()
        kind, _, name = (decision.workload or f"{decision.kind}/{decision.name}").partition("/")
        key = (decision.namespace, kind, name, decision.code, decision.message)
        before = self._kept.get(key)
        self.count += 1
        self._kept[key] = (
            RefusalView(*key, count=1, first=now, last=now)
            if before is None
            else msgspec.structs.replace(before, count=before.count + 1, last=now)
        )
        self._kept.move_to_end(key)
        if len(self._kept) > _MOST:
            self._kept.popitem(last=False)

    def namespaces(self) -> set[str]:
        """Namespaces in which something was refused."""
        return {refusal.namespace for refusal in self._kept.values()}

    def views(self, scope: Scope) -> tuple[RefusalView, ...]:
        """Refusals of the last hour that a caller may read, newest first."""
        since = self._wall_clock() - _HOUR
        newest = reversed(self._kept.values())
        return tuple(refusal for refusal in newest if refusal.last >= since and scope.sees(refusal.namespace))
