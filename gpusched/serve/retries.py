"""Which pods kube-scheduler asks about again: those it could not place on the nodes it was given."""

from collections import OrderedDict
from typing import Final

_REMEMBERED: Final = 10_000


class Retries:
    """Remembers the pods asked about last, as many as may wait at one time."""

    def __init__(self) -> None:
        self._asked: OrderedDict[str, None] = OrderedDict()

    def again(self, uid: str) -> bool:
        """Whether this pod was asked about before; from now on it was."""
        known = uid in self._asked
        self._asked[uid] = None
        self._asked.move_to_end(uid)
        if len(self._asked) > _REMEMBERED:
            self._asked.popitem(last=False)
        return known
