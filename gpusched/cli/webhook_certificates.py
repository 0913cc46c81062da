"""Whether the CA bundles of webhooks can be parsed, fit what is served, and last."""

import asyncio
import base64
import binascii
import ssl
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Final
from urllib.parse import urlsplit

import msgspec
from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm

from gpusched.core.fields import Field
from gpusched.doctor.scene import Probe, Tree
from gpusched.kube.session import Session

#: Certificates that end within this time are reported.
SOON: Final = timedelta(days=14)
_SECRET: Final = "/api/v1/namespaces/{namespace}/secrets/gpusched-webhook-tls"  # noqa: S105 - a path
_SECONDS: Final = 5.0


class _Secret(msgspec.Struct):
    data: dict[str, str] = {}


class Certificates:
    """Examines the certificates of one set of webhook configurations."""

    def __init__(self, session: Session, now: datetime) -> None:
        self._session = session
        self._now = now

    async def examine(self, configurations: Sequence[Tree]) -> tuple[tuple[Probe, ...], tuple[Probe, ...]]:
        """Probes of the bundles, and of how long certificates last; each bundle of a configuration once."""
        bundles: list[Probe] = []
        expiry: list[Probe] = []
        for name, bundle, place in sorted(set(_clients(configurations))):
            authorities = _authorities(bundle)
            if isinstance(authorities, str):
                bundles.append(Probe(name, authorities))
                continue
            served = await self._served(place)
            expiry += self._ending(name, [*authorities, *([served] if isinstance(served, x509.Certificate) else [])])
            if isinstance(served, str):
                bundles.append(Probe(name, served, known=False))
            elif not any(_issued_by(served, authority) for authority in authorities):
                issuer = served.issuer.rfc4514_string()
                bundles.append(Probe(name, f"the certificate served is signed by {issuer}, which the bundle lacks"))
            else:
                bundles.append(Probe(name))
        return tuple(bundles), tuple(dict.fromkeys(expiry))

    async def _served(self, place: str) -> x509.Certificate | str:
        """The certificate that is served, from the address itself or from the Secret; else why it is not known."""
        if place.startswith("https://"):
            address = urlsplit(place)
            return await _fetched(address.hostname or "", address.port or 443)
        response = await self._session.request("GET", _SECRET.format(namespace=place), timeout=_SECONDS)
        if not response.ok:
            return f"what is served is not known: {response.message}"
        try:
            text = msgspec.json.decode(response.body, type=_Secret).data.get("tls.crt", "")
            return x509.load_pem_x509_certificate(base64.b64decode(text))
        except (msgspec.DecodeError, binascii.Error, ValueError, x509.InvalidVersion) as error:
            return f"Secret gpusched-webhook-tls cannot be read: {error}"

    def _ending(self, name: str, certificates: Sequence[x509.Certificate]) -> Iterator[Probe]:
        for certificate in certificates:
            end = certificate.not_valid_after_utc
            if end < self._now + SOON:
                verb = "ended" if end < self._now else "ends"
                yield Probe(
                    name, f"{certificate.subject.rfc4514_string() or 'the certificate'} {verb} on {end:%Y-%m-%d}"
                )


def _clients(configurations: Sequence[Tree]) -> Iterator[tuple[str, str, str]]:
    """Configuration, bundle, and where the certificate is to be found: an address, or the namespace of the Service."""
    for tree in configurations:
        root = Field(tree)
        subject = f"{str(tree.get('kind')).lower()}/{root.get('metadata').get('name').value}"
        for hook in root.get("webhooks").items():
            client = hook.get("clientConfig")
            url, bundle = client.get("url").value, client.get("caBundle").value
            namespace = client.get("service").get("namespace").value
            address = f"https://{urlsplit(url).netloc}" if isinstance(url, str) else str(namespace)
            yield subject, str(bundle or ""), address


def _authorities(bundle: str) -> list[x509.Certificate] | str:
    """The certificates of a bundle, or what is wrong with it."""
    if not bundle:
        return "has no CA bundle"
    try:
        return x509.load_pem_x509_certificates(base64.b64decode(bundle, validate=True))
    except (binascii.Error, ValueError, x509.InvalidVersion) as error:
        return f"the CA bundle is no certificate: {error}"


def _issued_by(leaf: x509.Certificate, authority: x509.Certificate) -> bool:
    if leaf == authority:
        return True
    try:
        leaf.verify_directly_issued_by(authority)
    except (ValueError, TypeError, InvalidSignature, UnsupportedAlgorithm):
        return False
    return True


async def _fetched(host: str, port: int) -> x509.Certificate | str:
    context = ssl.create_default_context()
    # The certificate is looked at, not trusted.
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    try:
        async with asyncio.timeout(_SECONDS):
            _, writer = await asyncio.open_connection(host, port, ssl=context)
    except (OSError, TimeoutError) as error:
        return f"{host}:{port} does not answer: {str(error) or 'timed out'}"
    try:
        found = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
    finally:
        writer.close()
    try:
        return x509.load_der_x509_certificate(found)
    except (ValueError, x509.InvalidVersion) as error:
        return f"{host}:{port} serves a certificate that cannot be read: {error}"
