"""TLS contexts whose certificates are read again when their files change, without a restart and without a cut."""

import asyncio
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec
from cryptography import x509

from gpusched.obs.logging import Log

#: TLS 1.2 suites with forward secrecy and authenticated encryption; those of TLS 1.3 are all of that kind.
_CIPHERS: Final = "ECDHE+AESGCM:ECDHE+CHACHA20"
#: Seconds between two looks at the files. Mounted Secrets are swapped by a symbolic link, which a look follows.
_POLL: Final = 1.0


class CertificateFiles(msgspec.Struct, frozen=True):
    """PEM files of a server. With `client_ca` only clients with a certificate from it are served."""

    certificate: Path
    key: Path
    client_ca: Path | None = None

    def stamp(self) -> tuple[tuple[int, int, int] | None, ...]:
        """A value that changes with the files; None stands for one that is missing."""
        return tuple(_stamp(path) for path in (self.certificate, self.key, self.client_ca) if path is not None)


def certificate_files(directory: Path, *, clients: bool) -> CertificateFiles:
    """The files of a directory as a Secret of type kubernetes.io/tls holds them."""
    return CertificateFiles(directory / "tls.crt", directory / "tls.key", directory / "ca.crt" if clients else None)


class LiveContext:
    """A server's TLS context. `expiry` is told the end of the certificate, in seconds since 1970."""

    def __init__(self, name: str, files: CertificateFiles, log: Log, expiry: Callable[[float], None]) -> None:
        """Raises OSError or ValueError (ssl.SSLError among them) when the files cannot be used."""
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.minimum_version = ssl.TLSVersion.TLSv1_2
        self.context.set_ciphers(_CIPHERS)
        self._name = name
        self._files = files
        self._log = log
        self._expiry = expiry
        self._stamp = files.stamp()
        self._load()

    async def watch(self) -> None:
        """Look after the files until cancelled."""
        while True:
            await asyncio.sleep(_POLL)
            self.look()

    def look(self) -> None:
        """Take over the files if they changed. New connections get them; those that are open go on as they are."""
        stamp = self._files.stamp()
        if stamp == self._stamp:
            return
        try:
            self._load()
        except (OSError, ValueError) as error:
            # Between two writes certificate and key do not belong together: the next look will find them so.
            self._log.warning("certificate not loaded", server=self._name, problem=str(error))
            return
        self._stamp = stamp
        self._log.info("certificate loaded", server=self._name)

    def _load(self) -> None:
        files = self._files
        for path in (files.certificate, files.key, files.client_ca):
            # ssl does not say which file is missing.
            if path is not None:
                path.open("rb").close()
        # A pair that does not match leaves a context useless, so it is tried on another one first.
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(files.certificate, files.key)
        if files.client_ca is not None:
            self.context.load_verify_locations(files.client_ca)
            self.context.verify_mode = ssl.CERT_REQUIRED
        self.context.load_cert_chain(files.certificate, files.key)
        certificate = x509.load_pem_x509_certificate(files.certificate.read_bytes())
        self._expiry(certificate.not_valid_after_utc.timestamp())


def _stamp(path: Path) -> tuple[int, int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino
