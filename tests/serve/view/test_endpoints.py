"""The page and its JSON over HTTP."""

import asyncio
from collections.abc import Iterable, Mapping

import msgspec
import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from gpusched.obs.inventory import Inventory
from gpusched.obs.metrics import Metrics
from gpusched.serve.admin_app import Readiness, create_app
from gpusched.serve.view.access import EVERYTHING, Access, Identity, Right, Scope
from gpusched.serve.view.endpoints import Endpoints
from gpusched.serve.view.events import EventStreams
from tests.build import t4_node
from tests.serve.view.scene import Scene

PATHS = ("nodes", "pods", "workloads", "refusals", "quota", "why?namespace=team-a&name=nb", "events")


class Reviews:
    """Tokens are names of users; each may do what stands beside his name."""

    rights: Mapping[str, tuple[Right, ...]] = {
        "admin": (Right("list", "nodes"), Right("list", "pods")),
        "anna": (Right("list", "pods", "team-a"),),
    }

    async def identify(self, token: str) -> Identity | None:
        return Identity(token) if token in self.rights else None

    async def allowed(self, identity: Identity, rights: Iterable[Right]) -> Mapping[Right, bool]:
        return {right: right in self.rights[identity.username] for right in rights}


def app(scene: Scene, *, open_: bool = False, ending: bool = False) -> FastAPI:
    access = Access(Reviews(), scene.view.namespaces, scene.clock, open_=open_)
    streams = EventStreams(scene.view, lambda: ending, scene.clock)
    endpoints = Endpoints(scene.view, access, streams)
    return create_app(Readiness(lambda: None, list), Metrics(), Inventory(scene.cluster), endpoints)


def client(scene: Scene, user: str = "", **options: bool) -> TestClient:
    headers = {"Authorization": f"Bearer {user}"} if user else {}
    return TestClient(app(scene, **options), headers=headers)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("user", ["", "nobody"])
def test_nothing_without_a_token(path: str, user: str) -> None:
    answer = client(Scene(), user).get(f"/api/v1/{path}")

    assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
    assert "Authorization: Bearer TOKEN" in answer.json()["error"]
    assert "team-a" not in answer.text


@pytest.mark.parametrize("path", ["/", "/page/app.js", "/page/style.css", "/page/icon.svg", "/healthz", "/metrics"])
def test_what_says_nothing_of_pods_needs_no_token(path: str) -> None:
    assert client(Scene()).get(path).status_code == 200


def test_the_page_lets_nothing_else_in() -> None:
    answer = client(Scene()).get("/")

    policy = answer.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'")
    assert "unsafe" not in policy
    for forbidden in ("<script>", "style=", " onclick", "http://", "https://", 'src="/', 'href="/'):
        assert forbidden not in answer.text
    again = client(Scene()).get("/", headers={"If-None-Match": answer.headers["etag"]})
    assert (again.status_code, again.text) == (304, "")


def test_an_administrator_sees_everything() -> None:
    scene = Scene()
    scene.wait("big", "team-b", gpus=9)
    admin = client(scene, "admin")

    assert [node["name"] for node in admin.get("/api/v1/nodes").json()["nodes"]] == ["h100", "t4"]
    assert [pod["name"] for pod in admin.get("/api/v1/pods").json()["pods"]] == ["big"]
    why = admin.get("/api/v1/why", params={"namespace": "team-b", "name": "big"}).json()["why"]
    assert (why["state"], why["demand"]) == ("pending", "9 nvidia.com/gpu")
    assert admin.get("/api/v1/nodes").headers["cache-control"] == "no-store"


def test_a_user_of_one_namespace_sees_that_alone() -> None:
    scene = Scene()
    scene.wait("mine", "team-a", gpus=9)
    scene.wait("theirs", "team-b", gpus=9)
    anna = client(scene, "anna")

    refused = anna.get("/api/v1/nodes")
    assert (refused.status_code, "You may not list nodes" in refused.json()["error"]) == (403, True)
    assert [pod["name"] for pod in anna.get("/api/v1/pods").json()["pods"]] == ["mine"]
    theirs = anna.get("/api/v1/why", params={"namespace": "team-b", "name": "theirs"})
    assert (theirs.status_code, theirs.json()) == (403, {"error": "You may not list pods in namespace team-b."})
    others = anna.get("/api/v1/pods", params={"namespace": "team-b"})
    assert (others.status_code, others.json()) == (403, {"error": "You may not list pods in namespace team-b."})
    absent = anna.get("/api/v1/why", params={"namespace": "team-a", "name": "nosuch"})
    assert (absent.status_code, absent.json()) == (
        404,
        {"error": "There is no pod or workload team-a/nosuch with GPUs, or it has ended."},
    )
    assert anna.get("/api/v1/why").status_code == 400


def test_changes_are_asked_for_by_generation() -> None:
    scene = Scene()
    admin = client(scene, "admin")
    first = admin.get("/api/v1/nodes").json()
    scene.hold("nb-2", "team-a", "t4")

    query = {"since": first["generation"], "instance": first["instance"]}
    assert [node["name"] for node in admin.get("/api/v1/nodes", params=query).json()["nodes"]] == ["t4"]
    assert admin.get("/api/v1/nodes", params={"since": "x"}).json()["complete"]


