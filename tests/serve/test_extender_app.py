"""The extender over HTTP: whatever keeps a call from being answered is said in `Error`."""

import time
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import pytest
from starlette.testclient import TestClient

from gpusched.serve.extender_app import ExtenderAnswers, create_app
from gpusched.wire.answers import answer_filter, answer_preempt, answer_prioritize
from tests.build import pod, t4_node
from tests.fakes.http import connected, post, serving
from tests.placement.scene import cluster_of
from webhook.body import Limits
from webhook.edge import Edge

pytestmark = pytest.mark.anyio

VERBS = ("filter", "prioritize", "preempt", "bind")
ARGS = {"Pod": pod(), "Nodes": None, "NodeNames": ["t4", "full"]}
FAILED_FILTER = {"Nodes": None, "NodeNames": None, "FailedNodes": {}, "FailedAndUnresolvableNodes": {}}


async def _bind(_: bytes) -> bytes:
    return b'{"Error":""}'


class Watched:
    def __init__(
        self,
        *,
        bind: Callable[[bytes], Awaitable[bytes]] = _bind,
        filter_: Callable[[bytes], bytes] | None = None,
        standby: bool = False,
        clock: Callable[[], float] = time.monotonic,
        **edge: Any,
    ) -> None:
        cluster = cluster_of(t4_node(), t4_node("full", gpus=0))
        self.records: list[tuple[str, int]] = []
        self.failures: list[str] = []
        answers = ExtenderAnswers(
            filter=filter_ or (lambda body: answer_filter(body, cluster)),
            prioritize=lambda body: answer_prioritize(body, cluster),
            preempt=lambda body: answer_preempt(body, cluster),
            bind=bind,
        )
        told = Edge(
            clock,
            record=lambda path, status, _seconds: self.records.append((path, status)),
            failed=self.failures.append,
            **edge,
        )
        self.app = create_app(answers, told, lambda: standby, Limits(size=1 << 20, seconds=0.2))
        self.client = TestClient(self.app)

    def post(self, verb: str, body: object) -> Any:
        content = body if isinstance(body, bytes) else msgspec.json.encode(body)
        return self.client.post(f"/{verb}", content=content, headers={"content-type": "application/json"})


def test_the_four_verbs() -> None:
    watched = Watched()
    victims = {"Pod": pod(), "NodeNameToMetaVictims": {"t4": {"Pods": [{"UID": "x"}], "NumPDBViolations": 0}}}

    assert watched.post("filter", ARGS).json() == {
        "Nodes": None,
        "NodeNames": ["t4"],
        "FailedNodes": {},
        "FailedAndUnresolvableNodes": {"full": "not enough free GPU slots"},
        "Error": "",
    }
    assert watched.post("prioritize", ARGS | {"NodeNames": ["t4"]}).json() == [{"Host": "t4", "Score": 10}]
    assert watched.post("preempt", victims).json() == {
        "NodeNameToMetaVictims": {"t4": {"Pods": [{"UID": "x"}], "NumPDBViolations": 0}}
    }
    assert watched.post("bind", {}).json() == {"Error": ""}
    assert watched.records == [(f"/{verb}", 200) for verb in VERBS]


REFUSALS = [("filter", FAILED_FILTER), ("prioritize", []), ("preempt", {"NodeNameToMetaVictims": {}}), ("bind", {})]


@pytest.mark.parametrize(("verb", "empty"), REFUSALS)
def test_a_cold_cache_is_said_in_a_200(verb: str, empty: object) -> None:
    answer = Watched(closed=lambda: "cache is 200 s old, the limit is 180 s").post(verb, ARGS)

    error = {"Error": "gpusched: cache is 200 s old, the limit is 180 s"}
    expected = empty | error if isinstance(empty, dict) and verb in {"filter", "bind"} else empty
    assert (answer.status_code, answer.json()) == (200, expected)
    assert "connection" not in answer.headers


def test_who_does_not_lead_also_hangs_up() -> None:
    answer = Watched(closed=lambda: "this replica does not lead", standby=True).post("filter", ARGS)

    assert answer.json()["Error"] == "gpusched: this replica does not lead"
    assert answer.headers["connection"] == "close"


