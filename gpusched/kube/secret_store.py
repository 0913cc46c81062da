"""Secrets that gpusched keeps: read, create if absent, replace only what was read. The API server tells the time."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

import msgspec

from gpusched.kube.errors import Response
from gpusched.kube.session import Session
from gpusched.kube.writes import MERGE_PATCH, Outcome, Result, outcome_of

_SECONDS: Final = 10.0
_LABELS: Final = {"app.kubernetes.io/name": "gpusched"}


class Metadata(msgspec.Struct, omit_defaults=True, rename="camel"):
    """What of an object's metadata is kept when it is replaced: all that people write."""

    name: str
    namespace: str = ""
    resource_version: str = ""
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    finalizers: list[str] | None = None
    owner_references: list[dict[str, object]] | None = None


class Secret(msgspec.Struct, rename={"api_version": "apiVersion"}):
    """A core/v1 Secret; JSON has its data in base64."""

    metadata: Metadata
    data: dict[str, bytes] = {}
    type: str = "kubernetes.io/tls"
    api_version: str = "v1"
    kind: str = "Secret"

    def annotation(self, key: str) -> str:
        """The value of an annotation, empty without it."""
        return (self.metadata.annotations or {}).get(key, "")


class Refused(Exception):  # noqa: N818 - named by what the server did
    """The API server did not carry out a request on a Secret; `conflict` says that somebody else was faster."""

    def __init__(self, name: str, outcome: Outcome) -> None:
        super().__init__(f"Secret {name}: {outcome.message}")
        self.conflict = outcome.result is Result.CONFLICT
        self.status = outcome.status


class SecretStore:
    """The Secrets of one namespace. Every method raises Unreachable where no whole answer came, and Refused."""

    def __init__(self, session: Session, namespace: str) -> None:
        self._session = session
        self._namespace = namespace

    def now(self) -> datetime:
        """The time by the API server's clock: it is the one that checks certificates."""
        return datetime.now(UTC) - self._session.clock_ahead

    async def get(self, name: str) -> Secret | None:
        """The Secret, None where there is none."""
        response = await self._send("GET", f"/{name}")
        if response.status == 404:
            return None
        return self._stored(name, response)

    async def create(self, name: str, data: Mapping[str, bytes]) -> Secret:
        """A new Secret; Refused with `conflict` where there is one by now."""
        secret = Secret(Metadata(name, self._namespace, labels=_LABELS), dict(data))
        return self._stored(name, await self._send("POST", "", msgspec.json.encode(secret)))

    async def replace(self, secret: Secret) -> Secret:
        """The Secret as given, if it is still the one that was read; else Refused with `conflict`."""
        name = secret.metadata.name
        return self._stored(name, await self._send("PUT", f"/{name}", msgspec.json.encode(secret)))

    async def annotate(self, name: str, annotations: Mapping[str, str | None]) -> Secret:
        """Set annotations, and remove those given as None."""
        body = msgspec.json.encode({"metadata": {"annotations": dict(annotations)}})
        return self._stored(name, await self._send("PATCH", f"/{name}", body, MERGE_PATCH))

    async def _send(
        self, method: str, tail: str, body: bytes | None = None, kind: str = "application/json"
    ) -> Response:
        path = f"/api/v1/namespaces/{self._namespace}/secrets{tail}"
        return await self._session.request(method, path, body=body, content_type=kind, timeout=_SECONDS)

    def _stored(self, name: str, response: Response) -> Secret:
        if not response.ok:
            raise Refused(f"{self._namespace}/{name}", outcome_of(response))
        try:
            return msgspec.json.decode(response.body, type=Secret)
        except msgspec.DecodeError as error:
            raise Refused(f"{self._namespace}/{name}", Outcome(Result.UNKNOWN, str(error), 500)) from error
