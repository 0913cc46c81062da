"""What there is of certificates in a cluster, as one value, and what is wrong with it."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta

import msgspec

from certs.bundle import Facts, read_facts, split_bundle, verifies
from certs.keyring import Keyring, read_keyring
from certs.profile import Profile
from certs.rotation import Phase, leaf_due, phase
from gpusched.cli.style import Colour, Style
from gpusched.cli.tables import Cell, render
from gpusched.kube.secret_store import Secret

#: An authority of the extender is to be rotated by people, who want to know early.
_EARLY = timedelta(days=365)
_ABSENT = "it is not there"


class CertificateView(msgspec.Struct, frozen=True):
    """One certificate; `role` is leaf, or of an authority current, next or former."""

    role: str
    subject: str
    fingerprint: str
    not_after: datetime


class ServerView(msgspec.Struct, frozen=True):
    """One of the two servers. `phase` is empty where there is no keyring to be read."""

    server: str
    secret: str
    phase: str
    certificates: tuple[CertificateView, ...]


class WebhookView(msgspec.Struct, frozen=True):
    """One webhook: fingerprints of the authorities in its caBundle, and whether they verify the leaf."""

    name: str
    authorities: tuple[str, ...]
    verifies: bool


class CertificatesView(msgspec.Struct, frozen=True):
    """The answer of `gpusched certs status`."""

    servers: tuple[ServerView, ...]
    webhooks: tuple[WebhookView, ...]
    problems: tuple[str, ...]


def found_keyring(profile: Profile, secret: Secret | None, now: datetime) -> Keyring | str:
    """The keyring of this Secret, or what there is instead and whether gpusched makes it, in words."""
    found = _ABSENT if secret is None else read_keyring(secret.data, now)
    if not isinstance(found, str):
        return found
    made = f"Secret {profile.secret}: {found}; gpusched serve --certs=secret makes it anew"
    if profile.spare and secret is None:
        made += ", unless it serves the extender without TLS (--extender-plain-http) or not at all (--role=webhook)"
    return made


def certificates_view(
    secrets: Sequence[tuple[Profile, Secret | None]], bundles: Mapping[str, bytes], now: datetime
) -> CertificatesView:
    """The view of these Secrets and of the caBundles by name of the webhook."""
    servers, webhooks, problems = [], [], []
    webhook_kept = False
    for profile, secret in secrets:
        found = found_keyring(profile, secret, now)
        if isinstance(found, str):
            servers.append(ServerView(profile.server, profile.secret, "", ()))
            # A leader that keeps both makes what is lost anew within seconds: one alone is all that it keeps.
            if secret is not None or not (profile.spare and webhook_kept):
                problems.append(found)
            continue
        webhook_kept = webhook_kept or not profile.spare
        servers.append(_server(profile, found))
        problems.extend(_of_keyring(profile, found, now))
        if not profile.spare:
            webhooks = [_webhook(name, bundle, found, now) for name, bundle in bundles.items()]
            problems.extend(_of_bundles(webhooks))
    return CertificatesView(tuple(servers), tuple(webhooks), tuple(problems))


def certificates_text(view: CertificatesView, now: datetime, style: Style) -> str:
    """The same for people."""
    rows = [
        [server.server, each.role, each.subject, each.fingerprint, _until(each.not_after, now)]
        for server in view.servers
        for each in server.certificates
    ]
    text = render(["SERVER", "ROLE", "SUBJECT", "FINGERPRINT", "UNTIL"], rows, style=style)
    for server in view.servers:
        if not server.certificates:
            text += f"\n{server.server}: no certificate is kept in Secret {server.secret}\n"
    if view.webhooks:
        held = [_row(each) for each in view.webhooks]
        text += "\n" + render(["WEBHOOK", "CABUNDLE", "VERIFIES"], held, style=style)
    for server in view.servers:
        if server.phase not in {"", Phase.STABLE}:
            text += f"\n{server.server}: a rotation is under way ({server.phase})\n"
    return text


def _server(profile: Profile, keyring: Keyring) -> ServerView:
    coming = [] if keyring.next is None else [("next", keyring.next.certificate)]
    parts = [
        ("leaf", keyring.leaf.certificate),
        ("current", keyring.current.certificate),
        *coming,
        *(("former", each) for each in keyring.former),
    ]
    views = tuple(_certificate(role, read_facts(certificate)) for role, certificate in parts)
    return ServerView(profile.server, profile.secret, str(phase(keyring, profile)), views)


def _certificate(role: str, facts: Facts) -> CertificateView:
    return CertificateView(role, facts.subject, facts.fingerprint, facts.not_after)


def _webhook(name: str, bundle: bytes, keyring: Keyring, now: datetime) -> WebhookView:
    try:
        authorities = split_bundle(bundle)
        found = tuple(read_facts(each).fingerprint for each in authorities)
    except ValueError:
        return WebhookView(name, ("unreadable",), verifies=False)
    return WebhookView(name, found, verifies=verifies(keyring.leaf.certificate, authorities, now))


def _of_keyring(profile: Profile, keyring: Keyring, now: datetime) -> Iterator[str]:
    leaf, authority = read_facts(keyring.leaf.certificate), read_facts(keyring.current.certificate)
    if now >= leaf.not_after:
        yield f"the {profile.server}'s certificate ended at {leaf.not_after}: is a leader running?"
    elif leaf_due(keyring, profile, now):
        yield f"the {profile.server}'s certificate should have been renewed: is a leader running?"
    if profile.spare and authority.not_after - now < _EARLY:
        yield f"the {profile.server}'s authority ends at {authority.not_after}: run gpusched certs rotate --extender"
    if profile.spare and keyring.former:
        yield "a rotation of the extender's authority is not finished: see gpusched certs rotate --extender --help"


def _of_bundles(webhooks: Sequence[WebhookView]) -> Iterator[str]:
    failing = [each.name for each in webhooks if not each.verifies]
    if failing:
        yield f"the caBundle does not verify the webhook's certificate: {', '.join(failing)}"
    if not webhooks:
        yield "no webhook is registered: apply manifests/base/webhooks.yaml"


def _row(view: WebhookView) -> list[str | Cell]:
    verdict = Cell("yes", Colour.GOOD) if view.verifies else Cell("no", Colour.BAD)
    return [view.name, ", ".join(view.authorities), verdict]


def _until(end: datetime, now: datetime) -> str:
    return f"{end:%Y-%m-%d} ({(end - now).days} d)"
