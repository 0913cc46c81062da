"""A keyring in a Secret: read as it was written, and every damage found."""

from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import NameOID
from hypothesis import given, settings
from hypothesis import strategies as st

from certs.bundle import read_facts
from certs.issue import KeyPair, issue_ca
from certs.keyring import Keyring, keyring_data, new_authority, new_client, new_keyring, new_leaf, read_keyring
from certs.profile import extender_profile, webhook_profile
from tests.certs.verifier import accepts

NOW = datetime(2026, 1, 1, tzinfo=UTC)
WEBHOOK, EXTENDER = webhook_profile("gpusched-system"), extender_profile("gpusched-system")
RING = new_keyring(EXTENDER, NOW)
DATA = keyring_data(RING)


@pytest.mark.parametrize(
    "ring",
    [
        new_keyring(WEBHOOK, NOW),
        RING,
        msgspec.structs.replace(new_keyring(WEBHOOK, NOW), next=new_authority(WEBHOOK, NOW)),
        msgspec.structs.replace(RING, former=tuple(new_authority(EXTENDER, NOW).certificate for _ in range(2))),
    ],
)
def test_what_is_written_is_read(ring):
    assert read_keyring(keyring_data(ring), NOW) == ring


def test_a_new_keyring_serves_and_names_whom_to_trust():
    ring = new_keyring(WEBHOOK, NOW)

    assert ring.trusted == ring.lasting == (ring.current.certificate,)
    assert accepts(ring.leaf.certificate, ring.trusted, NOW)
    assert set(read_facts(ring.leaf.certificate).names) == {
        "gpusched-webhook",
        "gpusched-webhook.gpusched-system",
        "gpusched-webhook.gpusched-system.svc",
        "gpusched-webhook.gpusched-system.svc.cluster.local",
        "localhost",
        "127.0.0.1",
        "::1",
    }


def test_the_extender_has_two_authorities_from_the_beginning():
    assert RING.next is not None
    assert RING.trusted == (RING.current.certificate, RING.next.certificate)
    assert RING.lasting == RING.trusted
    later = msgspec.structs.replace(RING, former=(b"former",))
    assert (later.trusted, later.lasting) == ((*RING.trusted, b"former"), RING.trusted)


def test_a_leaf_ends_with_its_authority():
    late = NOW + EXTENDER.authority_lifetime - timedelta(days=10)

    assert read_facts(new_leaf(EXTENDER, RING.current, late).certificate).not_after == NOW + EXTENDER.authority_lifetime
    client = read_facts(new_client(RING, "system:kube-scheduler", NOW).certificate)
    assert (client.subject, client.not_after) == ("CN=system:kube-scheduler", NOW + EXTENDER.authority_lifetime)


def test_a_leaf_that_has_ended_is_no_damage():
    assert read_keyring(DATA, NOW + timedelta(days=400)) == RING


def test_a_clock_that_is_behind_finds_no_damage():
    assert read_keyring(DATA, NOW - timedelta(days=4000)) == RING


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"tls.crt": None}, "tls.crt is missing"),
        ({"ca.crt": None}, "ca.crt is missing"),
        ({"authority.key": None}, "authority.key is missing"),
        ({"next-authority.key": None}, "next-authority.key is missing"),
        ({"tls.key": RING.current.key}, "tls.key is not the key of tls.crt"),
        ({"authority.key": RING.leaf.key}, "authority.key is not the key of authority.crt"),
        ({"tls.crt": DATA["ca.crt"]}, "it cannot be read: tls.crt holds 2 certificates, not one"),
        ({"authority.crt": b""}, "it cannot be read: authority.crt holds 0 certificates, not one"),
    ],
)
def test_damage_is_named(change, told):
    data = {name: content for name, content in (DATA | change).items() if content is not None}

    assert read_keyring(data, NOW) == told


def of_another_kind(key: rsa.RSAPrivateKey, password: bytes = b"") -> dict[str, bytes]:
    """The data with an authority whose key is RSA."""
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "x")])
    builder = x509.CertificateBuilder(name, name, key.public_key(), 1, NOW, NOW + EXTENDER.authority_lifetime)
    certificate = builder.sign(key, hashes.SHA256())
    form = serialization.PrivateFormat.PKCS8
    encryption = serialization.BestAvailableEncryption(password) if password else serialization.NoEncryption()
    pem = serialization.Encoding.PEM
    return DATA | {
        "authority.crt": certificate.public_bytes(pem),
        "authority.key": key.private_bytes(pem, form, encryption),
    }


def test_an_authority_of_another_kind_is_damage():
    key = rsa.generate_private_key(65537, 2048)

    assert read_keyring(of_another_kind(key), NOW) == "authority.key is not an elliptic curve key"
    assert "encrypted" in str(read_keyring(of_another_kind(key, b"secret"), NOW))


def test_a_leaf_of_somebody_else_is_damage():
    other = new_keyring(EXTENDER, NOW)

    mixed = msgspec.structs.replace(RING, leaf=other.leaf)
    assert read_keyring(keyring_data(mixed), NOW) == "tls.crt was not issued by authority.crt"


def test_an_authority_that_has_ended_is_damage():
    assert str(read_keyring(DATA, NOW + EXTENDER.authority_lifetime)).startswith("its authority ended at ")


def test_another_kind_of_key_is_damage():
    assert isinstance(read_keyring(DATA | {"authority.crt": issue_ca("x", NOW, timedelta(1)).certificate}, NOW), str)


@settings(max_examples=150)
@given(st.sampled_from(sorted(DATA)), st.binary(max_size=80), st.integers(0, 900), st.integers(0, 100))
def test_whatever_bytes_there_are_it_is_a_keyring_or_a_reason(name, inserted, place, removed):
    content = DATA[name]
    changed = content[:place] + inserted + content[place + removed :]

    found = read_keyring(DATA | {name: changed}, NOW)

    if isinstance(found, Keyring):
        assert found.leaf.certificate == RING.leaf.certificate
        assert isinstance(found.leaf, KeyPair)
        assert accepts(found.leaf.certificate, found.trusted, NOW)
    else:
        assert found
