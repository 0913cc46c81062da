import pytest

from tests.cli.api import Api
from tests.cli.commands import Ran, run

WHY = "/api/v1/why"
PODS = "/api/v1/pods"
WORKLOADS = "/api/v1/workloads"
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
        server.answers[WORKLOADS] = 200, {"workloads": []}
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
        ("finished", {"phase": "Succeeded"}, 1, "FINISHED (Succeeded)"),
        (
            "no-pods",
            {"notes": ["it makes no pods: replicas 0"]},
            0,
            "NO PODS  1 nvidia.com/gpu\n  it makes no pods: rep",
        ),
        ("placed", {"node": "t4-1", "owner": "Job/train"}, 0, "pod team-a/p of Job/train  ON NODE t4-1"),
    ],
)
def test_other_states(api, why, state, fields, code, head):
    told = PENDING | {"state": state, "reasons": [], "suggestion": "", "nearest": ""} | fields
    api.answers[WHY] = 200, {"why": told}
    ran = why("team-b/p")

    assert ran.code == code
    assert head in ran.out
    assert api.requests[-1][1]["namespace"] == "team-b"


def test_a_namespace_with_the_name_of_a_kind(api, why):
    """Of kinds that are not Kubernetes' own the namespace is likelier; what is not there may be the other."""
    api.answers[WHY] = 200, {"why": PENDING}
    assert why("notebooks/big").code == 1
    assert api.requests[-1] == (WHY, {"namespace": "notebooks", "name": "big"})

    api.answers[WHY] = 404, {"error": "There is no job team-a/p with GPUs."}
    ran = why("jobs/p")
    assert (ran.code, "There is no job team-a/p" in ran.err) == (2, True)
    asked = [query for path, query in api.requests if path == WHY][-2:]
    assert asked == [{"namespace": "team-a", "name": "p", "kind": "job"}, {"namespace": "jobs", "name": "p"}]


@pytest.mark.parametrize(
    ("answer", "code", "said"),
    [
        ((403, {"error": "You may not list pods in x."}), 3, "gpusched at {url} refuses: You may not list pods in x."),
        ((401, {"error": "No such token."}), 3, "gpusched at {url} refuses: No such token."),
        ((404, {"error": "There is no GPU pod x/p."}), 2, "gpusched at {url}: There is no GPU pod x/p."),
        ((503, {"error": "Try again."}), 3, "gpusched at {url} cannot answer: Try again."),
        ((502, b"<html>"), 3, "gpusched does not answer at {url}/api/v1/why: HTTP 502"),
    ],
)
def test_a_service_that_does_not_answer(api, why, answer, code, said):
    api.answers[WHY] = answer
    ran = why("p")

    assert (ran.code, ran.out) == (code, "")
    assert ran.errors == [said.format(url=api.url)]


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
    assert error.removeprefix(f"gpusched at {api.url} ") == (
        "wants a token: set GPUSCHED_TOKEN to one, such as `kubectl create token NAME` prints"
    )


@pytest.mark.usefixtures("nowhere")
def test_without_kubeconfig_and_server_the_error_names_both_ways(tmp_path):
    assert run("why", "p").errors == [
        f"kubeconfig {tmp_path}/nowhere does not exist: name one with --kubeconfig, or a dump with --cluster"
    ]


REFUSED = PENDING | {
    "name": "web-1",
    "owner": "Deployment/web",
    "state": "refused",
    "reasons": [],
    "nearest": "",
    "lacks": "1 of 2 pods run, 1 refused: ResourceQuota gpus is used up",
    "suggestion": "Let an admin raise it",
    "notes": ["1 of 2 pods run", "its controller could not create pods: exceeded quota"],
}


@pytest.mark.parametrize(
    ("name", "query"),
    [
        ("deploy/web", {"kind": "deployment", "namespace": "team-a", "name": "web"}),
        ("jobs/web", {"kind": "job", "namespace": "team-a", "name": "web"}),
        ("pod/web", {"kind": "pod", "namespace": "team-a", "name": "web"}),
        ("lab/web", {"namespace": "lab", "name": "web"}),
    ],
)
def test_a_workload_whose_pods_are_refused(api, why, name, query):
    api.answers[WHY] = 200, {"why": REFUSED}
    ran = why(name)

    assert (ran.code, ran.errors) == (1, [])
    assert ran.out.splitlines() == [
        "deployment team-a/web  REFUSED  1 nvidia.com/gpu",
        "  1 of 2 pods run, 1 refused: ResourceQuota gpus is used up",
        "Change   Let an admin raise it",
        "Note     its controller could not create pods: exceeded quota",
    ]
    assert api.requests[-1] == (WHY, query)


