"""Connections find what backs a port at the moment."""

import socket
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from gpusched.local.forwarder import Forwarder
from gpusched.local.ports import LOOPBACK, free_ports


class Echo(socketserver.StreamRequestHandler):
    """Says its server's name and then each line, until the client has no more; then `end`."""

    def handle(self):
        self.wfile.write(self.server.told)
        for line in self.rfile:
            self.wfile.write(line)
        self.wfile.write(b"end\n")


@contextmanager
def echo(name: str) -> Iterator[int]:
    with socketserver.ThreadingTCPServer((LOOPBACK, 0), Echo) as server:
        server.told = f"{name}\n".encode()
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def forwarder():
    (port,) = free_ports(1)
    with Forwarder(port) as found:
        found.port = port
        yield found


def connect(forwarder: Forwarder) -> socket.socket:
    return socket.create_connection((LOOPBACK, forwarder.port), timeout=10)


def test_a_new_connection_goes_to_a_present_target_and_an_old_one_stays(forwarder):
    with echo("one") as one, echo("two") as two:
        forwarder.targets = [one]
        with connect(forwarder) as old, old.makefile("rwb") as lines:
            assert lines.readline() == b"one\n"
            forwarder.targets = [two]
            with connect(forwarder) as new, new.makefile("rb") as others:
                assert others.readline() == b"two\n"
            lines.write(b"still here\n")
            lines.flush()
            assert lines.readline() == b"still here\n"


def test_the_end_of_what_is_sent_is_handed_on(forwarder):
    with echo("one") as one:
        forwarder.targets = [one]
        with connect(forwarder) as client, client.makefile("rb") as lines:
            client.sendall(b"a\nb\n")
            client.shutdown(socket.SHUT_WR)
            assert lines.read() == b"one\na\nb\nend\n"


@pytest.mark.parametrize("targets", ["none", "dead"])
def test_without_a_live_target_the_connection_is_closed(forwarder, targets):
    forwarder.targets = [] if targets == "none" else free_ports(1)
    with connect(forwarder) as client:
        assert client.recv(1) == b""


def test_a_port_that_is_taken(forwarder):
    with pytest.raises(OSError, match="address already in use"), Forwarder(forwarder.port):
        pass


def test_the_end_closes_what_is_open():
    (port,) = free_ports(1)
    with echo("one") as one, Forwarder(port) as forwarder:
        forwarder.targets = [one]
        with socket.create_connection((LOOPBACK, port), timeout=10) as client, client.makefile("rb") as lines:
            assert lines.readline() == b"one\n"
            forwarder.__exit__(None, None, None)
            assert lines.read() == b""
