"""A live TLS context: what new connections get when its material changes, and what is left of keys."""

import asyncio
import os
import socket
import ssl
import tempfile
from pathlib import Path

import pytest

from certs.issue import issue_ca, issue_leaf
from gpusched.serve.tls import LiveContext, Material
from tests.fakes.http import connected, post, serving
from tests.serve.test_server import NOW, YEAR, Live, echo, refused, trusting, works, write

pytestmark = pytest.mark.anyio


async def test_an_authority_of_clients_that_is_taken_away_is_trusted_no_more(tmp_path: Path) -> None:
    """Nor by a session of before, which is resumed without a look at the certificate."""
    authority, old, new = (issue_ca(name, NOW, YEAR) for name in ("ca", "old", "new"))
    write(tmp_path, authority)
    (tmp_path / "ca.crt").write_bytes(old.certificate + new.certificate)
    context = Live(tmp_path, clients=True)
    former, current = (
        trusting(authority, directory=tmp_path, client=issue_leaf(each, ["scheduler"], NOW, YEAR, client=True))
        for each in (old, new)
    )
    async with serving(echo(), context.context) as port:
        async with connected(port, former) as standing:
            assert await works(standing)
            session = standing.writer.get_extra_info("ssl_object").session
            assert await asyncio.to_thread(resume, port, former, session) != b""
            (tmp_path / "ca.crt").write_bytes(new.certificate)
            context.look()
            assert await asyncio.to_thread(resume, port, former, session) == b""
            assert await works(standing)
        await refused(port, former)
        async with connected(port, current) as connection:
            assert await works(connection)


def resume(port: int, tls: ssl.SSLContext, session: ssl.SSLSession) -> bytes:
    """What a client gets that shows a session of before."""
    with socket.create_connection(("127.0.0.1", port), timeout=5) as plain:
        secured = tls.wrap_socket(plain, server_hostname="localhost", do_handshake_on_connect=False, session=session)
        try:
            with secured:
                secured.do_handshake()
                secured.sendall(post("/echo", b"1"))
                return secured.recv(100)
        except (ssl.SSLError, ConnectionError):
            return b""


async def test_nothing_is_served_before_there_is_a_certificate(tmp_path: Path) -> None:
    authority = issue_ca("ca", NOW, YEAR)
    context = LiveContext(lambda _end: None)
    async with serving(echo(), context.context) as port:
        await refused(port, trusting(authority))
        pair = issue_leaf(authority, ["localhost"], NOW, YEAR)
        context.take(Material(pair.certificate, pair.key))
        async with connected(port, trusting(authority)) as connection:
            assert await works(connection)


def test_a_key_leaves_no_file_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the system has no files in memory."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    pair = issue_leaf(issue_ca("ca", NOW, YEAR), ["localhost"], NOW, YEAR)
    for memory in (True, False):
        if not memory:
            monkeypatch.delattr(os, "memfd_create", raising=False)
        before = set(Path("/dev/fd").iterdir()) if Path("/dev/fd").exists() else set()
        LiveContext(lambda _end: None).take(Material(pair.certificate, pair.key))
        assert list(tmp_path.iterdir()) == []
        assert len(before) == (len(list(Path("/dev/fd").iterdir())) if before else 0)


@pytest.mark.parametrize(
    "bundle", [b"", b"hello", b"-----BEGIN CERTIFICATE-----\naGVsbG8=\n-----END CERTIFICATE-----\n"]
)
def test_no_clients_are_served_by_a_bundle_that_holds_no_authority(bundle: bytes) -> None:
    pair = issue_leaf(issue_ca("ca", NOW, YEAR), ["localhost"], NOW, YEAR)
    with pytest.raises(ValueError, match=r"."):
        LiveContext(lambda _end: None).take(Material(pair.certificate, pair.key, bundle))
