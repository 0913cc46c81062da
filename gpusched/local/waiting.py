"""Waiting for something to become true, without knowing when."""

import time
from collections.abc import Callable
from typing import Final, TypeVar

from gpusched.local.errors import LocalError

Found = TypeVar("Found")
#: Asking costs the API server about a millisecond; people do not notice a tenth of a second.
_FIRST_SECONDS: Final = 0.01
_LONGEST_SECONDS: Final = 0.1


def until(
    probe: Callable[[], Found | None],
    seconds: float,
    what: str,
    pause: Callable[[float], object] = time.sleep,
) -> Found:
    """The first answer of `probe` that counts as true; `pause` waits so many seconds between two questions.

    Raises:
        LocalError: there was none in time; the text names `what`.

    """
    end = time.monotonic() + seconds
    interval = _FIRST_SECONDS
    while True:
        found = probe()
        if found:
            return found
        left = end - time.monotonic()
        if left <= 0:
            raise LocalError(f"{what}: not within {seconds:g} seconds")
        pause(min(interval, left))
        interval = min(interval * 1.5, _LONGEST_SECONDS)
