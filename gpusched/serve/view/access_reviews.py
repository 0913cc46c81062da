"""Asks the API server who a token belongs to and what he may do: TokenReview and SubjectAccessReview."""

import asyncio
from collections.abc import Iterable, Mapping
from typing import Final, TypeVar

import msgspec

from gpusched.kube.errors import Unreachable
from gpusched.kube.session import Session
from gpusched.serve.view.access import Identity, ReviewError, Right

_TOKEN_REVIEWS: Final = "/apis/authentication.k8s.io/v1/tokenreviews"  # noqa: S105 - a path
_ACCESS_REVIEWS: Final = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
_SECONDS: Final = 5.0
#: Reviews on their way at a time, whoever asks: the port must not be a way to flood the API server.
_AT_ONCE: Final = 8


class _User(msgspec.Struct):
    username: str = ""
    uid: str = ""
    groups: tuple[str, ...] | None = None
    extra: dict[str, tuple[str, ...]] | None = None


class _TokenStatus(msgspec.Struct):
    authenticated: bool = False
    user: _User = msgspec.field(default_factory=_User)


class _TokenReview(msgspec.Struct):
    status: _TokenStatus = msgspec.field(default_factory=_TokenStatus)


class _AccessStatus(msgspec.Struct):
    allowed: bool = False
    denied: bool = False


class _AccessReview(msgspec.Struct):
    status: _AccessStatus = msgspec.field(default_factory=_AccessStatus)


_Answer = TypeVar("_Answer", _TokenReview, _AccessReview)


class ApiReviews:
    """The reviews over one session, under gpusched's own identity."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._turns = asyncio.Semaphore(_AT_ONCE)

    async def identify(self, token: str) -> Identity | None:
        """TokenReview for the API server's own audience. Raises ReviewError."""
        spec = {"token": token}
        answer = await self._ask(_TOKEN_REVIEWS, "authentication.k8s.io/v1", "TokenReview", spec, _TokenReview)
        status = answer.status
        if not status.authenticated or not status.user.username:
            return None
        user = status.user
        return Identity(
            username=user.username,
            uid=user.uid,
            groups=user.groups or (),
            extra=tuple(sorted((user.extra or {}).items())),
        )

    async def allowed(self, identity: Identity, rights: Iterable[Right]) -> Mapping[Right, bool]:
        """One SubjectAccessReview a right; the first that is not answered ends the others. Raises ReviewError."""
        asked: dict[Right, asyncio.Task[bool]] = {}
        try:
            async with asyncio.TaskGroup() as tasks:
                for right in rights:
                    asked[right] = tasks.create_task(self._one(identity, right))
        except* ReviewError as errors:
            raise errors.exceptions[0] from None
        return {right: task.result() for right, task in asked.items()}

    async def _one(self, identity: Identity, right: Right) -> bool:
        spec = {
            "user": identity.username,
            "uid": identity.uid,
            "groups": identity.groups,
            "extra": dict(identity.extra),
            "resourceAttributes": {"verb": right.verb, "resource": right.resource, "namespace": right.namespace},
        }
        kind = "SubjectAccessReview"
        answer = await self._ask(_ACCESS_REVIEWS, "authorization.k8s.io/v1", kind, spec, _AccessReview)
        return answer.status.allowed and not answer.status.denied

    async def _ask(self, path: str, version: str, kind: str, spec: object, of: type[_Answer]) -> _Answer:
        body = msgspec.json.encode({"apiVersion": version, "kind": kind, "spec": spec})
        try:
            async with self._turns:
                response = await self._session.request("POST", path, body=body, timeout=_SECONDS)
            if not response.ok:
                raise ReviewError(f"{kind}: {response.message}")
            return msgspec.json.decode(response.body, type=of)
        except Unreachable as error:
            raise ReviewError(f"{kind}: {error.reason}") from error
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise ReviewError(f"{kind}: the answer cannot be read: {error}") from error
