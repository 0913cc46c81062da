"""A cluster that was there before, reached by its kubeconfig: the same operations, fewer powers."""

import base64
import ssl
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import yaml

from gpusched.local.api import Api
from gpusched.local.cluster import Operations
from gpusched.local.credentials import kubeconfig, write_private
from gpusched.local.errors import UnsupportedError
from gpusched.local.guard import Guard

#: Path of a kubeconfig: the cluster to use instead of a local control plane.
VARIABLE: Final = "GPUSCHED_KUBECONFIG"
_ACCOUNT: Final = "/api/v1/namespaces/gpusched-system/serviceaccounts/gpusched/token"
_TOKEN_SECONDS: Final = 3600
Tree = Mapping[str, object]


class ExistingCluster(Operations):
    """The cluster of a kubeconfig, as a context manager.

    Identities are `admin`, the kubeconfig's own user, and `gpusched`, its ServiceAccount, by a token that the cluster
    issues for it. Logins by a program (`exec`) are not run: make a kubeconfig with a token or a client certificate.
    """

    def __init__(self, path: Path, context: str | None = None) -> None:
        self._path = path
        self._context = context
        self._apis: dict[str, Api] = {}
        self._guard = Guard()

    def __enter__(self) -> Self:
        self._guard.__enter__()
        try:
            self._cluster, self._user = self._read()
            self.server = str(self._cluster.get("server"))
            self._ca = self._file("ca.crt", self._cluster, "certificate-authority")
            self._apis["admin"] = Api(self.server, self._admin_context(), self._admin_login())
        except BaseException:
            self._guard.close()
            raise
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        for api in self._apis.values():
            api.close()
        self._guard.close()

    @property
    def ca(self) -> Path | None:
        """The certificates by which clients know the API server; None if the system's are meant."""
        return self._ca

    def api(self, identity: str) -> Api:
        """A client that speaks as this identity."""
        if identity not in self._apis:
            login = {"Authorization": f"Bearer {self.token_for(identity)}"}
            self._apis[identity] = Api(self.server, self._server_context(), login)
        return self._apis[identity]

    def token_for(self, identity: str) -> str:
        """A token of gpusched's ServiceAccount, good for an hour.

        Raises:
            UnsupportedError: another identity was asked for.
            ApiError: the ServiceAccount is not there.

        """
        if identity != "gpusched":
            raise UnsupportedError(f"an existing cluster has no identity {identity!r}, only admin and gpusched")
        request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest"}
        answer = self._apis["admin"].request(
            "POST", _ACCOUNT, {**request, "spec": {"expirationSeconds": _TOKEN_SECONDS}}
        )
        return str(_mapping(answer.expect(), "status")["token"])

    def kubeconfig(self, identity: str = "admin") -> Path:
        """A kubeconfig of this identity; of admin, the one that was given."""
        if identity == "admin":
            return self._path
        if self._ca is None:
            raise UnsupportedError("the kubeconfig names no certificate authority")
        path = self._guard.folder / f"{identity}.kubeconfig"
        if not path.exists():
            write_private(path, kubeconfig(self.server, self._ca, self.token_for(identity)))
        return path

    def _read(self) -> tuple[Tree, Tree]:
        try:
            tree = yaml.safe_load(self._path.read_text(encoding="utf-8"))
        except (OSError, yaml.YAMLError) as error:
            raise UnsupportedError(f"{self._path} cannot be read: {error}") from error
        if not isinstance(tree, Mapping):
            raise UnsupportedError(f"{self._path} is not a kubeconfig")
        context = _named(tree, "contexts", self._context or str(tree.get("current-context")), "context")
        return (
            _named(tree, "clusters", str(context.get("cluster")), "cluster"),
            _named(tree, "users", str(context.get("user")), "user"),
        )

    def _server_context(self) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=str(self._ca) if self._ca else None)
        if self._cluster.get("insecure-skip-tls-verify"):
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        return context

    def _admin_context(self) -> ssl.SSLContext:
        context = self._server_context()
        certificate = self._file("client.crt", self._user, "client-certificate")
        if certificate is not None:
            context.load_cert_chain(certificate, self._file("client.key", self._user, "client-key"))
        return context

    def _admin_login(self) -> dict[str, str]:
        if "exec" in self._user or "auth-provider" in self._user:
            raise UnsupportedError(f"{self._path} logs in by a program; use a token or a client certificate")
        token = self._user.get("token")
        if self._user.get("tokenFile"):
            token = self._beside(str(self._user["tokenFile"])).read_text(encoding="utf-8").strip()
        return {"Authorization": f"Bearer {token}"} if token else {}

    def _file(self, name: str, part: Tree, key: str) -> Path | None:
        """The file that a kubeconfig names by `key`, or a private one with what `key`-data holds."""
        data = part.get(f"{key}-data")
        if data:
            return write_private(self._guard.folder / name, base64.b64decode(str(data)))
        return self._beside(str(part[key])) if part.get(key) else None

    def _beside(self, name: str) -> Path:
        return self._path.parent / name


def _named(tree: Tree, section: str, name: str, key: str) -> Tree:
    entries = tree.get(section)
    for entry in entries if isinstance(entries, list) else []:
        if isinstance(entry, Mapping) and entry.get("name") == name:
            return _mapping(entry, key)
    raise UnsupportedError(f"the kubeconfig has no {key} {name!r}")


def _mapping(tree: Tree, key: str) -> Tree:
    part = tree.get(key)
    return part if isinstance(part, Mapping) else {}
