import csv
import json
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization

from gpusched.local.credentials import (
    IDENTITIES,
    Identity,
    Tokens,
    kubeconfig,
    service_account,
    service_account_keys,
    write_private,
)


def test_only_what_must_is_a_master():
    masters = {name for name, identity in IDENTITIES.items() if "system:masters" in identity.groups}

    assert masters == {"admin", "kcm", "kwok"}


def test_gpusched_is_its_service_account():
    assert IDENTITIES["gpusched"] == Identity(
        "system:serviceaccount:gpusched-system:gpusched",
        ("system:serviceaccounts", "system:serviceaccounts:gpusched-system"),
    )


def test_token_file_has_a_line_an_identity_and_its_groups_in_one_field():
    tokens = Tokens({"a": Identity("alice", ("one", "two")), "b": service_account("team-a", "bot")})

    assert list(csv.reader(tokens.file().splitlines())) == [
        [tokens["a"], "alice", "a", "one,two"],
        [
            tokens["b"],
            "system:serviceaccount:team-a:bot",
            "b",
            "system:serviceaccounts,system:serviceaccounts:team-a",
        ],
    ]
    assert tokens["a"] != tokens["b"]
    assert len(tokens["a"]) >= 32


def test_unknown_identity_is_told_those_that_there_are():
    with pytest.raises(KeyError, match="no identity 'bob'; there are admin, gpusched"):
        Tokens({"gpusched": Identity("g"), "admin": Identity("a")})["bob"]


def test_keys_belong_together():
    private, public = service_account_keys()

    derived = serialization.load_pem_private_key(private, None).public_key()
    assert derived == serialization.load_pem_public_key(public)


def test_kubeconfig_names_server_authority_and_token():
    tree = json.loads(kubeconfig("https://127.0.0.1:6443", Path("/x/ca.crt"), "secret"))

    assert tree["clusters"][0]["cluster"] == {
        "server": "https://127.0.0.1:6443",
        "certificate-authority": "/x/ca.crt",
    }
    assert tree["users"][0]["user"] == {"token": "secret"}
    assert tree["current-context"] == tree["contexts"][0]["name"]


def test_private_files_are_private_and_never_overwritten(tmp_path):
    path = write_private(tmp_path / "key", "secret")

    assert path.stat().st_mode & 0o777 == 0o600
    with pytest.raises(FileExistsError):
        write_private(path, "other")
    assert path.read_text(encoding="utf-8") == "secret"
