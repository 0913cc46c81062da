"""Bundles: what is read of them, and what is no bundle."""

import base64
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from certs.bundle import Facts, belongs, join_bundle, read_facts, split_bundle, verifies
from certs.issue import issue_ca, issue_leaf

NOW = datetime(2026, 1, 1, tzinfo=UTC)
YEAR = timedelta(days=365)
ONE, OTHER = issue_ca("one", NOW, YEAR), issue_ca("other", NOW, YEAR)
LEAF = issue_leaf(ONE, ("a.b.svc", "127.0.0.1"), NOW, YEAR / 4)


def test_a_bundle_is_its_certificates_each_once():
    bundle = join_bundle((ONE.certificate, OTHER.certificate, ONE.certificate))

    assert split_bundle(b"a comment\n" + bundle + ONE.certificate) == (ONE.certificate, OTHER.certificate)


@pytest.mark.parametrize("empty", [b"", b" \n"])
def test_an_empty_bundle_holds_nothing(empty):
    assert split_bundle(empty) == ()


@pytest.mark.parametrize(
    "garbage",
    [
        b"hello",
        b"-----BEGIN CERTIFICATE-----\nhello\n-----END CERTIFICATE-----\n",
        b"-----BEGIN CERTIFICATE-----\n",
        ONE.key,
        ONE.certificate[:-40],
        ONE.certificate + b"-----BEGIN CERTIFICATE-----\naGVsbG8=\n-----END CERTIFICATE-----\n",
        bytes(range(256)),
    ],
)
def test_what_is_no_bundle_is_refused(garbage):
    with pytest.raises(ValueError, match=r"."):
        split_bundle(garbage)


def test_facts():
    facts = read_facts(LEAF.certificate)

    assert facts == Facts(
        subject="CN=a.b.svc",
        issuer="CN=one",
        not_before=NOW - timedelta(minutes=5),
        not_after=facts.not_after,
        names=("a.b.svc", "127.0.0.1"),
        authority=False,
        fingerprint=facts.fingerprint,
    )
    assert abs(facts.not_after - NOW - YEAR / 4) < timedelta(seconds=1)
    assert len(facts.fingerprint) == 12
    assert read_facts(ONE.certificate).authority
    assert read_facts(ONE.certificate).names == ()


@pytest.mark.parametrize(
    ("authorities", "at", "good"),
    [
        ((ONE,), NOW, True),
        ((OTHER, ONE), NOW, True),
        ((OTHER,), NOW, False),
        ((issue_ca("one", NOW, YEAR),), NOW, False),
        ((), NOW, False),
        ((ONE,), NOW + YEAR / 2, False),
        ((ONE,), NOW - timedelta(hours=1), False),
    ],
)
def test_a_leaf_is_verified_by_whom_it_is_from_in_its_time(authorities, at, good):
    assert verifies(LEAF.certificate, [each.certificate for each in authorities], at) is good


def test_an_authority_that_has_ended_verifies_nothing():
    short = issue_ca("short", NOW, timedelta(days=1))
    leaf = issue_leaf(short, ("a",), NOW, YEAR)

    assert verifies(leaf.certificate, [short.certificate], NOW)
    assert not verifies(leaf.certificate, [short.certificate], NOW + timedelta(days=2))


def test_a_key_belongs_to_its_certificate():
    assert belongs(LEAF.certificate, LEAF.key)
    assert not belongs(LEAF.certificate, ONE.key)


def test_a_certificate_of_no_version_is_refused():
    """Which the library tells by an error of its own that is no ValueError."""
    binary = x509.load_pem_x509_certificate(ONE.certificate).public_bytes(Encoding.DER)
    text = base64.encodebytes(binary.replace(b"\xa0\x03\x02\x01\x02", b"\xa0\x03\x02\x01\x07", 1))
    odd = b"-----BEGIN CERTIFICATE-----\n" + text + b"-----END CERTIFICATE-----\n"

    for read in (split_bundle, read_facts, lambda odd: verifies(odd, (ONE.certificate,), NOW)):
        with pytest.raises(ValueError, match="no version"):
            read(odd)
