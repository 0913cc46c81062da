"""TLS contexts whose certificates change while they serve, without a restart and without a cut."""

import contextlib
import os
import ssl
import tempfile
from collections.abc import Callable, Iterator
from typing import Final

import msgspec

from certs.bundle import read_facts, split_bundle

#: TLS 1.2 suites with forward secrecy and authenticated encryption; those of TLS 1.3 are all of that kind.
_CIPHERS: Final = "ECDHE+AESGCM:ECDHE+CHACHA20"


class Material(msgspec.Struct, frozen=True):
    """What a server needs, as PEM text. With `client_ca` only clients with a certificate from it are served."""

    certificate: bytes
    key: bytes
    client_ca: bytes | None = None


class LiveContext:
    """A server's TLS context. `expiry` is told the end of the certificate, in seconds since 1970.

    Until something was taken over every handshake fails.
    """

    def __init__(self, expiry: Callable[[float], None]) -> None:
        #: What a server is given. It stays the same object.
        self.context = _Deferring(ssl.PROTOCOL_TLS_SERVER)
        self.material: Material | None = None
        self._expiry = expiry

    def take(self, material: Material) -> None:
        """Serve new connections by this; those that are open go on as they are.

        Raises:
            ValueError: it cannot be used (ssl.SSLError is one); what was taken before stays in use.

        """
        context = _context(material)
        expires = read_facts(material.certificate).not_after.timestamp()
        self.context.current = context
        self.material = material
        self._expiry(expires)


class _Deferring(ssl.SSLContext):
    """Leaves each handshake to the current context.

    A context cannot forget: authorities can only be added to it, and tickets that it gave to clients resume sessions
    without a look at their certificates. asyncio and uvloop ask for one object a connection.
    """

    current: ssl.SSLContext | None = None

    def wrap_bio(
        self,
        incoming: ssl.MemoryBIO,
        outgoing: ssl.MemoryBIO,
        server_side: bool = False,
        server_hostname: str | bytes | None = None,
        session: ssl.SSLSession | None = None,
    ) -> ssl.SSLObject:
        found = self.current
        if found is None:
            return super().wrap_bio(incoming, outgoing, server_side, server_hostname, session)
        return found.wrap_bio(incoming, outgoing, server_side, server_hostname, session)


def _context(material: Material) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_ciphers(_CIPHERS)
    if material.client_ca is not None:
        authorities = split_bundle(material.client_ca)
        if not authorities:
            raise ValueError("there is no authority for certificates of clients")
        context.load_verify_locations(cadata=b"".join(authorities).decode("ascii"))
        context.verify_mode = ssl.CERT_REQUIRED
    with _private_file(material.certificate.rstrip() + b"\n" + material.key) as path:
        context.load_cert_chain(path)
    return context


@contextlib.contextmanager
def _private_file(content: bytes) -> Iterator[str]:
    """A file for OpenSSL, which reads keys from nowhere else: in memory where the system has such files."""
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("gpusched-certificate")
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            yield f"/proc/self/fd/{descriptor}"
        return
    with tempfile.NamedTemporaryFile(prefix="gpusched-") as file:  # for its owner alone
        file.write(content)
        file.flush()
        yield file.name
