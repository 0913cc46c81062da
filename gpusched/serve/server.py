"""HTTP servers in one event loop: uvicorn with httptools, sockets opened beforehand, and an orderly end."""

import asyncio
import contextlib
import socket
import ssl
from collections.abc import Iterator, Sequence
from typing import Final

import msgspec
import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

#: Go's clients keep idle connections for 90 s. A server that closes earlier may do so just as a request arrives, which
#: Go does not send again.
_KEEP_ALIVE: Final = 120
#: Seconds in which the head of a first request must arrive; a connection that Go opened in reserve looks the same.
_SILENT: Final = 120.0
#: Seconds given to requests under way once the listening sockets are closed.
_FINISH: Final = 10


class Listener(msgspec.Struct, frozen=True):
    """An open socket with what is served on it; plain HTTP without a TLS context."""

    app: FastAPI
    socket: socket.socket
    tls: ssl.SSLContext | None = None

    @property
    def port(self) -> int:
        """The port, also where the system chose it."""
        return int(self.socket.getsockname()[1])


def open_socket(host: str, port: int) -> socket.socket:
    """A listening socket; port 0 lets the system choose. Raises OSError."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    if family == socket.AF_INET6:
        return socket.create_server((host, port), family=family, dualstack_ipv6=host == "::", backlog=1024)
    return socket.create_server((host, port), family=family, backlog=1024)


class Servers:
    """Serves all listeners until `stop`."""

    def __init__(self, listeners: Sequence[Listener]) -> None:
        self._listeners = tuple(listeners)
        self._servers = [_Server(_config(listener)) for listener in self._listeners]

    async def run(self) -> None:
        """Serve. Ends when the last request under way at `stop` has been answered, or was given up."""
        async with asyncio.TaskGroup() as group:
            for server, listener in zip(self._servers, self._listeners, strict=True):
                group.create_task(server.serve(sockets=[listener.socket]), name=f"serve :{listener.port}")

    def stop(self) -> None:
        """Accept no more connections and end those that are idle."""
        for server in self._servers:
            server.should_exit = True


class _Server(uvicorn.Server):
    """Leaves signals to the service, since one of several servers must not take them for all, and ends connections on
    which no request came: uvicorn's own limit begins with the first answer.
    """

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._silent: dict[HttpToolsProtocol, float] = {}

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def on_tick(self, counter: int) -> bool:
        now = asyncio.get_running_loop().time()
        silent: dict[HttpToolsProtocol, float] = {
            connection: self._silent.get(connection, now)
            for connection in self.server_state.connections
            if isinstance(connection, HttpToolsProtocol) and connection.cycle is None
        }
        for connection, since in silent.items():
            if now - since >= _SILENT:
                connection.transport.close()
        self._silent = silent
        return await super().on_tick(counter)


def _config(listener: Listener) -> uvicorn.Config:
    tls = listener.tls
    return uvicorn.Config(
        listener.app,
        loop="none",
        http="httptools",
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_keep_alive=_KEEP_ALIVE,
        timeout_graceful_shutdown=_FINISH,
        ssl_context_factory=None if tls is None else lambda _config, _default: tls,
    )
