"""Certificates: what is issued passes independent verification, and nothing else does."""

from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.x509.verification import PolicyBuilder, Store, VerificationError

from certs.issue import KeyPair, issue_ca, issue_leaf, service_names

NOW = datetime(2026, 1, 1, tzinfo=UTC)
YEAR = timedelta(days=365)
NAMES = service_names("gpusched", "gpusched-system")


def verify(leaf: KeyPair, authority: KeyPair, name: str, at: datetime) -> None:
    store = Store([x509.load_pem_x509_certificate(authority.certificate)])
    verifier = PolicyBuilder().store(store).time(at).build_server_verifier(x509.DNSName(name))
    verifier.verify(x509.load_pem_x509_certificate(leaf.certificate), [])


def test_service_names_include_the_one_the_api_server_calls():
    assert NAMES == (
        "gpusched",
        "gpusched.gpusched-system",
        "gpusched.gpusched-system.svc",
        "gpusched.gpusched-system.svc.cluster.local",
    )


@pytest.mark.parametrize("name", NAMES[1:])
def test_leaf_is_good_for_every_name(name):
    authority = issue_ca("gpusched", NOW, YEAR)

    verify(issue_leaf(authority, NAMES, NOW, YEAR / 4), authority, name, NOW)


def test_leaf_is_good_a_little_before_it_was_issued():
    authority = issue_ca("gpusched", NOW, YEAR)

    verify(issue_leaf(authority, NAMES, NOW, YEAR / 4), authority, NAMES[2], NOW - timedelta(minutes=4))


@pytest.mark.parametrize(
    ("name", "at"), [("other.svc", NOW), (NAMES[2], NOW + YEAR), (NAMES[2], NOW - timedelta(hours=1))]
)
def test_leaf_is_bad_for_other_names_and_times(name, at):
    authority = issue_ca("gpusched", NOW, 2 * YEAR)
    leaf = issue_leaf(authority, NAMES, NOW, YEAR / 4)

    with pytest.raises(VerificationError):
        verify(leaf, authority, name, at)


def test_leaf_is_bad_under_another_authority_of_the_same_name():
    leaf = issue_leaf(issue_ca("gpusched", NOW, YEAR), NAMES, NOW, YEAR)

    with pytest.raises(VerificationError):
        verify(leaf, issue_ca("gpusched", NOW, YEAR), NAMES[2], NOW)


def test_client_leaf_does_not_serve():
    authority = issue_ca("gpusched", NOW, YEAR)
    leaf = issue_leaf(authority, NAMES, NOW, YEAR, client=True)

    with pytest.raises(VerificationError):
        verify(leaf, authority, NAMES[2], NOW)


def test_leaf_needs_a_name():
    with pytest.raises(ValueError, match="at least one name"):
        issue_leaf(issue_ca("gpusched", NOW, YEAR), (), NOW, YEAR)
