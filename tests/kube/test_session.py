"""The session: raw answers, raw lines, and credentials that are renewed."""

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest
import trustme
from aiohttp import web
from kubernetes.aio.config import incluster_config

from gpusched.kube.credentials import load_configuration
from gpusched.kube.errors import ConfigurationError, Response, StatusError, Unreachable, status_message
from gpusched.kube.session import Session, ahead
from tests.fakes.apiserver import NODES, ApiServer
from tests.fakes.follower import named
from tests.kube.answering import TOKEN, Answering, kubeconfig, serving

pytestmark = pytest.mark.anyio


@pytest.fixture
async def answering(anyio_backend: str) -> AsyncIterator[Answering]:
    answering = Answering()
    async with serving(answering) as port:
        answering.url = f"http://127.0.0.1:{port}"
        yield answering


async def test_request_carries_token_query_and_body(answering: Answering, tmp_path: Path) -> None:
    async with await Session.open(kubeconfig(tmp_path, answering.url, token=TOKEN)) as session:
        response = await session.request("POST", "/a", query={"limit": "5"}, body=b"{}")

    assert response == Response(200, b"fine")
    assert answering.seen == [("/a?limit=5", f"Bearer {TOKEN}", b"{}")]


async def test_other_context(answering: Answering, tmp_path: Path) -> None:
    path = kubeconfig(tmp_path, answering.url, token=TOKEN)
    async with await Session.open(path, "anonymous") as session:
        await session.request("GET", "/a")

    assert answering.seen == [("/a", None, b"")]


async def test_status_is_never_raised(answering: Answering, tmp_path: Path) -> None:
    answering.handler = lambda _: web.Response(status=503, text="down", headers={"Retry-After": "7"})
    async with await Session.open(kubeconfig(tmp_path, answering.url)) as session:
        response = await session.request("GET", "/a")

    assert response == Response(503, b"down", 7.0)
    assert not response.ok
    assert response.message == "down"


async def test_redirects_are_not_followed(answering: Answering, tmp_path: Path) -> None:
    answering.handler = lambda _: web.Response(status=307, headers={"Location": "/b"})
    async with await Session.open(kubeconfig(tmp_path, answering.url)) as session:
        response = await session.request("POST", "/a", body=b"{}")

    assert response.status == 307
    assert len(answering.seen) == 1


async def test_slow_answer_is_unreachable_and_may_have_been_sent(answering: Answering, tmp_path: Path) -> None:
    async def slow(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b"{")
        await asyncio.Event().wait()
        return response

    answering.handler = slow
    async with await Session.open(kubeconfig(tmp_path, answering.url)) as session:
        with pytest.raises(Unreachable) as caught:
            await session.request("POST", "/a", body=b"{}", timeout=0.1)

    assert caught.value.sent
    assert str(caught.value) == "POST /a: timed out"


async def test_nobody_there_is_unreachable_and_was_not_sent(tmp_path: Path) -> None:
    async with await Session.open(kubeconfig(tmp_path, "http://127.0.0.1:1")) as session:
        with pytest.raises(Unreachable) as caught:
            await session.request("POST", "/a", body=b"{}")
        with pytest.raises(Unreachable):
            await anext(session.stream("/a", {}, 1.0))

    assert not caught.value.sent


async def test_token_file_is_read_anew_after_a_401(answering: Answering, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("old", encoding="utf-8")
    answering.handler = lambda request: web.Response(
        status=200 if request.headers.get("Authorization") == "Bearer new" else 401
    )
    async with await Session.open(kubeconfig(tmp_path, answering.url, tokenFile=str(token))) as session:
        first = await session.request("GET", "/a")
        token.write_text("new", encoding="utf-8")
        session._reloaded -= 60.0
        second = await session.request("GET", "/a")
        third = await session.request("GET", "/a")

    assert [first.status, second.status, third.status] == [401, 200, 200]


async def test_exec_plugin_runs_anew_after_a_401_but_not_each_time(answering: Answering, tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    credential = {"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": {"token": "t"}}
    script = f"echo run >> {runs}; echo '{json.dumps(credential)}'"
    plugin = {"apiVersion": "client.authentication.k8s.io/v1", "command": "sh", "args": ["-c", script], "env": None}
    answering.handler = lambda _: web.Response(status=401)
    async with await Session.open(kubeconfig(tmp_path, answering.url, exec=plugin)) as session:
        for _ in range(5):
            await session.request("GET", "/a")

    assert answering.seen[0][1] == "Bearer t"
    assert runs.read_text(encoding="utf-8").split() == ["run", "run"]


async def test_kubeconfig_that_vanished_leaves_the_401(answering: Answering, tmp_path: Path) -> None:
    answering.handler = lambda _: web.Response(status=401)
    async with await Session.open(kubeconfig(tmp_path, answering.url, token=TOKEN)) as session:
        session._read_again = partial(load_configuration, str(tmp_path / "none"), None, in_cluster=False)
        response = await session.request("GET", "/a")

    assert response.status == 401


async def test_watch_lines_come_whole_whatever_the_chunks(answering: Answering, tmp_path: Path) -> None:
    lines = [b"x" * 300_000, b"", b"short", "ü".encode() * 5]

    async def trickle(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        whole = b"\n".join(lines) + b"\n"
        for start in range(0, len(whole), 70_001):
            await response.write(whole[start : start + 70_001])
        return response

    answering.handler = trickle
    async with await Session.open(kubeconfig(tmp_path, answering.url)) as session:
        received = [line async for line in session.stream("/a", {"watch": "true"}, 5.0)]

    assert received == [b"", *lines]


async def test_stream_that_ends_within_a_line_is_broken(answering: Answering, tmp_path: Path) -> None:
    answering.handler = lambda _: web.Response(body=b'{"whole":1}\n{"half":')
    received = []

    async def listen(session: Session) -> None:
        async for line in session.stream("/a", {}, 5.0):
            received.append(line)  # noqa: PERF401 - what came before the end is looked at

    async with await Session.open(kubeconfig(tmp_path, answering.url)) as session:
        with pytest.raises(Unreachable, match="ended within a line"):
            await listen(session)

    assert received == [b"", b'{"whole":1}']


async def test_stream_raises_the_status(server: ApiServer, session: Session) -> None:
    server.forbidden.add(NODES)
    with pytest.raises(StatusError) as caught:
        await anext(session.stream(NODES, {"watch": "true"}, 5.0))

    assert caught.value.code == 403
    assert str(caught.value) == '403 nodes is forbidden: User "x" cannot list resource'


async def test_stream_that_is_silent_is_unreachable(server: ApiServer, session: Session) -> None:
    server.put(NODES, named("a"))
    lines = session.stream(NODES, {"watch": "true", "resourceVersion": "1"}, 0.1)
    opened, event = await anext(lines), await anext(lines)

    with pytest.raises(Unreachable):
        await anext(lines)

    assert opened == b""
    assert b"ADDED" in event


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "has no|Invalid|cannot be used"),
        ("[]", "cannot be used"),
        ("apiVersion: v1\nkind: Config\n", "cannot be used"),
        ("a: b: c", "cannot be used"),
    ],
)
async def test_kubeconfig_that_cannot_be_used(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "config"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigurationError, match=said):
        await Session.open(str(path))


