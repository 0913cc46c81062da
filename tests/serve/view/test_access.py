"""Who may read what on the administration port."""

from collections.abc import Iterable, Mapping

import pytest

from gpusched.serve.view.access import EVERYTHING, Access, Caller, Denied, Identity, ReviewError, Right, Scope
from tests.serve.view.scene import Clock

pytestmark = pytest.mark.anyio

ANNA = Identity("anna", groups=("team-a",))
NODES, PODS = Right("list", "nodes"), Right("list", "pods")


class FakeReviews:
    def __init__(self, *allowed: Right) -> None:
        self.rights = set(allowed)
        self.tokens = {"good": ANNA}
        self.asked: list[object] = []
        self.silent = False

    async def identify(self, token: str) -> Identity | None:
        self.asked.append(token)
        if self.silent:
            raise ReviewError("TokenReview: timed out")
        return self.tokens.get(token)

    async def allowed(self, identity: Identity, rights: Iterable[Right]) -> Mapping[Right, bool]:
        wanted = list(rights)
        self.asked += wanted
        return {right: identity == ANNA and right in self.rights for right in wanted}


def access(reviews: FakeReviews, clock: Clock | None = None, *, open_: bool = False) -> Access:
    return Access(reviews, lambda: ["team-b", "team-a"], clock or Clock(), open_=open_)


def caller(token: str = "", peer: str = "10.0.0.7", host: str = "gpusched:8080") -> Caller:
    return Caller(peer=peer, host=host, token=token)


@pytest.mark.parametrize(
    ("rights", "expected"),
    [
        ((NODES, PODS), EVERYTHING),
        ((PODS,), Scope(everywhere=True)),
        ((NODES,), Scope(nodes=True)),
        ((Right("list", "pods", "team-a"),), Scope(namespaces=frozenset({"team-a"}))),
        ((NODES, Right("list", "pods", "team-b")), Scope(nodes=True, namespaces=frozenset({"team-b"}))),
        ((Right("get", "pods"), Right("list", "secrets")), Scope()),
    ],
)
async def test_a_caller_sees_what_he_may_list(rights: tuple[Right, ...], expected: Scope) -> None:
    assert await access(FakeReviews(*rights)).scope(caller("good")) == expected


async def test_the_namespace_that_a_caller_asks_about_is_among_those_that_he_may_read() -> None:
    """It may have workloads without a single pod, of which nothing is known yet."""
    reviews = FakeReviews(Right("list", "pods", "new"))
    asked = access(reviews)

    assert await asked.scope(caller("good"), "new") == Scope(namespaces=frozenset({"new"}))
    assert await asked.scope(caller("good"), "other") == Scope()


async def test_a_scope_sees_its_namespaces() -> None:
    scope = Scope(namespaces=frozenset({"team-a"}))

    assert [scope.sees(name) for name in ("team-a", "team-b", "")] == [True, False, False]
    assert EVERYTHING.sees("anything")


@pytest.mark.parametrize("token", ["", "bad", "x" * 20_000])
async def test_others_are_told_what_to_send(token: str) -> None:
    denied = await access(FakeReviews(NODES, PODS)).scope(caller(token))

    assert isinstance(denied, Denied)
    assert (denied.status, "Authorization: Bearer TOKEN" in denied.message) == (401, True)


@pytest.mark.parametrize(
    ("peer", "host", "local"),
    [
        ("127.0.0.1", "localhost:8080", True),
        ("127.0.0.1", "127.0.0.1:40321", True),
        ("127.0.0.1", "localhost", True),
        ("::1", "[::1]:8080", True),
        ("::1", "[::1]", True),
        ("127.0.0.1", "evil.example:8080", False),
        ("127.0.0.1", "", False),
        ("10.0.0.7", "localhost:8080", False),
        ("", "localhost:8080", False),
    ],
)
async def test_open_access_is_for_this_machine_under_its_own_name(peer: str, host: str, local: bool) -> None:
    found = await access(FakeReviews(), open_=True).scope(caller(peer=peer, host=host))

    assert (found == EVERYTHING) is local
    assert isinstance(await access(FakeReviews()).scope(caller(peer=peer, host=host)), Denied)


async def test_a_token_counts_where_none_is_needed() -> None:
    found = await access(FakeReviews(NODES), open_=True).scope(caller("good", "127.0.0.1", "localhost"))

    assert found == Scope(nodes=True)


async def test_answers_are_believed_for_a_moment() -> None:
    reviews, clock = FakeReviews(NODES, PODS), Clock()
    gate = access(reviews, clock)
    assert await gate.scope(caller("good")) == EVERYTHING
    asked = len(reviews.asked)

    reviews.rights.clear()
    clock.now += 29
    assert await gate.scope(caller("good")) == EVERYTHING
    assert len(reviews.asked) == asked

    clock.now += 2
    assert await gate.scope(caller("good")) == Scope()


async def test_a_bad_token_is_not_asked_about_again_at_once() -> None:
    reviews, clock = FakeReviews(NODES, PODS), Clock()
    gate = access(reviews, clock)
    for _ in range(3):
        await gate.scope(caller("late"))
    assert reviews.asked == ["late"]

    reviews.tokens["late"] = ANNA
    clock.now += 6
    assert await gate.scope(caller("late")) == EVERYTHING


async def test_a_silent_api_server_opens_nothing() -> None:
    reviews = FakeReviews(NODES, PODS)
    reviews.silent = True

    denied = await access(reviews).scope(caller("good"))

    assert denied == Denied(503, "The API server did not say what you may read: TokenReview: timed out. Try again.")
