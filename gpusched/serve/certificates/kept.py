"""All certificates of a process that gpusched keeps itself: what is served of them, and who looks after them."""

import asyncio
import time
from collections.abc import Callable, Coroutine, Iterable, Mapping
from datetime import timedelta
from typing import Final

from certs.profile import Profile, extender_profile, webhook_profile
from gpusched.doctor.installation import CLOCK_LINE
from gpusched.kube.secret_store import SecretStore
from gpusched.kube.session import Session
from gpusched.kube.webhook_bundles import bundles_of, read_configurations
from gpusched.obs.logging import Log
from gpusched.obs.metrics import Metrics
from gpusched.serve.certificates.keyrings import KeptKeyring, SecretCertificates, nothing_published
from gpusched.serve.certificates.rotation import Rotation, rotate_forever
from gpusched.serve.options import Options
from gpusched.serve.tls import LiveContext

#: Seconds between two looks of a replica at its Secrets. Well below the shortest overlap of two authorities.
LOOK_SECONDS: Final = 3.0
#: The same until the first certificate is there, and of the replica that rotates while a rotation goes on.
_SOON_SECONDS: Final = 0.5
#: From here on it is worth telling: certificates, and the Lease of a leader that vanished, are judged by the clock.
_SKEW_SECONDS: Final = 5


class KeptCertificates:
    """Made before anything runs. A process that keeps none has nothing to do."""

    def __init__(
        self, options: Options, session: Session, contexts: Mapping[str, LiveContext], metrics: Metrics, log: Log
    ) -> None:
        self._session = session
        self._metrics = metrics
        store = SecretStore(session, options.namespace)
        profiles = _profiles(options)
        kept = {profile.server: KeptKeyring(profile, store, log) for profile in profiles}
        self._served = [
            SecretCertificates(
                kept[server], context, metrics, log, self._published if server == "webhook" else nothing_published
            )
            for server, context in contexts.items()
            if server in options.own_certificates
        ]
        self._rotations = [
            Rotation(each, session, options.rotation, metrics, log, time.monotonic) for each in kept.values()
        ]

    def closed(self) -> str | None:
        """Which certificate is still missing, None if none is."""
        return next((why for each in self._served if (why := each.closed()) is not None), None)

    def lines(self) -> list[str]:
        """What is not as it should be, for people."""
        problems = [f"certificates: {each.problem}" for each in self._served if each.problem]
        skew = round(self._session.clock_ahead / timedelta(seconds=1))
        if abs(skew) >= _SKEW_SECONDS:
            problems.append(f"{CLOCK_LINE}{abs(skew)} s {'ahead of' if skew > 0 else 'behind'} the API server's")
        return problems

    def tasks(self, leads: Callable[[], bool]) -> list[Coroutine[object, object, None]]:
        """What is to run until cancelled; `leads` says whether this replica renews and rotates."""
        if not self._rotations:
            return []
        return [self._follow(), rotate_forever(self._rotations, leads, idle=LOOK_SECONDS, busy=_SOON_SECONDS)]

    async def _follow(self) -> None:
        while True:
            for each in self._served:
                await each.look()
            self._metrics.clock_ahead.set(self._session.clock_ahead / timedelta(seconds=1))
            await asyncio.sleep(LOOK_SECONDS if self.closed() is None else _SOON_SECONDS)

    async def _published(self) -> Iterable[bytes]:
        return bundles_of(await read_configurations(self._session)).values()


def _profiles(options: Options) -> list[Profile]:
    """The webhook's keyring is looked after by whoever leads, also where that process does not serve the webhook."""
    if not options.own_certificates:
        return []
    profiles = [webhook_profile(options.namespace)]
    if "extender" in options.own_certificates:
        profiles.append(extender_profile(options.namespace))
    return profiles
