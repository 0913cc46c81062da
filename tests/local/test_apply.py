import pytest

from gpusched.local.api import Response
from gpusched.local.apply import Applier, flatten, title
from gpusched.local.errors import ApiError
from tests.build import namespace, pod

RESOURCES = {
    "/api/v1": [
        {"name": "pods", "kind": "Pod", "namespaced": True},
        {"name": "pods/eviction", "kind": "Eviction", "namespaced": True},
        {"name": "namespaces", "kind": "Namespace", "namespaced": False},
    ],
    "/apis/apiextensions.k8s.io/v1": [
        {"name": "customresourcedefinitions", "kind": "CustomResourceDefinition", "namespaced": False}
    ],
}
DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.example.com"},
}


class Server:
    """Answers discovery, stores what is applied, and refuses what is called `bad`."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, str]] = []
        self.reads = 0

    def request(self, method, path, body=None, **_more):
        if method == "GET" and path in RESOURCES:
            self.calls.append((method, path))
            return Response(200, {"resources": RESOURCES[path]})
        if method == "GET":
            self.reads += 1
            established = "True" if self.reads > 1 else "False"
            return Response(200, {"status": {"conditions": [{"type": "Established", "status": established}]}})
        self.calls.append((method, path))
        if body["metadata"].get("name") == "bad":
            return Response(422, {"message": "invalid"})
        return Response(201, body)


@pytest.fixture
def server():
    return Server()


def test_objects_are_applied_in_their_order_and_discovered_once(server):
    Applier(server).apply([namespace("team-a"), pod("a"), {"kind": "List", "items": [pod("b")]}])

    assert server.calls == [
        ("GET", "/api/v1"),
        ("PATCH", "/api/v1/namespaces/team-a"),
        ("PATCH", "/api/v1/namespaces/team-a/pods/a"),
        ("PATCH", "/api/v1/namespaces/team-a/pods/b"),
    ]


def test_object_without_a_name_is_created(server):
    tree = pod("a")
    tree["metadata"] = {"generateName": "a-"}

    Applier(server).apply([tree])

    assert server.calls[-1] == ("POST", "/api/v1/namespaces/default/pods")


def test_all_refusals_are_told_and_the_rest_is_applied(server):
    with pytest.raises(ApiError) as caught:
        Applier(server).apply([pod("bad"), pod("good"), pod("bad", "team-b")])

    assert caught.value.message == "Pod team-a/bad: invalid\nPod team-b/bad: invalid"
    assert ("PATCH", "/api/v1/namespaces/team-a/pods/good") in server.calls


def test_unknown_kind_is_told(server):
    with pytest.raises(ApiError, match="the server has no Eviction in v1"):
        Applier(server).apply([{"apiVersion": "v1", "kind": "Eviction", "metadata": {"name": "x"}}])


def test_definition_is_waited_for(server):
    Applier(server).apply([DEFINITION])

    assert server.reads == 2


def test_create_is_a_plain_post_whose_refusal_is_an_answer(server):
    assert Applier(server).create(pod("bad")) == Response(422, {"message": "invalid"})


def test_lists_are_taken_apart_however_deep():
    inner = {"kind": "PodList", "items": [pod("b")]}

    names = [tree["metadata"]["name"] for tree in flatten([pod("a"), {"kind": "List", "items": [inner, pod("c")]}])]

    assert names == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("tree", "expected"),
    [
        (pod("a"), "Pod team-a/a"),
        (namespace("n"), "Namespace n"),
        ({"kind": "Pod", "metadata": {"generateName": "a-"}}, "Pod a-"),
        ({"kind": "Pod"}, "Pod ?"),
    ],
)
def test_titles(tree, expected):
    assert title(tree) == expected
