"""A small world for rotations: a Secret, a caBundle, API servers that lag, replicas that look now and then.

Processes take the steps; each may be stopped between any two requests, and be slow.
"""

from collections.abc import Generator
from datetime import UTC, datetime, timedelta

import msgspec

from certs.keyring import Keyring, new_keyring
from certs.profile import webhook_profile
from certs.rotation import Request, Step, Terms, next_webhook_step, settles, taken, wanted_bundle
from tests.certs.verifier import accepts

PROFILE = webhook_profile("gpusched-system")
TERMS = Terms(seen=timedelta(seconds=30), overlap=timedelta(seconds=60))
#: The longest time between two looks of a replica at the Secret; less than the overlap.
LOOK = timedelta(seconds=20)
START = datetime(2026, 1, 1, tzinfo=UTC)


class Process:
    """One that looks after the rotation. `stood` begins anew when it is started again."""

    def __init__(self) -> None:
        self.work: Generator[None, None, None] | None = None
        self.standing: tuple[tuple[bytes, ...], datetime] | None = None


class World:
    """Time passes by `wait` alone."""

    def __init__(self, replicas: int = 2, processes: int = 2) -> None:
        self.now = START
        self.keyring: Keyring = new_keyring(PROFILE, START)
        self.request = Request.NONE
        self.secret_version = self.bundle_version = 0
        #: The bundle since when, newest last.
        self.bundles = [(START - timedelta(hours=1), b"".join(self.keyring.trusted))]
        self.served = [(START, self.keyring.leaf.certificate)] * replicas
        self.processes = [Process() for _ in range(processes)]
        self.steps: list[Step] = []

    def advance(self, number: int) -> None:
        """Let a process do one more request."""
        process = self.processes[number]
        if process.work is None:
            process.work = self._step(process)
        try:
            next(process.work)
        except StopIteration:
            process.work = None

    def run(self, number: int) -> None:
        """Let a process end the step that it is at, and do one more."""
        while self.processes[number].work is not None:
            self.advance(number)
        for _ in range(3):
            self.advance(number)

    def crash(self, number: int) -> None:
        """Stop a process wherever it is; it starts from nothing."""
        self.processes[number] = Process()

    def settle(self) -> None:
        """Let the first process come to rest, however long that takes."""
        while self._due(self.processes[0]) is not Step.REST:
            for _ in range(4):
                self.advance(0)
            self.wait(timedelta(seconds=5))

    def wait(self, span: timedelta) -> None:
        """Let time pass; replicas look at the Secret at least every LOOK."""
        self.now += span
        for number, (looked, _) in enumerate(self.served):
            if self.now - looked >= LOOK:
                self.look(number)

    def look(self, number: int) -> None:
        """Let a replica take over the leaf of the Secret, if the bundle that is published verifies it."""
        leaf = self.served[number][1]
        if accepts(self.keyring.leaf.certificate, self.bundles[-1][1], self.now):
            leaf = self.keyring.leaf.certificate
        self.served[number] = (self.now, leaf)

    def broken(self) -> list[str]:
        """Calls that would fail now: for each replica and each bundle that some API server may still go by."""
        seen = [
            bundle
            for (_, bundle), (until, _) in zip(self.bundles, [*self.bundles[1:], (self.now, b"")], strict=True)
            if until > self.now - TERMS.seen
        ]
        return [
            f"replica {number} fails bundle {place} of {len(seen)}"
            for number, (_, leaf) in enumerate(self.served)
            for place, bundle in enumerate(seen)
            if not accepts(leaf, bundle, self.now)
        ]

    def _due(self, process: Process) -> Step:
        bundle = self.bundles[-1][1]
        stood = self._stood(process, self.keyring, bundle)
        return next_webhook_step(self.keyring, PROFILE, self.request, {"a": bundle}, stood, self.now, TERMS)

    def _step(self, process: Process) -> Generator[None, None, None]:
        bundle, bundle_version = self.bundles[-1][1], self.bundle_version
        yield
        keyring, secret_version, request = self.keyring, self.secret_version, self.request
        stood = self._stood(process, keyring, bundle)
        step = next_webhook_step(keyring, PROFILE, request, {"a": bundle}, stood, self.now, TERMS)
        now = self.now
        yield
        if step is Step.PUBLISH and bundle_version == self.bundle_version:
            self.bundle_version += 1
            self.bundles.append((self.now, wanted_bundle(keyring, bundle, now, TERMS)))
            self.steps.append(step)
        elif step not in {Step.PUBLISH, Step.REST, Step.WAIT} and secret_version == self.secret_version:
            self.secret_version += 1
            self.keyring = taken(step, keyring, PROFILE, now)
            self.steps.append(step)
            if settles(step, request):
                self.request = Request.NONE

    def _stood(self, process: Process, keyring: Keyring, bundle: bytes) -> timedelta:
        if bundle != wanted_bundle(keyring, bundle, self.now, TERMS):
            process.standing = None
            return timedelta(0)
        if process.standing is None or process.standing[0] != keyring.trusted:
            process.standing = (keyring.trusted, self.now)
        return self.now - process.standing[1]


def without_leaf(keyring: Keyring) -> Keyring:
    """What of a keyring stays when its leaf is renewed."""
    return msgspec.structs.replace(keyring, leaf=keyring.current)
