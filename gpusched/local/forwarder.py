"""What a Service of Kubernetes does, on the loopback interface: connections go to whatever backs it at the moment."""

import asyncio
import random
import threading
from collections.abc import Sequence
from contextlib import suppress
from types import TracebackType
from typing import Final, Self

from gpusched.local.ports import LOOPBACK

_PIECE: Final = 65_536
_START_SECONDS: Final = 10.0


class Forwarder:
    """Listens on a port while entered. `targets` are ports and may be set at any time: a new connection goes to one of
    them, or is closed where there is none; those that are open stay with the target they have, as with kube-proxy.
    """

    def __init__(self, port: int) -> None:
        self.targets: Sequence[int] = ()
        self._port = port
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = threading.Thread(target=self._run, name=f"forward :{port}", daemon=True)
        self._listening = threading.Event()
        self._ended = asyncio.Event()
        self._error: OSError | None = None

    def __enter__(self) -> Self:
        self._thread.start()
        self._listening.wait(_START_SECONDS)
        if self._error is not None:
            raise self._error
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        loop, self._loop = self._loop, None
        if loop is not None:
            loop.call_soon_threadsafe(self._ended.set)
        self._thread.join()

    def _run(self) -> None:
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        connections: set[asyncio.Task[None]] = set()

        def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.get_running_loop().create_task(self._forward(reader, writer))
            connections.add(task)
            task.add_done_callback(connections.discard)

        try:
            server = await asyncio.start_server(connected, LOOPBACK, self._port)
            self._loop = asyncio.get_running_loop()
        except OSError as error:
            self._error = error
            return
        finally:
            self._listening.set()
        await self._ended.wait()
        server.close()
        for task in tuple(connections):
            task.cancel()
        await asyncio.gather(*connections, return_exceptions=True)

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            targets = self.targets
            if not targets:
                return
            with suppress(OSError):
                far_reader, far_writer = await asyncio.open_connection(LOOPBACK, random.choice(targets))  # noqa: S311 - spreads connections, guards nothing
                try:
                    async with asyncio.TaskGroup() as both:
                        both.create_task(_copy(reader, far_writer))
                        both.create_task(_copy(far_reader, writer))
                finally:
                    far_writer.transport.abort()
        finally:
            writer.close()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Hand on what comes, and then that nothing more will come."""
    with suppress(OSError):
        while piece := await reader.read(_PIECE):
            writer.write(piece)
            await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()