def test_large_answers_are_packed_for_those_who_take_it() -> None:
    scene = Scene()
    for number in range(400):
        scene.node(t4_node(f"t4-{number}"))
    admin = client(scene, "admin")

    packed = admin.get("/api/v1/nodes", headers={"Accept-Encoding": "gzip"})
    plain = admin.get("/api/v1/nodes", headers={"Accept-Encoding": "identity"})
    assert packed.headers["content-encoding"] == "gzip"
    assert "content-encoding" not in plain.headers
    assert packed.json()["nodes"] == plain.json()["nodes"]
    assert int(packed.headers["content-length"]) < len(plain.content) / 10


def test_metrics_have_the_inventory() -> None:
    text = client(Scene()).get("/metrics").text

    assert 'gpusched_pool_slots{node="t4",resource="nvidia.com/gpu",family="turing",' in text
    assert "# TYPE gpusched_leader gauge" in text


def test_a_stream_ends_with_the_service() -> None:
    answer = client(Scene(), "admin", ending=True).get("/api/v1/events")

    assert answer.headers["content-type"].startswith("text/event-stream")
    event, data = answer.text.split("\n\n")[1].split("\n")
    assert event == "event: change"
    assert msgspec.json.decode(data.removeprefix("data: "))["nodes"] == []


async def _events(scene: Scene, scope: Scope, changes: int) -> list[dict[str, object]]:
    found: list[dict[str, object]] = []
    stream = EventStreams(scene.view, lambda: False, scene.clock).stream(scope, "anna")
    async for chunk in stream:
        data = chunk.decode().split("data: ")[1].strip()
        found.append(msgspec.json.decode(data))
        if len(found) > changes:
            break
        scene.hold(f"pod-{len(found)}", "team-a", "t4")
    await stream.aclose()
    return found


@pytest.mark.parametrize(("scope", "names"), [(EVERYTHING, ["t4"]), (Scope(everywhere=True), [])])
def test_a_stream_names_changed_nodes_to_those_who_may_list_them(scope: Scope, names: list[str]) -> None:
    scene = Scene()

    first, second = asyncio.run(_events(scene, scope, 1))

    assert (first["nodes"], second["nodes"]) == ([], names)
    assert second["generation"] == scene.cluster.generation
    assert second["instance"] == scene.view.instance


async def _asked(scene: Scene, users: Iterable[str]) -> list[tuple[str, int]]:
    """How many streams each user gets, one after the other, and what is said to the next that he asks for."""
    streams = EventStreams(scene.view, lambda: False, scene.clock)
    given: list[tuple[str, int]] = []
    opened = []
    for user in users:
        number = 0
        while streams.denied(user) is None:
            number += 1
            opened.append(streams.stream(EVERYTHING, user))
            assert await anext(opened[-1])
        denied = streams.denied(user)
        assert denied is not None
        given.append((f"{number} {denied.message[:8]}", denied.status))
    for stream in opened:
        await stream.aclose()
    assert streams.denied("anna") is None
    return given


def test_no_user_takes_all_the_streams() -> None:
    given = asyncio.run(_asked(Scene(), ("anna", "bert", "carl", "dora", "eve")))

    full = [("16 You have", 429)] * 4
    assert given == [*full, ("0 Too many", 503)]


def test_streams_that_are_asked_for_at_once_share_too() -> None:
    async def begun() -> int:
        streams = EventStreams((scene := Scene()).view, lambda: False, scene.clock)
        opened = [streams.stream(EVERYTHING, "anna") for _ in range(20)]
        firsts = [await anext(stream, None) for stream in opened]
        for stream in opened:
            await stream.aclose()
        return sum(first is not None for first in firsts)

    assert asyncio.run(begun()) == 16


def test_a_user_with_too_many_pages_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpusched.serve.view.events._SHARE", 0)
    answer = client(Scene(), "anna").get("/api/v1/events")

    assert (answer.status_code, answer.json()) == (
        429,
        {"error": "You have 0 pages open on this replica, no user gets more: ask for /api/v1/nodes now and then."},
    )


def test_a_number_of_thousands_of_digits_is_no_generation() -> None:
    answer = client(Scene(), "admin").get(f"/api/v1/nodes?since={'9' * 5_000}")

    assert (answer.status_code, answer.json()["complete"]) == (200, True)


def test_a_fault_is_told_to_the_log_and_not_to_the_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    scene = Scene()
    failed: list[str] = []
    access = Access(Reviews(), scene.view.namespaces, scene.clock, open_=False)
    endpoints = Endpoints(scene.view, access, EventStreams(scene.view, lambda: True, scene.clock), failed.append)
    served = create_app(Readiness(lambda: None, list), Metrics(), Inventory(scene.cluster), endpoints)
    monkeypatch.setattr(scene.view, "refusals", lambda _scope: 1 / 0)

    answer = TestClient(served, headers={"Authorization": "Bearer admin"}).get("/api/v1/refusals")

    assert (answer.status_code, answer.json()) == (500, {"error": "gpusched failed to answer; its log says why."})
    assert failed == ["/api/v1/refusals"]
