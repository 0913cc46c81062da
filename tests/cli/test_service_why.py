import pytest

from tests.cli.api import Api
from tests.cli.commands import Ran, run

WHY = "/api/v1/why"
PENDING = {
    "namespace": "team-a",
    "name": "p",
    "state": "pending",
    "demand": "1 nvidia.com/gpu",
    "node": "",
    "reasons": [{"code": "family", "message": "team-a allows hopper", "nodes": 2, "example": "t4-1"}],
    "suggestion": "Ask an admin",
    "nearest": "t4-1",
    "nearest_lacks": "team-a allows hopper",
    "line": "",
    "history": "",
    "notes": [],
}


@pytest.fixture
def api():
    with Api() as server:
        server.forbid("/api/v1/nodes", "/api/v1/pods", "/api/v1/namespaces")
        yield server


@pytest.fixture
def why(api, tmp_path):
    def asked(*arguments: str, server: bool = True) -> Ran:
        kubeconfig = api.kubeconfig(tmp_path, "team-a")
        return run("why", *arguments, "--kubeconfig", kubeconfig, *(["--server", api.url] if server else []))

    return asked


def test_a_pod_that_waits(api, why):
    api.answers[WHY] = 200, {"why": PENDING, "notes": ["CPU is not counted"]}
    ran = why("p")

    assert (ran.code, ran.errors) == (1, [])
    assert ran.out.splitlines() == [
        "pod team-a/p  PENDING  1 nvidia.com/gpu",
        "    2 nodes  family  team-a allows hopper (such as t4-1)",
        "Nearest  t4-1: team-a allows hopper",
        "Change   Ask an admin",
        "Note     CPU is not counted",
    ]
    assert api.requests[-1] == (WHY, {"namespace": "team-a", "name": "p"})


@pytest.mark.parametrize(
    ("state", "fields", "code", "head"),
    [
        ("placed", {"node": "t4-1"}, 0, "ON NODE t4-1"),
        ("gated", {"line": "place 1 in the line"}, 1, "GATED quota"),
        ("gated", {}, 1, "GATED other"),
        ("finished", {}, 1, "FINISHED"),
    ],
)
def test_other_states(api, why, state, fields, code, head):
    told = PENDING | {"state": state, "reasons": [], "suggestion": "", "nearest": ""} | fields
    api.answers[WHY] = 200, {"why": told}
    ran = why("team-b/p")

    assert ran.code == code
    assert head in ran.out.splitlines()[0]
    assert api.requests[-1][1]["namespace"] == "team-b"


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ((403, {"error": "You may not list pods in namespace team-a."}), "You may not list pods in namespace team-a."),
        ((502, b"<html>"), "HTTP 502"),
    ],
)
def test_a_service_that_does_not_answer(api, why, answer, said):
    api.answers[WHY] = answer
    ran = why("p")

    assert (ran.code, ran.out) == (3, "")
    assert ran.errors == [f"gpusched does not answer at {api.url}{WHY}: {said}"]


def test_something_else_that_answers(api, why):
    api.answers[WHY] = 200, b"<html>hello</html>"
    ran = why("p")

    assert (ran.code, len(ran.errors)) == (3, 1)
    assert ran.errors[0].startswith(f"{api.url} is no gpusched of this version: ")


def test_no_way_to_the_service(why):
    assert (
        why("p", server=False).errors[0].endswith("; with --server the service answers about pods of your namespaces")
    )


@pytest.fixture
def nowhere(monkeypatch, tmp_path):
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "nowhere"))


@pytest.mark.usefixtures("nowhere")
def test_a_token_is_enough_without_a_kubeconfig(api, monkeypatch):
    monkeypatch.setenv("GPUSCHED_TOKEN", "secret")
    api.answers[WHY] = 200, {"why": PENDING}
    ran = run("why", "team-a/p", "--server", api.url)

    assert (ran.code, ran.errors) == (1, [])
    assert ran.out.startswith("pod team-a/p  PENDING")
    assert [(path, query, api.tokens[-1]) for path, query in api.requests] == [
        (WHY, {"namespace": "team-a", "name": "p"}, "Bearer secret")
    ]


def test_a_token_is_enough_where_that_of_the_kubeconfig_has_expired(api, why, monkeypatch):
    api.answers["/api/v1/nodes"] = 401, {"kind": "Status", "message": "Unauthorized"}
    api.answers[WHY] = 200, {"why": PENDING}
    assert why("p").errors[0].startswith("the API server does not accept the credentials of the kubeconfig")

    monkeypatch.setenv("GPUSCHED_TOKEN", "secret")
    assert (why("p").code, api.tokens[-1]) == (1, "Bearer secret")


@pytest.mark.usefixtures("nowhere")
def test_without_kubeconfig_and_token_the_error_says_what_to_give(api):
    api.answers[WHY] = 401, {"error": "Who are you?"}
    ran = run("why", "p", "--server", api.url)

    assert (ran.code, ran.out, api.tokens) == (3, "", [None])
    (error,) = ran.errors
    assert error.removeprefix(f"gpusched at {api.url}{WHY} ") == (
        "wants a token: set GPUSCHED_TOKEN to one, such as `kubectl create token NAME` prints"
    )


@pytest.mark.usefixtures("nowhere")
def test_without_kubeconfig_and_server_the_error_names_both_ways(tmp_path):
    assert run("why", "p").errors == [
        f"kubeconfig {tmp_path}/nowhere does not exist: name one with --kubeconfig, or a dump with --cluster"
    ]


def test_workloads_are_not_asked_about(why):
    assert why("deploy/web").errors[0].endswith("the service answers about pods, not workloads: name a pod")


def test_without_a_name_there_is_nothing_to_ask(why):
    ran = why()

    assert ran.code == 3
    assert ran.errors[0].startswith("this needs the verb list on nodes")
