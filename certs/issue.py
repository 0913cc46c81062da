"""PURE. Issues a certificate authority and leaves under it; time and lifetimes come in as arguments.

The leaves satisfy what Go's TLS and Python's strict X.509 checks ask for: subject alternative names, key identifiers,
basic constraints and key usage (RFC 5280, sections 4.2.1.1 to 4.2.1.12).
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from ipaddress import ip_address
from typing import Final

import msgspec
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

#: Clocks of a cluster differ a little: a certificate is good from a while before it was issued.
BACKDATE: Final = timedelta(minutes=5)
_CURVE: Final = ec.SECP256R1


class KeyPair(msgspec.Struct, frozen=True):
    """A certificate and its private key, both PEM; the key is unencrypted PKCS #8."""

    certificate: bytes
    key: bytes


def service_names(service: str, namespace: str) -> tuple[str, ...]:
    """The DNS names by which a Service is called; the API server uses `service.namespace.svc`."""
    base = f"{service}.{namespace}.svc"
    return (service, f"{service}.{namespace}", base, f"{base}.cluster.local")


def issue_ca(name: str, now: datetime, lifetime: timedelta) -> KeyPair:
    """A self-signed P-256 authority that may sign leaves and nothing else."""
    key = ec.generate_private_key(_CURVE())
    subject = _subject(name)
    builder = (
        _builder(subject, subject, key.public_key(), now, lifetime)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(sign_certificates=True), critical=True)
    )
    return _pair(builder.sign(key, hashes.SHA256()), key)


def issue_leaf(
    authority: KeyPair, names: Sequence[str], now: datetime, lifetime: timedelta, *, client: bool = False
) -> KeyPair:
    """A P-256 leaf for servers of these DNS names and addresses, or for a client named by the first of them.

    Raises:
        ValueError: there is no name, or the authority cannot be read.
        TypeError: the authority's key is of another kind.

    """
    if not names:
        raise ValueError("a certificate needs at least one name")
    issuer = x509.load_pem_x509_certificate(authority.certificate)
    issuer_key = serialization.load_pem_private_key(authority.key, password=None)
    if not isinstance(issuer_key, ec.EllipticCurvePrivateKey):
        raise TypeError("the authority's key is not an elliptic curve key")
    key = ec.generate_private_key(_CURVE())
    purpose = ExtendedKeyUsageOID.CLIENT_AUTH if client else ExtendedKeyUsageOID.SERVER_AUTH
    builder = (
        _builder(_subject(names[0]), issuer.subject, key.public_key(), now, lifetime)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(sign_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([purpose]), critical=False)
        .add_extension(x509.SubjectAlternativeName([_general_name(name) for name in names]), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key()), critical=False)
    )
    return _pair(builder.sign(issuer_key, hashes.SHA256()), key)


def _builder(
    subject: x509.Name, issuer: x509.Name, public_key: ec.EllipticCurvePublicKey, now: datetime, lifetime: timedelta
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public_key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - BACKDATE)
        .not_valid_after(now + lifetime)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public_key), critical=False)
    )


def _subject(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name[:64])])


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _usage(*, sign_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not sign_certificates,
        key_cert_sign=sign_certificates,
        crl_sign=sign_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _pair(certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> KeyPair:
    return KeyPair(
        certificate=certificate.public_bytes(serialization.Encoding.PEM),
        key=key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        ),
    )
