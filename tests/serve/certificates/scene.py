"""Keyrings in a fake cluster, and those who serve by them and rotate them."""

import base64
import io
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from certs.bundle import split_bundle
from certs.keyring import Keyring, keyring_data, read_keyring
from certs.profile import Profile, extender_profile, webhook_profile
from certs.rotation import Terms
from gpusched.kube.secret_store import Metadata, Secret, SecretStore
from gpusched.kube.session import Session
from gpusched.kube.webhook_bundles import bundles_of, read_configurations
from gpusched.obs.logging import configure
from gpusched.obs.metrics import Metrics
from gpusched.serve.certificates.keyrings import KeptKeyring, SecretCertificates, nothing_published
from gpusched.serve.certificates.rotation import Rotation
from gpusched.serve.tls import LiveContext
from tests.fakes.apiserver import MUTATING, SECRETS, VALIDATING, ApiServer
from tests.fakes.session import session_for

WEBHOOK, EXTENDER = webhook_profile("gpusched-system"), extender_profile("gpusched-system")
TERMS = Terms(seen=timedelta(seconds=30), overlap=timedelta(hours=1))


class Replica:
    """One process as far as certificates go, with a clock of its own."""

    def __init__(self, session: Session, profile: Profile = WEBHOOK) -> None:
        self.metrics = Metrics()
        self.session = session
        self.now = 0.0
        self._output = io.StringIO()
        log = configure(stream=self._output)
        store = SecretStore(session, "gpusched-system")
        self.kept = KeptKeyring(profile, store, log)
        self.live = LiveContext(self.metrics.certificate_expiry.labels(profile.server).set)
        published = nothing_published if profile.spare else self._published
        self.served = SecretCertificates(self.kept, self.live, self.metrics, log, published)
        self.rotation = Rotation(self.kept, session, TERMS, self.metrics, log, lambda: self.now)

    @property
    def leaf(self) -> bytes:
        """What it serves."""
        return b"" if self.live.material is None else self.live.material.certificate

    @property
    def events(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self._output.getvalue().splitlines()]

    async def _published(self) -> Any:
        return bundles_of(await read_configurations(self.session)).values()


@asynccontextmanager
async def registered_cluster() -> AsyncIterator[tuple[ApiServer, Session]]:
    """A server with registered webhooks, and a session with it."""
    async with ApiServer(SECRETS, MUTATING, VALIDATING) as server, session_for(server) as session:
        for collection, names in ((MUTATING, ("a", "b")), (VALIDATING, ("c",))):
            hooks = [{"name": name, "clientConfig": {"url": "https://x"}} for name in names]
            server.put(collection, {"metadata": {"name": "gpusched"}, "webhooks": hooks})
        yield server, session


@asynccontextmanager
async def cluster(*replicas: Profile) -> AsyncIterator[tuple[Any, ...]]:
    """The same, with a replica for each profile."""
    async with registered_cluster() as (server, session):
        yield server, *(Replica(session, profile) for profile in replicas)


def store(server: ApiServer, keyring: Keyring, profile: Profile = WEBHOOK, **annotations: str) -> None:
    """Put a keyring into its Secret."""
    metadata = Metadata(profile.secret, "gpusched-system", annotations=annotations or None)
    secret = Secret(metadata, keyring_data(keyring))
    server.put(SECRETS, msgspec.json.decode(msgspec.json.encode(secret)))


def stored(server: ApiServer, profile: Profile = WEBHOOK) -> Keyring:
    """The keyring in its Secret."""
    tree = server.objects[SECRETS][f"gpusched-system/{profile.secret}"]
    data = {name: base64.b64decode(text) for name, text in tree["data"].items()}
    found = read_keyring(data, datetime.now(UTC))
    assert isinstance(found, Keyring), found
    return found


def published(server: ApiServer) -> list[tuple[bytes, ...]]:
    """The authorities in each caBundle."""
    return [
        split_bundle(base64.b64decode(hook["clientConfig"].get("caBundle", "")))
        for collection in (MUTATING, VALIDATING)
        for hook in server.objects[collection]["gpusched"]["webhooks"]
    ]
