"""The webhook on real connections: pipelined, oversized, slow and broken requests."""

import asyncio
import tracemalloc

import msgspec
import pytest
from starlette.requests import Request

from tests.fakes.http import connected, post, serving
from tests.webhook.watched import POD, TAINTED, Watched, quoted, review
from webhook.app import LIMITS
from webhook.body import Limits, Rejected, read_json_body

pytestmark = pytest.mark.anyio


async def test_pipelined_requests_are_answered_in_order() -> None:
    reviews = [post("/mutate", msgspec.json.encode(review(POD, uid=f"uid-{index}"))) for index in range(40)]
    async with serving(Watched(TAINTED).app) as port, connected(port) as connection:
        await connection.send(b"".join([*reviews[:20], post("/mutate", b"nonsense"), *reviews[20:]]))
        answers = [await connection.response() for _ in range(41)]

    assert [status for status, _, _ in answers] == [200] * 20 + [400] + [200] * 20
    uids = [msgspec.json.decode(body)["response"]["uid"] for status, _, body in answers if status == 200]
    assert uids == [f"uid-{index}" for index in range(40)]


@pytest.mark.parametrize("framing", ["length", "chunked"])
async def test_a_body_too_large_is_a_413_that_the_client_can_read(framing: str) -> None:
    body = b"x" * (3 << 20)
    request = post("/mutate", body)
    if framing == "chunked":
        chunks = b"".join(b"%x\r\n%b\r\n" % (1 << 16, body[: 1 << 16]) for _ in range(48)) + b"0\r\n\r\n"
        request = post("/mutate", chunks, "Transfer-Encoding: chunked")
    async with serving(Watched(limits=Limits(1 << 20, 5.0)).app) as port, connected(port) as connection:
        await connection.send(request + post("/mutate", quoted(POD)))
        status, _, text = await connection.response()
        assert (status, text) == (413, b"the body is larger than 1 MiB\n")
        status, _, _ = await connection.response()
        assert status == 200


async def test_twenty_megabytes_are_a_413() -> None:
    async with serving(Watched(limits=LIMITS).app) as port, connected(port) as connection:
        await connection.send(post("/mutate", b"x" * 20_000_000))
        status, _, text = await connection.response()
        assert (status, text) == (413, b"the body is larger than 8 MiB\n")


async def test_a_body_without_end_is_given_up_and_not_kept() -> None:
    sent, chunk = 0, b"x" * (1 << 20)

    async def receive() -> dict[str, object]:
        nonlocal sent
        sent += 1
        return {"type": "http.request", "body": chunk, "more_body": True}

    headers = [(b"content-type", b"application/json")]
    request = Request({"type": "http", "method": "POST", "headers": headers}, receive)
    tracemalloc.start()
    try:
        answer = await read_json_body(request, Limits(8 << 20))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert answer == Rejected(413, "the body is larger than 8 MiB", close=True)
    assert (sent, peak < 1 << 20) == (65, True)


async def test_a_slow_body_is_a_408() -> None:
    async with serving(Watched().app) as port, connected(port) as connection:
        await connection.send(post("/mutate", b"{", "Content-Length: 100"))
        status, headers, text = await connection.response()
        assert (status, headers["connection"], text) == (408, "close", b"the body did not arrive within 0.2 s\n")
        assert await connection.ended()


async def test_a_client_that_goes_away_is_no_fault() -> None:
    watched = Watched()
    async with serving(watched.app) as port:
        async with connected(port) as connection:
            await connection.send(post("/mutate", b"{", "Content-Length: 100"))
            await asyncio.sleep(0.05)
        async with connected(port) as connection:
            await connection.send(post("/mutate", quoted(POD)))
            assert (await connection.response())[0] == 200
    assert watched.failures == []


@pytest.mark.parametrize(
    "data",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01",
        b"GARBAGE\r\n\r\n",
        b"POST /mutate HTTP/9.9\r\n\r\n",
        b"POST /mutate HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        b"POST /mutate HTTP/1.1\r\nContent-Length: x\r\n\r\n",
        b"POST http://[ HTTP/1.1\r\nHost: x\r\n\r\n",
    ],
)
async def test_what_is_no_http_is_a_400(data: bytes) -> None:
    async with serving(Watched().app) as port, connected(port) as connection:
        await connection.send(data)
        assert (await connection.response())[0] == 400
        assert await connection.ended()


async def test_a_draining_server_ends_each_connection_after_its_answer() -> None:
    async with serving(Watched(draining=lambda: True).app) as port, connected(port) as connection:
        await connection.send(post("/mutate", quoted(POD)))
        status, headers, _ = await connection.response()
        assert (status, headers["connection"]) == (200, "close")
        assert await connection.ended()
