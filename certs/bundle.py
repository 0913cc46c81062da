"""PURE. Reads certificates and bundles of them: what they are, when they end, and who issued whom.

The API server stores any bytes as a caBundle and fails only when it calls the webhook, so bundles are parsed here
before they are written and after they are read.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import Final, TypeVar

import msgspec
from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

#: Characters of a fingerprint that tell authorities apart for people.
_SHORT: Final = 12
_Extension = TypeVar("_Extension", bound=x509.ExtensionType)


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """What a certificate says. `fingerprint` is the start of its SHA-256 digest, in hexadecimal digits."""

    subject: str
    issuer: str
    not_before: datetime
    not_after: datetime
    names: tuple[str, ...]
    authority: bool
    fingerprint: str


def split_bundle(bundle: bytes) -> tuple[bytes, ...]:
    """The certificates of a bundle, each as PEM text of its own, every one once; none for empty input.

    Raises:
        ValueError: it holds something that is no certificate, or none although it is not empty.

    """
    if not bundle.strip():
        return ()
    try:
        read = x509.load_pem_x509_certificates(bundle)
    except x509.InvalidVersion as error:
        raise _of_no_version(error) from error
    return tuple(dict.fromkeys(_pem(certificate) for certificate in read))


def join_bundle(certificates: Iterable[bytes]) -> bytes:
    """One bundle of these certificates, every one once."""
    return b"".join(dict.fromkeys(certificates))


def read_facts(certificate: bytes) -> Facts:
    """What a PEM certificate says.

    Raises:
        ValueError: it cannot be read.

    """
    read = _read(certificate)
    return Facts(
        subject=read.subject.rfc4514_string(),
        issuer=read.issuer.rfc4514_string(),
        not_before=read.not_valid_before_utc,
        not_after=read.not_valid_after_utc,
        names=_names(read),
        authority=_is_authority(read),
        fingerprint=read.fingerprint(hashes.SHA256()).hex()[:_SHORT],
    )


def verifies(leaf: bytes, authorities: Iterable[bytes], at: datetime) -> bool:
    """Whether one of the authorities issued the leaf and both are valid at that time.

    Raises:
        ValueError: one of them cannot be read.

    """
    read = _read(leaf)
    issuers = (_read(authority) for authority in authorities)
    return _valid(read, at) and any(_valid(issuer, at) and _issued(read, issuer) for issuer in issuers)


def belongs(certificate: bytes, key: bytes) -> bool:
    """Whether the private key is that of the certificate.

    Raises:
        ValueError: one of them cannot be read.

    """
    form = (serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    try:
        ours = serialization.load_pem_private_key(key, password=None).public_key().public_bytes(*form)
        return ours == _read(certificate).public_key().public_bytes(*form)
    except (TypeError, UnsupportedAlgorithm) as error:
        raise ValueError(f"the key is encrypted or of an unknown kind: {error}") from error


def is_elliptic(key: bytes) -> bool:
    """Whether a private key is of the kind that issues certificates here.

    Raises:
        ValueError: it cannot be read.

    """
    try:
        return isinstance(serialization.load_pem_private_key(key, password=None), ec.EllipticCurvePrivateKey)
    except (TypeError, UnsupportedAlgorithm) as error:
        raise ValueError(f"the key is encrypted or of an unknown kind: {error}") from error


def ends(certificate: bytes) -> datetime:
    """When a certificate ends.

    Raises:
        ValueError: it cannot be read.

    """
    return _read(certificate).not_valid_after_utc


def _read(certificate: bytes) -> x509.Certificate:
    try:
        return x509.load_pem_x509_certificate(certificate)
    except x509.InvalidVersion as error:
        raise _of_no_version(error) from error


def _of_no_version(error: x509.InvalidVersion) -> ValueError:
    return ValueError(f"a certificate has no version that there is: {error}")


def _valid(certificate: x509.Certificate, at: datetime) -> bool:
    return certificate.not_valid_before_utc <= at < certificate.not_valid_after_utc


def _issued(leaf: x509.Certificate, issuer: x509.Certificate) -> bool:
    try:
        leaf.verify_directly_issued_by(issuer)
    except (ValueError, TypeError, InvalidSignature, UnsupportedAlgorithm):
        return False
    return True


def _names(certificate: x509.Certificate) -> tuple[str, ...]:
    found = _extension(certificate, x509.SubjectAlternativeName)
    return () if found is None else tuple(str(name.value) for name in found)


def _is_authority(certificate: x509.Certificate) -> bool:
    found = _extension(certificate, x509.BasicConstraints)
    return found is not None and found.ca


def _extension(certificate: x509.Certificate, kind: type[_Extension]) -> _Extension | None:
    try:
        return certificate.extensions.get_extension_for_class(kind).value
    except x509.ExtensionNotFound:
        return None
    except (x509.DuplicateExtension, x509.UnsupportedGeneralNameType) as error:
        raise ValueError(f"its extensions cannot be read: {error}") from error


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)
