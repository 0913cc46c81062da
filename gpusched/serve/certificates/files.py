"""Certificates from files that somebody else keeps: a mounted Secret, cert-manager, an operator's own authority."""

import asyncio
from pathlib import Path
from typing import Final

import msgspec

from gpusched.obs.logging import Log
from gpusched.serve.tls import LiveContext, Material

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

    def read(self) -> Material:
        """What is in them. Raises OSError."""
        client_ca = None if self.client_ca is None else self.client_ca.read_bytes()
        return Material(self.certificate.read_bytes(), self.key.read_bytes(), client_ca)


def certificate_files(directory: Path, *, clients: bool) -> CertificateFiles:
    """The files of a directory as a Secret of type kubernetes.io/tls holds them."""
    return CertificateFiles(directory / "tls.crt", directory / "tls.key", directory / "ca.crt" if clients else None)


class FollowedFiles:
    """Gives a context what the files hold, from the start and whenever they change."""

    def __init__(self, name: str, files: CertificateFiles, live: LiveContext, log: Log) -> None:
        """Raises OSError or ValueError (ssl.SSLError among them) when the files cannot be used."""
        self._name = name
        self._files = files
        self._live = live
        self._log = log
        self._stamp = files.stamp()
        live.take(files.read())

    async def watch(self) -> None:
        """Look after the files until cancelled."""
        while True:
            await asyncio.sleep(_POLL)
            self.look()

    def look(self) -> None:
        """Take over the files if they changed."""
        stamp = self._files.stamp()
        if stamp == self._stamp:
            return
        try:
            self._live.take(self._files.read())
        except (OSError, ValueError) as error:
            # Between two writes certificate and key do not belong together: the next look will find them so.
            self._log.warning("certificate not loaded", server=self._name, problem=str(error))
            return
        self._stamp = stamp
        self._log.info("certificate loaded", server=self._name)


def _stamp(path: Path) -> tuple[int, int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino
