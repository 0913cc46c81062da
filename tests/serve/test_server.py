"""Servers on real sockets: certificates change under open connections, and the end is orderly."""

import asyncio
import io
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from starlette.requests import Request
from starlette.responses import Response

from certs.issue import KeyPair, issue_ca, issue_leaf
from gpusched.obs.logging import configure
from gpusched.serve.certificates.files import FollowedFiles, certificate_files
from gpusched.serve.server import Listener, Servers, open_socket
from gpusched.serve.tls import LiveContext
from tests.fakes.http import Connection, connected, post, serving
from webhook.edge import Edge, add_post, bare_application, json_response

pytestmark = pytest.mark.anyio

NOW, YEAR = datetime.now(UTC), timedelta(days=365)


def write(directory: Path, authority: KeyPair, *, clients: KeyPair | None = None) -> None:
    pair = issue_leaf(authority, ["localhost"], NOW, YEAR)
    (directory / "tls.crt").write_bytes(pair.certificate)
    (directory / "tls.key").write_bytes(pair.key)
    if clients is not None:
        (directory / "ca.crt").write_bytes(clients.certificate)


class Live(LiveContext):
    """A context that follows the files of a directory."""

    def __init__(self, directory: Path, *, clients: bool = False, expiry: list[float] | None = None) -> None:
        super().__init__(([] if expiry is None else expiry).append)
        files = certificate_files(directory, clients=clients)
        self.look = FollowedFiles("webhook", files, self, configure(stream=io.StringIO())).look


def trusting(*authorities: KeyPair, directory: Path | None = None, client: KeyPair | None = None) -> ssl.SSLContext:
    context = ssl.create_default_context(cadata="".join(pair.certificate.decode() for pair in authorities))
    if client is not None and directory is not None:
        (directory / "client.crt").write_bytes(client.certificate)
        (directory / "client.key").write_bytes(client.key)
        context.load_cert_chain(directory / "client.crt", directory / "client.key")
    return context


def echo(gate: asyncio.Event | None = None) -> object:
    app = bare_application()

    async def answer(request: Request) -> Response:
        body = await request.body()
        if gate is not None:
            await gate.wait()
        return json_response(body)

    add_post(app, "/echo", Edge(lambda: 0.0), answer)
    return app


async def works(connection: Connection) -> bool:
    await connection.send(post("/echo", b"1"))
    return (await connection.response())[0] == 200


async def test_a_new_certificate_is_served_without_cutting_connections(tmp_path: Path) -> None:
    old, new = issue_ca("old", NOW, YEAR), issue_ca("new", NOW, YEAR)
    ends: list[float] = []
    write(tmp_path, old)
    context = Live(tmp_path, expiry=ends)
    async with serving(echo(), context.context) as port:
        async with connected(port, trusting(old)) as standing:
            assert await works(standing)
            write(tmp_path, new)
            context.look()
            assert await works(standing)
        async with connected(port, trusting(new)) as connection:
            assert await works(connection)
        with pytest.raises(ssl.SSLCertVerificationError):
            async with connected(port, trusting(old)):
                pass
    assert len(ends) == 2


async def test_a_pair_that_does_not_match_is_not_taken(tmp_path: Path) -> None:
    authority = issue_ca("ca", NOW, YEAR)
    write(tmp_path, authority)
    context = Live(tmp_path)
    (tmp_path / "tls.key").write_bytes(issue_leaf(authority, ["localhost"], NOW, YEAR).key)
    context.look()
    async with serving(echo(), context.context) as port, connected(port, trusting(authority)) as connection:
        assert await works(connection)

    write(tmp_path, issue_ca("next", NOW, YEAR))
    (tmp_path / "tls.crt").unlink()
    context.look()


@pytest.mark.parametrize("text", [None, b"", b"garbage"])
def test_certificates_that_cannot_be_used_show_at_the_start(tmp_path: Path, text: bytes | None) -> None:
    write(tmp_path, issue_ca("ca", NOW, YEAR))
    if text is None:
        (tmp_path / "tls.crt").unlink()
    else:
        (tmp_path / "tls.crt").write_bytes(text)

    with pytest.raises((OSError, ValueError)):
        Live(tmp_path)


async def test_clients_need_a_certificate_where_it_is_asked(tmp_path: Path) -> None:
    authority, clients = issue_ca("ca", NOW, YEAR), issue_ca("clients", NOW, YEAR)
    write(tmp_path, authority, clients=clients)
    known = issue_leaf(clients, ["scheduler"], NOW, YEAR, client=True)
    context = Live(tmp_path, clients=True)
    async with serving(echo(), context.context) as port:
        async with connected(port, trusting(authority, directory=tmp_path, client=known)) as connection:
            assert await works(connection)
        stranger = issue_leaf(authority, ["scheduler"], NOW, YEAR, client=True)
        for client in (None, stranger):
            await refused(port, trusting(authority, directory=tmp_path, client=client))


async def refused(port: int, tls: ssl.SSLContext) -> None:
    with pytest.raises((ssl.SSLError, ConnectionError, asyncio.IncompleteReadError)):
        async with connected(port, tls) as connection:
            await works(connection)


def test_old_protocols_and_weak_suites_are_not_offered(tmp_path: Path) -> None:
    write(tmp_path, issue_ca("ca", NOW, YEAR))
    context = Live(tmp_path).context.current

    assert context is not None
    names = [suite["name"] for suite in context.get_ciphers() if suite["protocol"] == "TLSv1.2"]
    assert context.minimum_version is ssl.TLSVersion.TLSv1_2
    assert names
    assert all(name.startswith("ECDHE-") and ("GCM" in name or "CHACHA20" in name) for name in names)


async def test_requests_under_way_are_answered_at_the_end() -> None:
    gate = asyncio.Event()
    listener = Listener(echo(gate), open_socket("127.0.0.1", 0))
    servers = Servers([listener])
    running = asyncio.create_task(servers.run())
    async with connected(listener.port) as busy, connected(listener.port) as idle:
        await busy.send(post("/echo", b"1"))
        await asyncio.sleep(0.05)
        servers.stop()
        assert await idle.ended()
        gate.set()
        status, headers, body = await busy.response()
        assert (status, headers["connection"], body) == (200, "close", b"1")
        assert await busy.ended()
    await asyncio.wait_for(running, 5)


@pytest.mark.parametrize("data", [b"", b"POST /echo HTTP/1.1\r\nHost: "])
async def test_a_connection_without_a_request_ends(data: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpusched.serve.server._SILENT", 0.3)
    async with serving(echo()) as port, connected(port) as silent, connected(port) as used:
        assert await works(used)
        await silent.send(data)
        assert await silent.ended()
        assert await works(used)


def test_a_taken_port_is_an_error() -> None:
    with open_socket("127.0.0.1", 0) as taken, pytest.raises(OSError, match="in use"):
        open_socket("127.0.0.1", taken.getsockname()[1])
