"""Renews and rotates the kept certificates, one step at a time, and keeps every caBundle as it should be.

One replica does so for economy; nothing breaks if two do. Bundles are read before the Secret from which new ones are
made, and are written only where they are still those that were read, as the Secret is: so whoever comes late with
something old is refused.
"""

import asyncio
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Final

from certs.bundle import read_facts
from certs.keyring import Keyring
from certs.rotation import (
    Phase,
    Request,
    Step,
    Terms,
    next_extender_step,
    next_webhook_step,
    phase,
    settles,
    taken,
    wanted_bundle,
)
from gpusched.kube.secret_store import Refused, Secret
from gpusched.kube.session import Session
from gpusched.kube.webhook_bundles import Configuration, bundles_of, publish, read_configurations
from gpusched.obs.logging import Log
from gpusched.obs.metrics import Metrics
from gpusched.serve.certificates.keyrings import TROUBLE, Kept, KeptKeyring, accepts

#: What a person asks for, on the Secret: a value of certs.rotation.Request.
REQUEST_ANNOTATION: Final = "gpusched.io/rotate"
#: Steps without a pause between them; a whole rotation has no more.
_AT_ONCE: Final = 8


class Rotation:
    """Does what is due for one keyring. `clock` counts seconds and never jumps."""

    def __init__(
        self, kept: KeptKeyring, session: Session, terms: Terms, metrics: Metrics, log: Log, clock: Callable[[], float]
    ) -> None:
        #: Whether a rotation waits for little more than time.
        self.busy = False
        self._kept = kept
        self._session = session
        self._terms = terms
        self._metrics = metrics
        self._log = log
        self._clock = clock
        self._standing: tuple[tuple[bytes, ...], float] | None = None
        self._problem = ""

    async def work(self) -> None:
        """Take steps until nothing is due; what goes wrong is told once and tried again the next time."""
        try:
            for _ in range(_AT_ONCE):
                if not await self.step():
                    break
        except (*TROUBLE, ValueError) as error:
            if isinstance(error, Refused) and error.conflict:
                return
            if str(error) != self._problem:
                self._log.warning("certificates not looked after", secret=self._name, problem=str(error))
            self._problem = str(error)
        else:
            self._problem = ""

    async def step(self) -> bool:
        """Take one step; whether it changed anything."""
        configurations = [] if self._kept.profile.spare else await read_configurations(self._session)
        kept = await self._kept.read()
        request = _request(kept.secret)
        step = self._next(kept.keyring, request, configurations)
        self.busy = phase(kept.keyring, self._kept.profile) is Phase.ANNOUNCING
        if step in {Step.REST, Step.WAIT}:
            return False
        if step is Step.PUBLISH:
            await self._publish(kept.keyring, configurations)
        else:
            await self._store(kept, step, request)
        return True

    def forget(self) -> None:
        """Somebody else may have taken over: what was seen to stand is to be seen anew."""
        self._standing = None
        if not self._kept.profile.spare:
            self._metrics.bundle_mismatches.set(0)

    @property
    def _name(self) -> str:
        return self._kept.profile.secret

    def _next(self, keyring: Keyring, request: Request, configurations: Sequence[Configuration]) -> Step:
        profile, now = self._kept.profile, self._kept.store.now()
        if profile.spare:
            return next_extender_step(keyring, profile, request, now)
        published = bundles_of(configurations)
        leaf = keyring.leaf.certificate
        self._metrics.bundle_mismatches.set(sum(not accepts(each, leaf, now) for each in published.values()))
        complete = all(each == wanted_bundle(keyring, each, now, self._terms) for each in published.values())
        stood = self._stood(keyring.trusted, complete=complete)
        return next_webhook_step(keyring, profile, request, published, stood, now, self._terms)

    def _stood(self, trusted: tuple[bytes, ...], *, complete: bool) -> timedelta:
        """How long every bundle has been seen to hold these authorities."""
        if not complete:
            self._standing = None
            return timedelta(0)
        if self._standing is None or self._standing[0] != trusted:
            self._standing = (trusted, self._clock())
        return timedelta(seconds=self._clock() - self._standing[1])

    async def _publish(self, keyring: Keyring, configurations: Sequence[Configuration]) -> None:
        now = self._kept.store.now()
        for each in configurations:
            bundles = {name: wanted_bundle(keyring, held, now, self._terms) for name, held in each.bundles.items()}
            if bundles != each.bundles and await publish(self._session, each, bundles):
                names = [read_facts(authority).fingerprint for authority in keyring.trusted]
                self._log.info("caBundles written", kind=each.plural, authorities=names)

    async def _store(self, kept: Kept, step: Step, request: Request) -> None:
        keyring = taken(step, kept.keyring, self._kept.profile, self._kept.store.now())
        annotations = dict(kept.secret.metadata.annotations or {})
        if settles(step, request):
            annotations.pop(REQUEST_ANNOTATION, None)
        await self._kept.replace(kept, keyring, annotations)
        facts = read_facts(keyring.leaf.certificate)
        self._log.info("certificates changed", secret=self._name, step=str(step), until=str(facts.not_after))


async def rotate_forever(rotations: Sequence[Rotation], leads: Callable[[], bool], *, idle: float, busy: float) -> None:
    """Work while this replica leads, until cancelled; pauses of so many seconds, shorter while a rotation goes on."""
    while True:
        for rotation in rotations:
            if leads():
                await rotation.work()
            else:
                rotation.forget()
        # Whoever does not lead looks soon whether it does by now, which costs nothing.
        soon = not leads() or any(each.busy for each in rotations)
        await asyncio.sleep(busy if soon else idle)


def _request(secret: Secret) -> Request:
    try:
        return Request(secret.annotation(REQUEST_ANNOTATION))
    except ValueError:
        return Request.UNKNOWN
