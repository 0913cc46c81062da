"""Certificates for a run without a certificate authority at hand: tests, demonstrations, a first look."""

from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from certs.issue import KeyPair, issue_ca, issue_leaf, service_names

_LIFETIME: Final = timedelta(days=365)
#: Where the API server and kube-scheduler reach a process on this machine.
_LOCAL: Final = ("localhost", "127.0.0.1", "::1")
#: Services of the webhook, and of the replica that answers kube-scheduler.
WEBHOOK_SERVICE: Final = "gpusched-webhook"
EXTENDER_SERVICE: Final = "gpusched"


def issue_serving_certificates(directory: Path, namespace: str, now: datetime) -> None:
    """Write into the directory what `serve` reads there, and what its callers need.

    `tls.crt`, `tls.key` and `ca.crt` (for caBundle) of the webhook; below `extender/`, of a CA of its own, the same for
    the extender, and `client.crt` and `client.key` for kube-scheduler. Keys are readable by their owner alone.
    """
    names = (*service_names(WEBHOOK_SERVICE, namespace), *_LOCAL)
    authority = issue_ca("gpusched webhook CA", now, _LIFETIME)
    _write(directory, "tls", issue_leaf(authority, names, now, _LIFETIME))
    (directory / "ca.crt").write_bytes(authority.certificate)
    extender = directory / "extender"
    names = (*service_names(EXTENDER_SERVICE, namespace), *_LOCAL)
    authority = issue_ca("gpusched extender CA", now, _LIFETIME)
    _write(extender, "tls", issue_leaf(authority, names, now, _LIFETIME))
    _write(extender, "client", issue_leaf(authority, ("system:kube-scheduler",), now, _LIFETIME, client=True))
    (extender / "ca.crt").write_bytes(authority.certificate)


def _write(directory: Path, name: str, pair: KeyPair) -> None:
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    key = directory / f"{name}.key"
    key.touch(mode=0o600)
    key.chmod(0o600)
    key.write_bytes(pair.key)
    (directory / f"{name}.crt").write_bytes(pair.certificate)
