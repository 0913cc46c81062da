"""Who may speak to the local API server: identities with their tokens, service account keys, kubeconfigs."""

import csv
import io
import json
import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from gpusched.core.names import OWN_NAMESPACE

_PRIVATE: Final = 0o600


class Identity(msgspec.Struct, frozen=True):
    """A user as RBAC sees it; the API server adds `system:authenticated` itself."""

    user: str
    groups: tuple[str, ...] = ()


def service_account(namespace: str, name: str) -> Identity:
    """The user and groups that a ServiceAccount's token stands for, so that bindings to it hold."""
    groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}")
    return Identity(f"system:serviceaccount:{namespace}:{name}", groups)


#: The scheduler has the role that the API server ships for it. The controller manager and kwok act for everybody, the
#: former because its controllers' own accounts are not used here.
IDENTITIES: Final[Mapping[str, Identity]] = {
    "admin": Identity("gpusched-local-admin", ("system:masters",)),
    "scheduler": Identity("system:kube-scheduler"),
    "kcm": Identity("system:kube-controller-manager", ("system:masters",)),
    "kwok": Identity("system:kwok", ("system:masters",)),
    "gpusched": service_account(OWN_NAMESPACE, "gpusched"),
}


class Tokens:
    """A fresh token for each identity; the API server reads them once, when it starts."""

    def __init__(self, identities: Mapping[str, Identity]) -> None:
        self._identities = dict(identities)
        self._tokens = {name: secrets.token_urlsafe(24) for name in identities}

    def __getitem__(self, identity: str) -> str:
        if identity not in self._tokens:
            raise KeyError(f"no identity {identity!r}; there are {', '.join(sorted(self._tokens))}")
        return self._tokens[identity]

    def file(self) -> str:
        """The content of `--token-auth-file`: token, user, uid and groups a line."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        for name, identity in self._identities.items():
            writer.writerow([self._tokens[name], identity.user, name, ",".join(identity.groups)])
        return text.getvalue()


def service_account_keys() -> tuple[bytes, bytes]:
    """A private and a public key, PEM, for signing and checking tokens of ServiceAccounts."""
    key = ec.generate_private_key(ec.SECP256R1())
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    )
    public = key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    return private, public


def kubeconfig(server: str, authority: Path, token: str) -> str:
    """A kubeconfig with one context, as JSON, which is YAML too."""
    tree = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "local", "cluster": {"server": server, "certificate-authority": str(authority)}}],
        "users": [{"name": "local", "user": {"token": token}}],
        "contexts": [{"name": "local", "context": {"cluster": "local", "user": "local"}}],
        "current-context": "local",
    }
    return json.dumps(tree, indent=1)


def write_private(path: Path, content: str | bytes) -> Path:
    """Write a new file that nobody else may read.

    Raises:
        OSError: it is there already, or cannot be written.

    """
    data = content.encode() if isinstance(content, str) else content
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _PRIVATE), "wb") as file:
        file.write(data)
    return path
