"""Repeats a command until Ctrl-C, printing its answer again when it has changed."""

import sys
import time
from collections.abc import Callable
from io import StringIO
from typing import Final, NoReturn

from gpusched.cli.access import Unavailable
from gpusched.cli.output import write
from gpusched.cli.session import Session
from gpusched.cli.style import is_terminal

#: Cursor home, and erase to the end: the terminal keeps what was there before the first page.
_CLEAR: Final = "\x1b[H\x1b[2J"


def run(session: Session, once: Callable[[], int], *, watch: bool, interval: float) -> NoReturn:
    """Leave with what `once` answers; with `watch` call it again and again, and leave with its last answer on Ctrl-C.

    A cluster that cannot be reached for a while is reported and asked again. `interval` is in seconds.
    """
    if not watch:
        sys.exit(once())
    out, shown, code = session.out, "", 0
    clear = _CLEAR if is_terminal(out) else ""
    try:
        while True:
            page = session.out = StringIO()
            try:
                code = once()
            except Unavailable as error:
                write(f"error: {error.message}\n", session.err)
            if page.getvalue() not in {"", shown}:
                between = clear or ("\n" if shown else "")
                shown = page.getvalue()
                if not write(between + shown, out):
                    break
            time.sleep(interval)
    except KeyboardInterrupt:
        pass
    sys.exit(code)
