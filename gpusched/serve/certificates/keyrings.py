"""Keyrings that gpusched keeps in Secrets of its own: made by whichever replica is first, followed by all."""

from collections.abc import Awaitable, Callable, Iterable
from datetime import datetime
from typing import Final

import msgspec

from certs.bundle import join_bundle, read_facts, split_bundle, verifies
from certs.keyring import Keyring, keyring_data, new_keyring, read_keyring
from certs.profile import Profile
from certs.rotation import Phase, phase
from gpusched.kube.errors import StatusError, Unreachable
from gpusched.kube.secret_store import Refused, Secret, SecretStore
from gpusched.kube.writes import Outcome, Result
from gpusched.obs.logging import Log
from gpusched.obs.metrics import Metrics
from gpusched.serve.tls import LiveContext, Material

#: Replicas that start together meet a conflict once or twice; more means something else is wrong.
_ATTEMPTS: Final = 5
#: Annotations by which cert-manager knows its Secrets.
_CERT_MANAGER: Final = "cert-manager.io/"
#: What can go wrong with a request, all of it to be tried again.
TROUBLE: Final = (Unreachable, StatusError, Refused)

Published = Callable[[], Awaitable[Iterable[bytes]]]
"""Reads the bundles by which callers know the server now. Raises what TROUBLE names."""


class Kept(msgspec.Struct, frozen=True):
    """A Secret with the keyring that is in it."""

    secret: Secret
    keyring: Keyring


async def nothing_published() -> Iterable[bytes]:
    """Of a server whose callers keep their bundles themselves."""
    return ()


class KeptKeyring:
    """One keyring, as its Secret has it."""

    def __init__(self, profile: Profile, store: SecretStore, log: Log) -> None:
        self.profile = profile
        self.store = store
        self._log = log
        self._last: Keyring | None = None

    async def read(self) -> Kept:
        """The Secret as it is now. One that is lost or damaged is made anew: from what this process remembers, so that
        nobody notices, else with other keys.

        Raises:
            Unreachable: there is no whole answer.
            Refused: the API server does not let it be read or made.

        """
        for attempt in range(_ATTEMPTS):
            try:
                kept = await self._read()
            except Refused as error:
                if not error.conflict or attempt + 1 == _ATTEMPTS:
                    raise
                continue
            self._last = kept.keyring
            return kept
        raise AssertionError("the last attempt returns or raises")

    async def replace(self, kept: Kept, keyring: Keyring, annotations: dict[str, str] | None) -> None:
        """Store another keyring if the Secret is still the one that was read; raises as `SecretStore.replace`."""
        await self.store.replace(_with(kept.secret, keyring, annotations))

    async def _read(self) -> Kept:
        name = self.profile.secret
        secret = await self.store.get(name)
        if secret is None:
            made = self._another()
            stored = Kept(await self.store.create(name, keyring_data(made)), made)
            self._log.info("certificates created", secret=name, again=self._last is not None)
            return stored
        found = read_keyring(secret.data, self.store.now())
        if isinstance(found, Keyring):
            return Kept(secret, found)
        if any(key.startswith(_CERT_MANAGER) for key in secret.metadata.annotations or ()):
            told = "it is cert-manager's: serve with --cert-dir, or delete the Certificate and then the Secret"
            raise Refused(name, Outcome(Result.REFUSED, told))
        self._log.warning("Secret is damaged, it is written anew", secret=name, problem=found)
        made = self._another()
        return Kept(await self.store.replace(_with(secret, made, secret.metadata.annotations)), made)

    def _another(self) -> Keyring:
        now = self.store.now()
        if self._last is not None and read_facts(self._last.current.certificate).not_after > now:
            return self._last
        return new_keyring(self.profile, now)


class SecretCertificates:
    """Serves by the leaf of a kept keyring, and by another one as soon as callers know its authority.

    That is so from the beginning when a rotation took its steps, and may take a moment where a Secret was made anew or
    was edited.
    """

    def __init__(self, kept: KeptKeyring, live: LiveContext, metrics: Metrics, log: Log, published: Published) -> None:
        #: Why the newest leaf is not served, empty if it is.
        self.problem = "not read yet"
        self._kept = kept
        self._live = live
        self._metrics = metrics
        self._log = log
        self._published = published

    def closed(self) -> str | None:
        """Why nothing is served at all, None if something is."""
        if self._live.material is not None:
            return None
        return f"no certificate of the {self._kept.profile.server} yet ({self.problem})"

    async def look(self) -> None:
        """Read the Secret, and serve by it."""
        profile = self._kept.profile
        try:
            keyring = (await self._kept.read()).keyring
            problem = await self._take(keyring)
        except (*TROUBLE, ValueError) as error:
            problem = str(error)
        else:
            self._export(profile, keyring)
        if problem and problem != self.problem:
            self._log.warning("certificate not loaded", server=profile.server, problem=problem)
        self.problem = problem

    async def _take(self, keyring: Keyring) -> str:
        material = _material(keyring, self._kept.profile)
        if material == self._live.material:
            return ""
        if not await self._known(material.certificate):
            return "callers do not know the authority of the new certificate yet"
        self._live.take(material)
        facts = read_facts(material.certificate)
        self._log.info("certificate loaded", server=self._kept.profile.server, until=str(facts.not_after))
        return ""

    async def _known(self, leaf: bytes) -> bool:
        """Whether callers accept this leaf, or the one that is served no more than this."""
        served = self._live.material
        if served is None or served.certificate == leaf:
            return True
        bundles, now = list(await self._published()), self._kept.store.now()
        return _accepted(leaf, bundles, now) or not _accepted(served.certificate, bundles, now)

    def _export(self, profile: Profile, keyring: Keyring) -> None:
        authority = read_facts(keyring.current.certificate)
        self._metrics.authority_expiry.labels(profile.server).set(authority.not_after.timestamp())
        for each in Phase:
            self._metrics.rotation_phase.labels(profile.server, str(each)).set(each is phase(keyring, profile))


def accepts(bundle: bytes, leaf: bytes, now: datetime) -> bool:
    """Whether a bundle, whatever bytes it is, verifies the leaf."""
    try:
        return verifies(leaf, split_bundle(bundle), now)
    except ValueError:
        return False


def _accepted(leaf: bytes, bundles: Iterable[bytes], now: datetime) -> bool:
    return all(accepts(bundle, leaf, now) for bundle in bundles)


def _material(keyring: Keyring, profile: Profile) -> Material:
    """Callers with a certificate are those of the extender, and the authorities theirs as well as its own."""
    clients = join_bundle(keyring.trusted) if profile.spare else None
    return Material(keyring.leaf.certificate, keyring.leaf.key, clients)


def _with(secret: Secret, keyring: Keyring, annotations: dict[str, str] | None) -> Secret:
    """The Secret with another keyring in place of the one that is there."""
    metadata = msgspec.structs.replace(secret.metadata, annotations=annotations)
    return msgspec.structs.replace(secret, metadata=metadata, data=keyring_data(keyring))
