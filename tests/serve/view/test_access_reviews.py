"""TokenReview and SubjectAccessReview as they go to the API server and come back."""

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from gpusched.kube.errors import Response, Unreachable
from gpusched.serve.view.access import Identity, ReviewError, Right
from gpusched.serve.view.access_reviews import ApiReviews

pytestmark = pytest.mark.anyio


class Session:
    def __init__(self, *answers: object) -> None:
        self.answers = list(answers)
        self.sent: list[tuple[str, Any]] = []

    async def request(self, method: str, path: str, *, body: bytes, **_: object) -> Response:
        self.sent.append((f"{method} {path}", msgspec.json.decode(body)))
        await asyncio.sleep(0)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer if isinstance(answer, Response) else Response(201, msgspec.json.encode({"status": answer}))


def reviews(*answers: object) -> tuple[ApiReviews, Session]:
    session = Session(*answers)
    return ApiReviews(session), session


async def test_a_token_becomes_a_user() -> None:
    user = {"username": "anna", "uid": "7", "groups": ["a", "b"], "extra": {"scopes": ["x"]}}
    asked, session = reviews({"authenticated": True, "user": user})

    assert await asked.identify("t") == Identity("anna", "7", ("a", "b"), (("scopes", ("x",)),))
    assert session.sent == [
        (
            "POST /apis/authentication.k8s.io/v1/tokenreviews",
            {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": "t"}},
        )
    ]


@pytest.mark.parametrize("status", [{}, {"authenticated": False, "error": "expired"}, {"authenticated": True}])
async def test_a_token_of_nobody(status: object) -> None:
    assert await reviews(status)[0].identify("t") is None


async def test_rights_are_asked_for_the_user_himself() -> None:
    asked, session = reviews({"allowed": True}, {"allowed": False}, {"allowed": True, "denied": True})
    rights = [Right("list", "nodes"), Right("list", "pods"), Right("list", "pods", "team-a")]

    answer = await asked.allowed(Identity("anna", groups=("g",), extra=(("k", ("v",)),)), rights)

    assert answer == dict(zip(rights, (True, False, False), strict=True))
    assert session.sent[2] == (
        "POST /apis/authorization.k8s.io/v1/subjectaccessreviews",
        {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SubjectAccessReview",
            "spec": {
                "user": "anna",
                "uid": "",
                "groups": ["g"],
                "extra": {"k": ["v"]},
                "resourceAttributes": {"verb": "list", "resource": "pods", "namespace": "team-a"},
            },
        },
    )


def test_gpusched_may_ask() -> None:
    path = Path(__file__).parents[3] / "manifests" / "base" / "rbac.yaml"
    roles = [tree for tree in yaml.safe_load_all(path.read_text()) if tree["kind"] == "ClusterRole"]
    (own,) = [tree["rules"] for tree in roles if tree["metadata"]["name"] == "gpusched"]
    (viewer,) = [tree["rules"] for tree in roles if tree["metadata"]["name"] == "gpusched-viewer"]

    assert {"apiGroups": ["authentication.k8s.io"], "resources": ["tokenreviews"], "verbs": ["create"]} in own
    assert {"apiGroups": ["authorization.k8s.io"], "resources": ["subjectaccessreviews"], "verbs": ["create"]} in own
    assert viewer == [{"apiGroups": [""], "resources": ["nodes", "pods"], "verbs": ["list"]}]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (Response(403, b'{"kind":"Status","message":"forbidden"}'), "TokenReview: forbidden"),
        (Response(201, b"<html>"), "TokenReview: the answer cannot be read"),
        (Unreachable("POST", "/x", "timed out", sent=True), "TokenReview: timed out"),
    ],
)
async def test_no_answer_is_an_error(answer: object, reason: str) -> None:
    with pytest.raises(ReviewError) as caught:
        await reviews(answer)[0].identify("t")
    assert str(caught.value).startswith(reason)


async def test_the_first_review_without_an_answer_ends_the_others() -> None:
    asked, session = reviews(*[Unreachable("POST", "/", "gone", sent=True)] * 100)

    with pytest.raises(ReviewError, match="SubjectAccessReview: gone"):
        await asked.allowed(Identity("anna"), [Right("list", "pods", f"ns-{number}") for number in range(100)])

    sent = len(session.sent)
    await asyncio.sleep(0)
    assert len(session.sent) == sent < 100
