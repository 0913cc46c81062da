"""Applications served by a process of their own, and a client that takes the time of each call."""

import asyncio
import gc
import multiprocessing
import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection
from statistics import median
from time import perf_counter

import uvloop
from fastapi import FastAPI

from gpusched.serve.server import Listener, Servers, open_socket


@contextmanager
def served(apps: Mapping[str, FastAPI]) -> Iterator[dict[str, int]]:
    """The ports of the applications, all on one event loop of a child process, as in the service."""
    # The service does the same once its caches are filled.
    gc.collect()
    gc.freeze()
    here, there = multiprocessing.Pipe()
    child = multiprocessing.get_context("fork").Process(target=_serve, args=(apps, there), daemon=True)
    child.start()
    try:
        yield here.recv()
    finally:
        child.kill()
        child.join()


def _serve(apps: Mapping[str, FastAPI], parent: Connection) -> None:
    listeners = {name: Listener(app, open_socket("127.0.0.1", 0)) for name, app in apps.items()}
    parent.send({name: listener.port for name, listener in listeners.items()})
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(Servers(list(listeners.values())).run())


class Client:
    """One kept connection, as kube-scheduler and the API server have it."""

    def __init__(self, port: int, path: str) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"

    def post(self, body: bytes) -> bytes:
        """The body of the answer, which must be 200."""
        self._socket.sendall(f"{self._head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        received = bytearray()
        while (end := received.find(b"\r\n\r\n")) < 0:
            received += self._socket.recv(1 << 18)
        head = bytes(received[:end]).lower()
        if b" 200 " not in head.split(b"\r\n", 1)[0]:
            raise AssertionError(bytes(received))
        length = end + 4 + int(head.split(b"content-length:", 1)[1].split(b"\r\n", 1)[0])
        while len(received) < length:
            received += self._socket.recv(1 << 18)
        return bytes(received[end + 4 :])

    def seconds(self, body: bytes) -> float:
        """Time from the first byte sent to the last one read."""
        started = perf_counter()
        self.post(body)
        return perf_counter() - started

    def close(self) -> None:
        """Hang up."""
        self._socket.close()


def medians(rounds: Iterator[Sequence[float]]) -> list[float]:
    """The median of each column: what other programs do to a few rounds is no part of it."""
    return [median(column) for column in zip(*rounds, strict=True)]
