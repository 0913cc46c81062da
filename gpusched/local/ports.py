"""Free ports of the loopback interface."""

import socket
from contextlib import ExitStack
from typing import Final

LOOPBACK: Final = "127.0.0.1"


def free_ports(count: int) -> list[int]:
    """So many different ports that were free a moment ago; whoever binds one must still expect to find it taken."""
    with ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind((LOOPBACK, 0))
        return [int(each.getsockname()[1]) for each in sockets]


def taken(port: int) -> bool:
    """Whether something holds the port already."""
    with socket.socket() as probe:
        # As servers do: connections of an earlier run in TIME_WAIT do not take a port.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return True
    return False
