"""Applications on real sockets, and raw bytes sent to them."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI

from gpusched.serve.server import Listener, Servers, open_socket


@asynccontextmanager
async def serving(app: FastAPI, tls: ssl.SSLContext | None = None) -> AsyncIterator[int]:
    """The port on which the application is served."""
    listener = Listener(app, open_socket("127.0.0.1", 0), tls)
    servers = Servers([listener])
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(servers.run())
        try:
            yield listener.port
        finally:
            servers.stop()


class Connection:
    """One connection on which anything may be sent."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def response(self) -> tuple[int, dict[str, str], bytes]:
        """Status, headers and body of the next answer."""
        head = await asyncio.wait_for(self.reader.readuntil(b"\r\n\r\n"), 10)
        first, *lines = head.decode().split("\r\n")
        headers = {key.lower(): value.strip() for key, _, value in (line.partition(":") for line in lines if line)}
        body = await asyncio.wait_for(self.reader.readexactly(int(headers.get("content-length", "0"))), 10)
        return int(first.split()[1]), headers, body

    async def ended(self) -> bool:
        """Whether the server ends the connection, within a moment."""
        try:
            return await asyncio.wait_for(self.reader.read(1), 5) == b""
        except ConnectionError:
            return True
        except TimeoutError:
            return False


@asynccontextmanager
async def connected(port: int, tls: ssl.SSLContext | None = None) -> AsyncIterator[Connection]:
    """A connection to a port of this machine."""
    name = "localhost" if tls is not None else None
    reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=tls, server_hostname=name)
    try:
        yield Connection(reader, writer)
    finally:
        writer.close()


def post(path: str, body: bytes, *headers: str, content_type: str = "application/json") -> bytes:
    """The bytes of a POST request."""
    lines = [f"POST {path} HTTP/1.1", "Host: localhost", f"Content-Type: {content_type}", *headers]
    if not any("transfer-encoding" in line.lower() or "content-length" in line.lower() for line in headers):
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join([*lines, "", ""]).encode() + body
