"""Program that outlives its parent by a moment: kills the process group it leads and removes a folder.

Run as a file, with the folder as argument and a pipe as standard input. The end of the pipe says that the parent is
gone, by whatever signal; a parent that tidies up itself kills this program as the last act. Standard library only, as
it runs isolated.
"""

import contextlib
import os
import shutil
import signal
import sys
import time

#: Killed processes let go of their files at once; a container without an init keeps them as zombies for ever.
_PATIENCE_SECONDS = 5.0


def main(folder: str) -> None:
    """Wait for the parent, then tidy up if it did not."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    while os.read(0, 1):
        pass
    group = os.getpgrp()
    if group != os.getpid():
        return  # Started by hand: the group is someone else's.
    # The leader cannot leave its own group, and the signal below spares nobody in it.
    if os.fork():
        signal.pause()
    os.setpgid(0, 0)
    _kill(group)
    shutil.rmtree(folder, ignore_errors=True)


def _kill(group: int) -> None:
    end = time.monotonic() + _PATIENCE_SECONDS
    with contextlib.suppress(ProcessLookupError, PermissionError):
        while time.monotonic() < end:
            os.killpg(group, signal.SIGKILL)
            time.sleep(0.02)


if __name__ == "__main__":
    main(sys.argv[1])
