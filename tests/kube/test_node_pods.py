"""The pods of one node as the API server has them."""

from typing import Any

import msgspec
import pytest

from gpusched.kube.errors import Response, Unreachable
from gpusched.kube.node_pods import pods_on
from tests.build import bound, pod

pytestmark = pytest.mark.anyio


class OneAnswer:
    """A session that gives one answer and remembers what it was asked."""

    def __init__(self, answer: Response | None) -> None:
        self.answer = answer
        self.asked: list[tuple[str, str, dict[str, str]]] = []

    async def request(self, method: str, path: str, *, query: dict[str, str], **_: float) -> Response:
        self.asked.append((method, path, query))
        if self.answer is None:
            raise Unreachable(method, path, "connection refused", sent=False)
        return self.answer


def listed(*items: Any) -> Response:
    return Response(200, msgspec.json.encode({"metadata": {"resourceVersion": "7"}, "items": items or None}))


async def test_unfinished_pods_of_the_node_are_asked_for() -> None:
    session: Any = OneAnswer(listed(bound(pod("a", gpus=None), "n1"), bound(pod("b"), "n1")))
    found = await pods_on(session, "n1")
    assert found is not None
    assert [(one.name, one.spec.node_name) for one in found] == [("a", "n1"), ("b", "n1")]
    assert session.asked == [
        (
            "GET",
            "/api/v1/pods",
            {
                "fieldSelector": "spec.nodeName=n1,status.phase!=Succeeded,status.phase!=Failed",
                "resourceVersion": "0",
            },
        )
    ]


async def test_an_empty_node() -> None:
    session: Any = OneAnswer(listed())
    assert await pods_on(session, "n1") == ()


@pytest.mark.parametrize("answer", [None, Response(403, b"{}"), Response(200, b"no json")])
async def test_what_cannot_be_read_is_unknown(answer: Response | None) -> None:
    session: Any = OneAnswer(answer)
    assert await pods_on(session, "n1") is None
