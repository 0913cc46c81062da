"""Bodies of HTTP requests, read whole: JSON alone, of bounded size, in bounded time."""

import asyncio
from typing import Final

import msgspec
from starlette.requests import Request
from starlette.types import Receive

#: A body beyond its limit is read on up to this many bytes and thrown away, so that the client, which sends before it
#: listens, gets to read the answer instead of a reset connection.
_PATIENCE: Final = 64 << 20


class Limits(msgspec.Struct, frozen=True):
    """What a body may be: its size in bytes, and the time it may take to arrive in seconds."""

    size: int
    seconds: float = 5.0


class Rejected(msgspec.Struct, frozen=True):
    """Why there is no body. The connection is of no more use when `close` is set: part of the body is still to come."""

    status: int
    reason: str
    close: bool = False


async def read_json_body(request: Request, limits: Limits) -> bytes | Rejected:
    """The bytes of the body, which are not looked at."""
    wrong = _wrong_type(request)
    if wrong is not None:
        return wrong
    try:
        async with asyncio.timeout(limits.seconds):
            return await _read(request.receive, limits.size)
    except TimeoutError:
        return Rejected(408, f"the body did not arrive within {limits.seconds:g} s", close=True)


async def _read(receive: Receive, size: int) -> bytes | Rejected:
    chunks: list[bytes] = []
    length, more = 0, True
    while more:
        message = await receive()
        if message["type"] != "http.request":
            return Rejected(400, "the client went away before its body was whole", close=True)
        chunk, more = message.get("body", b""), message.get("more_body", False)
        length += len(chunk)
        if length <= size:
            chunks.append(chunk)
        elif length > _PATIENCE:
            return _too_large(size, close=True)
        else:
            chunks.clear()
    return b"".join(chunks) if length <= size else _too_large(size, close=False)


def _too_large(size: int, *, close: bool) -> Rejected:
    return Rejected(413, f"the body is larger than {size >> 20} MiB", close=close)


def _wrong_type(request: Request) -> Rejected | None:
    headers: dict[bytes, bytes] = dict(request.scope["headers"])
    if headers.get(b"content-type") == b"application/json" and b"content-encoding" not in headers:
        return None
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != "application/json":
        return Rejected(415, f"Content-Type must be application/json, not {media_type[:80] or 'missing'}", close=True)
    encoding = request.headers.get("content-encoding", "identity").strip().lower()
    if encoding != "identity":
        return Rejected(415, f"Content-Encoding {encoding[:80]} is not understood; send the body as it is", close=True)
    return None
