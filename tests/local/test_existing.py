import base64
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from certs.issue import issue_ca, issue_leaf
from gpusched.local.api import Api, Response
from gpusched.local.errors import UnsupportedError
from gpusched.local.existing import ExistingCluster


@pytest.fixture(scope="module")
def authority():
    return issue_ca("test", datetime.now(UTC), timedelta(days=1))


def encoded(content: bytes) -> str:
    return base64.b64encode(content).decode()


def write(folder: Path, authority, user: dict[str, object], **cluster: object) -> Path:
    path = folder / "config"
    data = {"server": "https://example.invalid", "certificate-authority-data": encoded(authority.certificate)}
    tree = {
        "current-context": "x",
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": data | cluster}],
        "users": [{"name": "u", "user": user}],
    }
    path.write_text(json.dumps(tree), encoding="utf-8")
    return path


@pytest.fixture
def requests(monkeypatch):
    """What the clients are asked, instead of being sent anywhere."""
    seen: list[tuple[dict[str, str], str, str]] = []

    def request(self, method, path, _body=None, **_more):
        seen.append((self._headers, method, path))
        return Response(201, {"status": {"token": "issued"}})

    monkeypatch.setattr(Api, "request", request)
    return seen


def test_admin_is_the_user_of_the_kubeconfig(tmp_path, authority, requests):
    path = write(tmp_path, authority, {"token": "t"})

    with ExistingCluster(path) as cluster:
        cluster.request("GET", "/version")
        assert cluster.kubeconfig() == path

    assert requests == [({"Authorization": "Bearer t"}, "GET", "/version")]


def test_gpusched_has_a_token_of_its_service_account(tmp_path, authority, requests):
    with ExistingCluster(write(tmp_path, authority, {"token": "t"})) as cluster:
        cluster.request("GET", "/api/v1/pods", identity="gpusched")
        written = json.loads(cluster.kubeconfig("gpusched").read_text(encoding="utf-8"))

    account = "/api/v1/namespaces/gpusched-system/serviceaccounts/gpusched/token"
    assert requests[0] == ({"Authorization": "Bearer t"}, "POST", account)
    assert requests[1] == ({"Authorization": "Bearer issued"}, "GET", "/api/v1/pods")
    assert written["users"][0]["user"] == {"token": "issued"}


def test_client_certificate_is_taken_and_no_copy_stays(tmp_path, authority):
    leaf = issue_leaf(authority, ["admin"], datetime.now(UTC), timedelta(days=1), client=True)
    user = {"client-certificate-data": encoded(leaf.certificate), "client-key-data": encoded(leaf.key)}

    with ExistingCluster(write(tmp_path, authority, user)) as cluster:
        copies = cluster.ca.parent
        assert (copies / "client.key").stat().st_mode & 0o077 == 0

    assert not copies.exists()


def test_files_are_looked_for_beside_the_kubeconfig(tmp_path, authority, requests):
    (tmp_path / "token").write_text("from-file\n", encoding="utf-8")
    (tmp_path / "ca.pem").write_bytes(authority.certificate)
    path = write(
        tmp_path,
        authority,
        {"tokenFile": "token"},
        **{"certificate-authority-data": "", "certificate-authority": "ca.pem"},
    )

    with ExistingCluster(path) as cluster:
        cluster.request("GET", "/version")
        assert cluster.ca == tmp_path / "ca.pem"

    assert requests[0][0] == {"Authorization": "Bearer from-file"}


def test_other_identities_are_not_there(tmp_path, authority):
    cluster = ExistingCluster(write(tmp_path, authority, {"token": "t"}))

    with cluster, pytest.raises(UnsupportedError, match="no identity 'kcm', only admin and gpusched"):
        cluster.request("GET", "/version", identity="kcm")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[", "cannot be read"),
        ("- a", "is not a kubeconfig"),
        ("{current-context: none}", "the kubeconfig has no context 'none'"),
    ],
)
def test_what_is_no_kubeconfig_is_said(tmp_path, content, message):
    path = tmp_path / "config"
    path.write_text(content, encoding="utf-8")

    with pytest.raises(UnsupportedError, match=message):
        ExistingCluster(path).__enter__()


def test_login_by_a_program_is_refused_with_the_way_out(tmp_path, authority):
    path = write(tmp_path, authority, {"exec": {"command": "aws"}})

    with pytest.raises(UnsupportedError, match="use a token or a client certificate"):
        ExistingCluster(path).__enter__()