@pytest.mark.parametrize(("verb", "empty"), REFUSALS)
def test_a_fault_of_our_own_is_an_error_too(verb: str, empty: object) -> None:
    def broken(_: bytes) -> bytes:
        raise ZeroDivisionError

    async def broken_bind(_: bytes) -> bytes:
        raise ZeroDivisionError

    watched = Watched(bind=broken_bind, filter_=broken)
    answer = watched.post(verb, ARGS)

    assert answer.status_code == 200
    if verb in {"filter", "bind"}:
        assert answer.json() == {
            **(empty if isinstance(empty, dict) else {}),
            "Error": "gpusched: failed to answer; its log says why",
        }
        assert watched.failures == [f"/{verb}"]


BODIES: list[bytes] = [
    b"",
    b"null",
    b"{}",
    b"[]",
    b"7",
    b"{",
    b"\xff",
    b'{"Pod":null,"Nodes":null,"NodeNames":null}',
    b'{"Pod":{},"Nodes":null,"NodeNames":null}',
    b'{"Pod":[],"NodeNames":["t4"]}',
    b'{"Pod":{},"NodeNames":[null]}',
    b'{"Pod":{},"NodeNames":[1]}',
    b'{"Pod":{},"Nodes":{"items":[null]}}',
    b'{"Pod":{},"Nodes":{"items":null}}',
    b'{"Pod":{"spec":{"containers":[{"resources":7}]}},"NodeNames":["t4"]}',
    b'{"pod":{},"nodenames":["t4"]}',
    b'{"Pod":{"metadata":null,"spec":null},"NodeNames":["t4"]}',
    b"[" * 100_000,
    b'{"Pod":' * 50_000,
]


@pytest.mark.parametrize("body", BODIES, ids=range(len(BODIES)))
@pytest.mark.parametrize("verb", VERBS[:3])
def test_bad_input_is_answered(verb: str, body: bytes) -> None:
    watched = Watched()

    answer = watched.post(verb, body)

    assert (answer.status_code, watched.failures) == (200, [])
    if verb == "filter" and not answer.json()["Error"]:
        # Readable after all: a pod that asks for no GPU gets its nodes back, never an empty list by accident.
        assert answer.json()["NodeNames"] == ["t4"] or answer.json()["Nodes"] == {"items": []}


def test_other_content_types_are_a_415() -> None:
    answer = Watched().client.post("/filter", content=b"{}", headers={"content-type": "text/plain"})

    assert answer.status_code == 415


@pytest.mark.parametrize("path", ["/filter/", "//filter", "/", "/docs"])
def test_other_paths_are_a_404_without_a_redirect(path: str) -> None:
    assert Watched().client.post(path, json={}, follow_redirects=False).status_code == 404


def test_a_body_too_large_is_said_in_error() -> None:
    answer = Watched().post("filter", b"x" * (2 << 20))

    assert answer.status_code == 200
    assert answer.json()["Error"] == (
        "gpusched: the body is larger than 1 MiB; set nodeCacheCapable: true for this extender"
    )


def test_an_answer_that_comes_too_late_is_an_error() -> None:
    times = iter([0.0, 0.1, 0.5, 0.5])

    answer = Watched(clock=lambda: next(times)).post("filter", ARGS)

    assert answer.json() == FAILED_FILTER | {"Error": "gpusched: too busy to answer in time"}


async def test_pipelined_calls_and_a_slow_one() -> None:
    body = msgspec.json.encode(ARGS)
    async with serving(Watched().app) as port, connected(port) as connection:
        await connection.send(post("/filter", body) + post("/bind", b"{}") + post("/filter", body))
        answers = [await connection.response() for _ in range(3)]
        assert [status for status, _, _ in answers] == [200, 200, 200]
        assert answers[0][2] == answers[2][2] != answers[1][2]

        await connection.send(post("/filter", b"{", "Content-Length: 1000"))
        assert (await connection.response())[0] == 408
        assert await connection.ended()
