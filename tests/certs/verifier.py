"""Verifies leaves as a TLS client would, by the library's own X.509 verifier."""

from collections.abc import Iterable
from datetime import datetime

from cryptography import x509
from cryptography.x509.verification import PolicyBuilder, Store, VerificationError

from certs.bundle import split_bundle


def accepts(leaf: bytes, bundle: bytes | Iterable[bytes], at: datetime) -> bool:
    """Whether a client that trusts the bundle accepts the leaf for its first name."""
    whole = bundle if isinstance(bundle, bytes) else b"".join(bundle)
    authorities = [x509.load_pem_x509_certificate(each) for each in split_bundle(whole)]
    if not authorities:
        return False
    read = x509.load_pem_x509_certificate(leaf)
    names = read.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    name = names.get_values_for_type(x509.DNSName)[2]
    try:
        PolicyBuilder().store(Store(authorities)).time(at).build_server_verifier(x509.DNSName(name)).verify(read, [])
    except VerificationError:
        return False
    return True