async def test_kubeconfig_that_is_missing(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="does not exist"):
        await Session.open(str(tmp_path / "none"))


async def test_context_that_is_missing(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="other"):
        await Session.open(kubeconfig(tmp_path, "http://127.0.0.1:1"), "other")


async def test_inside_a_cluster_over_tls(answering: Answering, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(tmp_path / "ca.crt")
    (tmp_path / "token").write_text(TOKEN, encoding="utf-8")
    monkeypatch.setattr(incluster_config, "SERVICE_TOKEN_FILENAME", str(tmp_path / "token"))
    monkeypatch.setattr(incluster_config, "SERVICE_CERT_FILENAME", str(tmp_path / "ca.crt"))
    async with serving(answering, authority.issue_cert("127.0.0.1")) as port:
        monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
        monkeypatch.setenv("KUBERNETES_SERVICE_PORT", str(port))
        async with await Session.open(None, in_cluster=True) as session:
            response = await session.request("GET", "/a")

    assert response.status == 200
    assert answering.seen == [("/a", f"bearer {TOKEN}", b"")]


async def test_server_of_another_authority_is_not_trusted(answering: Answering, tmp_path: Path) -> None:
    trustme.CA().cert_pem.write_to_path(tmp_path / "ca.crt")
    async with serving(answering, trustme.CA().issue_cert("127.0.0.1")) as port:
        path = kubeconfig(tmp_path, f"https://127.0.0.1:{port}", ca=str(tmp_path / "ca.crt"))
        async with await Session.open(path) as session:
            with pytest.raises(Unreachable, match="CERTIFICATE_VERIFY_FAILED") as caught:
                await session.request("GET", "/a")

    assert not caught.value.sent
    assert answering.seen == []


async def test_outside_a_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    with pytest.raises(ConfigurationError, match="service account"):
        await Session.open(None, in_cluster=True)


async def test_session_that_is_not_open_is_a_bug(tmp_path: Path) -> None:
    session = await Session.open(kubeconfig(tmp_path, "http://127.0.0.1:1"))
    with pytest.raises(RuntimeError, match="not open"):
        await session.request("GET", "/a")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b'{"kind":"Status","message":"no such thing"}', "no such thing"),
        (b'{"kind":"Status"}', "HTTP 502"),
        (b'{"kind":"Pod","message":"odd"}', "HTTP 502"),
        (b"", "HTTP 502"),
        (b"<html>\n <b>Bad</b>\n</html>", "<html> <b>Bad</b> </html>"),
        (b"\xff\xfe", "\ufffd\ufffd"),
        (b"x" * 10_000, "x" * 497 + "..."),
    ],
)
def test_status_message(body: bytes, message: str) -> None:
    assert status_message(502, body) == message


@pytest.mark.parametrize(
    ("date", "ahead_"),
    [
        ("Thu, 01 Jan 2026 00:00:00 GMT", 0),
        ("Wed, 31 Dec 2025 23:59:58 GMT", 0),
        ("Wed, 31 Dec 2025 23:50:00 GMT", 600),
        ("Thu, 01 Jan 2026 01:00:00 GMT", -3600),
        ("", 7),
        ("yesterday", 7),
    ],
)
def test_how_far_the_clock_is_ahead_of_the_servers(date: str, ahead_: int) -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)

    assert ahead(date, now, timedelta(seconds=7)) == timedelta(seconds=ahead_)
