"""A rotation as the person sees it who asked for it: the request, and every step that the service takes of it."""

import asyncio
import time
from collections.abc import Callable, Iterator
from typing import Final

import msgspec

from certs.bundle import read_facts, split_bundle
from certs.keyring import Keyring
from certs.profile import Profile
from certs.rotation import Request
from gpusched.cli.certs_view import found_keyring
from gpusched.kube.secret_store import SecretStore
from gpusched.kube.session import Session
from gpusched.kube.webhook_bundles import bundles_of, read_configurations
from gpusched.serve.certificates.rotation import REQUEST_ANNOTATION

_LOOK_SECONDS: Final = 0.5
#: A leader looks every few seconds; a new one first waits for its predecessor's bindings.
_TAKEN_UP_SECONDS: Final = 60.0


class RotationFailedError(Exception):
    """Why a rotation cannot be begun or does not go on, in words for the person who asked."""


class Stage(msgspec.Struct, frozen=True):
    """What is seen of a rotation at one moment. `holding` counts the caBundles that hold every trusted authority."""

    keyring: Keyring
    asked: str
    holding: int
    webhooks: int


async def rotate(
    session: Session, profile: Profile, namespace: str, request: Request, tell: Callable[[str], None], seconds: float
) -> None:
    """Ask the service and follow it until the certificate that was asked for is served.

    Raises:
        RotationFailedError: it cannot be asked now, or has not done it within `seconds`.
        KubeError, Refused: the API server cannot be reached, or does not allow it.

    """
    store = SecretStore(session, namespace)
    before = await _stage(session, store, profile)
    if reason := _hindrance(before, profile, request):
        raise RotationFailedError(reason)
    await store.annotate(profile.secret, {REQUEST_ANNOTATION: str(request)})
    tell(f"asked for by {REQUEST_ANNOTATION} on Secret {namespace}/{profile.secret}")
    began, last = time.monotonic(), before
    while not done(before, last, request):
        await asyncio.sleep(_LOOK_SECONDS)
        seen = await _stage(session, store, profile)
        for line in news(last, seen):
            tell(line)
        last = seen
        waited = time.monotonic() - began
        if waited > _TAKEN_UP_SECONDS and seen.keyring == before.keyring:
            raise RotationFailedError(
                f"nobody took it up in {_TAKEN_UP_SECONDS:.0f} s: does a leader run with --certs=secret? "
                f"The request stays; take it back by removing the annotation"
            )
        if waited > seconds:
            raise RotationFailedError(f"not done in {seconds:.0f} s; it goes on, see gpusched certs status")


def done(before: Stage, now: Stage, request: Request) -> bool:
    """Whether what was asked for has been done."""
    if request is Request.FINISH:
        return not now.keyring.former
    if request is Request.AUTHORITY:
        return now.keyring.current != before.keyring.current
    return now.keyring.leaf != before.keyring.leaf


def news(before: Stage, now: Stage) -> Iterator[str]:
    """What has changed between two moments, a line each."""
    old, new = before.keyring, now.keyring
    if new.next is not None and new.next not in {old.next, old.current}:
        yield f"new authority {_short(new.next.certificate)} is made"
    if now.webhooks and (now.holding, set(new.trusted)) != (before.holding, set(old.trusted)):
        yield f"{now.holding} of {now.webhooks} caBundles hold every authority"
    if new.current != old.current:
        yield f"authority {_short(new.current.certificate)} has taken the place of {_short(old.current.certificate)}"
    if new.leaf != old.leaf:
        facts = read_facts(new.leaf.certificate)
        yield f"new certificate {facts.fingerprint}, until {facts.not_after:%Y-%m-%d}; open connections go on"
    for each in old.former:
        if each not in new.former:
            yield f"former authority {_short(each)} is dropped"


def _hindrance(stage: Stage, profile: Profile, request: Request) -> str:
    if stage.asked:
        return f"a request ({stage.asked}) is waiting already; see gpusched certs status"
    if profile.spare and request is Request.AUTHORITY and stage.keyring.former:
        return (
            "the last rotation of the extender's authority is not finished: give kube-scheduler its new files with "
            "gpusched certs issue DIR, restart it, then run gpusched certs rotate --extender --finish"
        )
    if request is Request.FINISH and not stage.keyring.former:
        return "no rotation is to be finished"
    return ""


async def _stage(session: Session, store: SecretStore, profile: Profile) -> Stage:
    configurations = [] if profile.spare else await read_configurations(session)
    secret = await store.get(profile.secret)
    keyring = found_keyring(profile, secret, store.now())
    if secret is None or isinstance(keyring, str):
        raise RotationFailedError(str(keyring))
    bundles = list(bundles_of(configurations).values())
    holding = sum(_holds(bundle, keyring) for bundle in bundles)
    return Stage(keyring, secret.annotation(REQUEST_ANNOTATION), holding, len(bundles))


def _holds(bundle: bytes, keyring: Keyring) -> bool:
    try:
        return set(keyring.trusted) <= set(split_bundle(bundle))
    except ValueError:
        return False


def _short(certificate: bytes) -> str:
    return read_facts(certificate).fingerprint
