"""Certificates as files: for a run without Secrets, for an own authority, and for the hosts of kube-scheduler."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

import msgspec

from certs.bundle import join_bundle
from certs.keyring import Keyring, keyring_data, new_client, new_keyring
from certs.profile import SCHEDULER, extender_profile, webhook_profile

#: Nobody renews files, so their leaves are good for longer than those in Secrets.
_LIFETIME: Final = timedelta(days=365)
_PRIVATE: Final = 0o600


def issue_serving_certificates(directory: Path, namespace: str, now: datetime) -> None:
    """Write into the directory what `serve` reads there, and what its callers need.

    `tls.crt`, `tls.key` and `ca.crt` (for caBundle) of the webhook; below `extender/`, of authorities of its own, the
    same for the extender; below `scheduler/` what kube-scheduler reads. The authorities with their keys are beside
    them. Keys are readable by their owner alone.
    """
    for profile, place in (
        (webhook_profile(namespace), directory),
        (extender_profile(namespace), directory / "extender"),
    ):
        keyring = new_keyring(msgspec.structs.replace(profile, leaf_lifetime=_LIFETIME), now)
        write_files(place, keyring_data(keyring))
        if profile.spare:
            write_files(directory / "scheduler", scheduler_files(keyring, now))


def scheduler_files(keyring: Keyring, now: datetime) -> dict[str, bytes]:
    """What kube-scheduler reads: a client certificate, and the authorities of now and of the next rotation."""
    client = new_client(keyring, SCHEDULER, now)
    return {"tls.crt": client.certificate, "tls.key": client.key, "ca.crt": join_bundle(keyring.lasting)}


def write_files(directory: Path, files: Mapping[str, bytes]) -> None:
    """Write or replace files; nobody ever sees half of one. Raises OSError."""
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    for name, content in files.items():
        draft = directory / f".{name}.new"
        draft.unlink(missing_ok=True)
        if name.endswith(".key"):
            draft.touch(mode=_PRIVATE)
        draft.write_bytes(content)
        draft.replace(directory / name)
