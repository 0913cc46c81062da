"""How long to wait after failures in a row: doubling, with jitter, bounded."""

import random
from typing import Final

_FIRST: Final = 1.0
_LONGEST: Final = 30.0


class Backoff:
    """Waits of about 1, 2, 4, … 30 s, each drawn from the upper half of its range; `reset` after progress."""

    def __init__(self, chance: random.Random) -> None:
        self.failures = 0
        self._chance = chance

    def next(self) -> float:
        """Seconds to wait after one more failure."""
        longest = min(_LONGEST, _FIRST * 2.0 ** min(self.failures, 16))
        self.failures += 1
        return max(_FIRST, longest * self._chance.uniform(0.5, 1.0))

    def reset(self) -> None:
        """Forget the failures so far."""
        self.failures = 0
