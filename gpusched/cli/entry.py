"""The `gpusched` program: it ends quietly at Ctrl-C even while its modules are read."""

import os
import signal
from importlib import import_module
from typing import Final

#: What a shell reports of a command that Ctrl-C ended: 128 and the number of the signal.
INTERRUPTED: Final = 130


def main() -> None:
    """Read the modules, which takes a third of a second, and run the command."""
    before = signal.getsignal(signal.SIGINT)
    # A shell lets commands in the background ignore it, and that is to stay.
    if before is signal.default_int_handler:
        signal.signal(signal.SIGINT, lambda *_: os._exit(INTERRUPTED))
    run = import_module("gpusched.cli.main").main
    signal.signal(signal.SIGINT, before)
    run()