def test_what_gpusched_would_say_of_a_pod_that_is_not_there(api, why):
    warning = {"code": "gpu-no-node", "message": "no present node"}
    admission = {"allowed": False, "code": "gpu-policy-family", "message": "m", "warnings": [warning], "patch": []}
    api.answers[WHY] = 200, {"why": REFUSED | {"suggestion": "", "admission": admission}}
    ran = why("deploy/web", "-o", "json")

    assert ran.json["admission"] == admission
    assert (ran.json["state"], ran.code) == ("refused", 1)


def test_workloads_come_before_pods_that_wait(api, why):
    api.answers[WORKLOADS] = 200, {"workloads": [REFUSED], "notes": ["events were not listed"]}
    api.answers[PODS] = 200, {"total": 1, "pods": [waiting("a", why=PENDING | {"name": "a"})], "seen": "all"}
    ran = why()

    heads = [line.partition("  ")[0] for line in ran.out.splitlines() if "team-a/" in line]
    assert heads == ["deployment team-a/web", "pod team-a/a"]
    assert "events were not listed" in ran.err


def waiting(name, **known):
    pod = {"namespace": "lab", "name": name, "owner": "", "state": "pending", "created": "2026-01-01T00:00:00Z"}
    return pod | {"resources": {}, "claim_mib": None, "priority": 0, "gates": [], "why": None} | known


@pytest.mark.parametrize(
    ("options", "query"), [((), {"namespace": "team-a"}), (("-n", "lab"), {"namespace": "lab"}), (("-A",), {})]
)
def test_without_a_name_all_that_wait(api, why, options, query):
    told = PENDING | {"namespace": "lab", "name": "a"}
    pods = [waiting("a", why=told), waiting("b")]
    api.answers[PODS] = 200, {"total": 3, "pods": pods, "seen": "some"}
    api.answers[WHY] = 200, {"why": PENDING | {"namespace": "lab", "name": "b", "suggestion": "Wait"}}
    ran = why(*options)

    assert ran.code == 1
    heads = [line.split()[:3] for line in ran.out.splitlines() if line.startswith("pod ")]
    assert heads == [["pod", "lab/a", "PENDING"], ["pod", "lab/b", "PENDING"]]
    assert api.requests[-3:] == [
        (PODS, query),
        (WORKLOADS, query),
        (WHY, {"namespace": "lab", "name": "b", "kind": "pod"}),
    ]
    assert "1 more wait: -n NAMESPACE lists those of one" in ran.err
    assert ("only pods of the namespaces that you may see" in ran.err) == (options == ("-A",))


def test_nothing_waits(api, why):
    api.answers[PODS] = 200, {"total": 0, "pods": [], "seen": "some"}
    ran = why("-n", "lab")

    assert (ran.code, ran.out) == (0, "no GPU pod waits in namespace lab (-A looks in all)\n")


def test_no_rights_at_all(api, why):
    api.answers[PODS] = 200, {"total": 0, "pods": [], "seen": "none"}
    ran = why("-A")

    assert (ran.code, ran.out) == (3, "")
    assert ran.errors[0].startswith("You may list pods in no namespace that uses GPUs.")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("-f", "x.yaml"), "leave --server out to have manifests (-f) judged"),
        (("--cluster", "x.yaml"), "or by a dump (--cluster)"),
        (("-l", "a=b"), "--server knows no labels of pods: leave --selector out"),
    ],
)
def test_what_the_service_cannot_do(why, options, said):
    ran = why(*options)

    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err


def test_a_name_in_all_namespaces(api, why):
    api.answers[WHY] = 200, {"why": PENDING, "notes": []}
    twice = [waiting("p"), waiting("p") | {"namespace": "team-b"}]
    api.answers[PODS] = 200, {"total": 2, "pods": twice, "seen": "all"}
    ran = why("p", "-A")
    assert (ran.code, ran.out) == (2, "")
    assert ran.errors == ["2 objects have the name p: write -n lab pod/p, or -n team-b pod/p"]

    api.answers[PODS] = 200, {"total": 1, "pods": twice[1:], "seen": "all"}
    assert why("p", "-A").code == 1
    assert api.requests[-1] == (WHY, {"namespace": "team-b", "name": "p"})
