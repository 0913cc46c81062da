import subprocess
import sys

import msgspec
import pytest

from gpusched.cli.access import Access, Forbidden, Unavailable, Wanted
from gpusched.cli.live import read_cluster
from tests.build import bound, container, h100_node, namespace, pod, t4_node
from tests.cli.api import CONFIG_MAP, Api, config_map
from tests.cli.commands import Ran, run

CLUSTER = [t4_node("t", gpus=2, replicas=4), h100_node("h"), namespace(), bound(pod("p"), "h"), pod("q", gpus=9)]
CONFIG = "apiVersion: gpusched.io/v1alpha1\nkind: Config\n"


@pytest.fixture
def api():
    with Api(*CLUSTER) as server:
        server.answers[CONFIG_MAP] = 200, config_map(CONFIG)
        yield server


@pytest.fixture
def ask(api, tmp_path):
    def asked(*arguments: str, namespace: str | None = None) -> Ran:
        return run(*arguments, "--kubeconfig", api.kubeconfig(tmp_path, namespace))

    return asked


def read(api, tmp_path):
    return read_cluster(Access(kubeconfig=api.kubeconfig(tmp_path)), Wanted(), lambda _done, _total: None)


def test_a_live_cluster_is_read_as_its_dump_is(api, ask, tmp_path):
    dump = tmp_path / "dump.json"
    dump.write_bytes(msgspec.json.encode({"kind": "List", "apiVersion": "v1", "items": CLUSTER}))
    for command in (["nodes"], ["nodes", "--by", "namespace"], ["quota"], ["report"]):
        live, offline = ask(*command, "-o", "json"), run(*command, "--cluster", dump, "-o", "json")

        assert live.json == offline.json
        assert (live.code, live.errors, live.notes) == (offline.code, offline.errors, offline.notes)


def test_pages_are_put_together(api, tmp_path):
    api.page = 2
    api.put(*(pod(f"x{index}") for index in range(5)))

    names = [item.name for item in read(api, tmp_path).documents if item.kind == "Pod"]
    assert names == ["p", "q", "x0", "x1", "x2", "x3", "x4"]
    assert [query.get("continue") for path, query in api.requests if path == "/api/v1/pods"] == [None, "2", "4", "6"]


def test_a_list_whose_pages_expire_is_begun_anew(api, tmp_path):
    api.page = 1
    answers, calls = api.answer, []

    def expiring(path, query):
        calls.append(path)
        if path == "/api/v1/pods" and query.get("continue") and calls.count(path) == 2:
            return 410, {"kind": "Status", "message": "too old"}
        return answers(path, query)

    api.answer = expiring
    assert [item.name for item in read(api, tmp_path).documents if item.kind == "Pod"] == ["p", "q"]


def test_what_objects_look_like(api, tmp_path):
    api.lists["/api/v1/pods"][0]["metadata"]["managedFields"] = [{"manager": "kubectl"}]
    found = {item.name: item for item in read(api, tmp_path).documents}

    assert (found["t"].kind, found["t"].api_version, found["t"].namespace) == ("Node", "v1", "")
    assert found["p"].where == "Pod team-a/p"
    assert found["p"].tree["kind"] == "Pod"
    assert "managedFields" not in found["p"].tree["metadata"]


def test_what_is_not_served_is_left_out_without_a_word(ask):
    assert ask("nodes").notes == []


def test_older_versions_of_resource_slices(api, tmp_path):
    slices = "/apis/resource.k8s.io/v1beta1/resourceslices"
    api.lists[slices] = [{"metadata": {"name": "s"}, "spec": {}}]

    assert [item.api_version for item in read(api, tmp_path).documents if item.name == "s"] == [
        "resource.k8s.io/v1beta1"
    ]


def test_optional_kinds_that_may_not_be_listed_are_noted(api, ask):
    api.forbid("/apis/node.k8s.io/v1/runtimeclasses")
    ran = ask("nodes")

    assert (ran.code, ran.errors) == (0, [])
    told = 'User "dev" cannot list resource "runtimeclasses"'
    assert ran.notes == [f"runtimeclasses are left out, since the verb list on them is missing: {told}"]


@pytest.mark.parametrize("resource", ["nodes", "pods"])
def test_nodes_and_pods_are_needed(api, ask, tmp_path, resource):
    api.forbid(f"/api/v1/{resource}")
    ran = ask("nodes")

    assert (ran.code, ran.out) == (3, "")
    assert ran.errors == [
        f'this needs the verb list on {resource} in all namespaces: User "dev" cannot list resource "{resource}"'
    ]
    with pytest.raises(Forbidden):
        read(api, tmp_path)


def test_a_server_that_is_not_there(api, tmp_path):
    kubeconfig = api.kubeconfig(tmp_path)
    with Api() as other:
        kubeconfig = other.kubeconfig(tmp_path)
    for command in (["nodes"], ["why", "p"], ["report"], ["quota"], ["doctor"]):
        ran = run(*command, "--kubeconfig", kubeconfig)

        assert (ran.code, ran.out, len(ran.errors)) == (3, "", 1)
        assert ran.errors[0].startswith("the API server cannot be reached: ")


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ((500, {"kind": "Status", "message": "etcd is away"}), "/api/v1/nodes: etcd is away"),
        ((200, b"<html>hello</html>"), "/api/v1/nodes is no list"),
        ((401, {"kind": "Status", "message": "Unauthorized"}), "does not accept the credentials .* log in again"),
    ],
)
def test_answers_that_are_none(api, tmp_path, answer, said):
    api.answers["/api/v1/nodes"] = answer
    with pytest.raises(Unavailable, match=said):
        read(api, tmp_path)


def test_a_context_that_is_not_there(ask):
    ran = ask("nodes", "--context", "elsewhere")

    assert ran.code == 3
    assert len(ran.errors) == 1
    assert "elsewhere" in ran.errors[0]


def test_the_configuration_of_the_cluster_holds(api, ask):
    api.answers[CONFIG_MAP] = 200, config_map(CONFIG + "ceiling: {max-gpus-per-pod: 4, mode: enforce}\n")
    assert [item["code"] for item in ask("report", "-o", "json").json["violations"]] == ["gpu-policy-max-gpus"]


def test_a_configuration_of_the_user_goes_before(api, ask, tmp_path):
    api.answers[CONFIG_MAP] = 200, config_map(CONFIG + "ceiling: {max-gpus-per-pod: 4, mode: enforce}\n")
    own = tmp_path / "own.yaml"
    own.write_text(CONFIG)

    assert "gpu-policy-max-gpus" not in ask("report", "--config", str(own)).out


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (404, "no ConfigMap gpusched-system/gpusched: the default"),
        (403, "ConfigMap gpusched-system/gpusched cannot be read"),
    ],
)
def test_a_configuration_that_cannot_be_read(api, ask, tmp_path, status, said):
    api.answers[CONFIG_MAP] = status, {"kind": "Status", "message": "no"}
    own = tmp_path / "own.yaml"
    own.write_text(CONFIG)

    assert [note[: len(said)] for note in ask("nodes").notes] == [said]
    assert ask("nodes", "--config", str(own)).notes == []


def test_errors_in_the_configuration_are_notes(api, ask):
    api.answers[CONFIG_MAP] = 200, config_map(CONFIG + "colour: red\n")
    ran = ask("nodes")

    assert (ran.code, ran.errors) == (0, [])
    assert ran.notes[0].startswith("configmap/gpusched-system/gpusched: colour: ")


@pytest.mark.parametrize(
    ("arguments", "context", "code", "found"),
    [
        (["p"], None, 2, ""),
        (["p"], "team-b", 0, "team-b"),
        (["p", "-n", "team-a"], "team-b", 0, "team-a"),
        (["team-a/p"], "team-b", 0, "team-a"),
        (["pod/p"], "team-b", 0, "team-b"),
        (["p", "-n", "team-c"], None, 2, ""),
    ],
)
def test_the_namespace_of_a_name(api, ask, arguments, context, code, found):
    api.put(bound(pod("p", "team-b"), "h"), namespace("team-c"))
    ran = ask("why", *arguments, "-o", "json", namespace=context)

    assert ran.code == code
    assert (ran.json["namespace"] if found else "") == found
    if code == 2 and "team-c" in arguments:
        assert "no pod or workload p in namespace team-c in the cluster; there is team-a/p" in ran.err
    elif code == 2:
        assert ran.errors == ["2 objects have the name p: write -n team-a pod/p, or -n team-b pod/p"]


def test_why_without_a_name_is_about_gpu_pods_that_wait(api, ask):
    misspelt = pod("slip", "team-b", container(resources={"limits": {"nvidia.com/gpus": "1"}}))
    api.put(pod("cpu", gpus=None), pod("r", "team-b"), misspelt)

    assert ask("why", "-o", "name", namespace="team-a").out == "pod/q\n"
    assert ask("why", "-A", "-o", "name").out == "pod/q\npod/r\npod/slip\n"
    assert ask("why", "-o", "name").out == "pod/q\npod/r\npod/slip\n"


def test_where_nothing_waits(api, ask):
    api.put(namespace("empty"))
    ran = ask("why", "-n", "empty")

    assert (ran.code, ran.out) == (0, "no GPU pod waits in namespace empty (-A looks in all)\n")
    assert not ran.notes


@pytest.mark.parametrize(
    "command",
    [["why"], ["why", "p"], ["nodes", "--by", "namespace"], ["quota"], ["report"], ["doctor"], ["top", "--once"]],
)
def test_a_namespace_that_is_not_there(ask, command):
    ran = ask(*command, "-n", "team-aa")

    assert (ran.code, ran.out) == (2, "")
    assert ran.errors == ["there is no namespace team-aa; did you mean team-a?"]


def test_manifests_on_a_live_cluster(ask, tmp_path):
    path = tmp_path / "p.json"
    path.write_bytes(msgspec.json.encode(pod("new", gpus=7)))

    assert ask("why", "-f", str(path), "-o", "json").json["placement"]["node"] == "h"


def test_nodes_by_label(ask):
    assert ask("nodes", "-l", "kubernetes.io/hostname=h", "-o", "name").out == "node/h\n"


def test_manifests_without_a_namespace_go_where_kubectl_would_put_them(api, ask, tmp_path):
    api.put(namespace("team-b", families="hopper"))
    tree = pod("new")
    del tree["metadata"]["namespace"]
    path = tmp_path / "p.json"
    path.write_bytes(msgspec.json.encode(tree))

    def simulated(*arguments: str, context: str | None = None) -> list[tuple[str, str]]:
        views = ask("simulate", "-f", str(path), "-o", "json", *arguments, namespace=context).json["pods"]
        return [(view["namespace"], view["placement"]["node"]) for view in views]

    assert simulated() == [("default", "t")]
    assert simulated(context="team-b") == [("team-b", "h")]
    assert simulated("-n", "team-b", context="team-a") == [("team-b", "h")]


def test_offline_commands_load_no_client():
    code = (
        "import sys, gpusched.cli.main;"
        "print([name for name in ('aiohttp', 'kubernetes', 'cryptography', 'fastapi', 'ssl') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout == "[]\n"


def _claiming(api):
    """A pod that waits for a claim of a class that is not there, on a cluster without any."""
    volumes = [{"name": "d", "persistentVolumeClaim": {"claimName": "data"}}]
    said = "0/2 nodes are available: pod has unbound immediate PersistentVolumeClaims."
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": said}
    api.put(pod("w", volumes=volumes) | {"status": {"conditions": [condition]}})
    named = {"metadata": {"name": "data", "namespace": "team-a"}, "spec": {"storageClassName": "fast"}}
    api.put({"kind": "PersistentVolumeClaim", **named})


def test_why_names_the_claim_and_its_class(api, ask):
    _claiming(api)
    (reason,) = ask("why", "team-a/w", "-o", "json").json["unschedulable"]["reasons"]

    assert (
        reason["message"]
        == "PersistentVolumeClaim data is not bound: StorageClass fast, which it names, does not exist"
    )


def test_why_says_less_without_a_word_where_claims_may_not_be_listed(api, ask):
    _claiming(api)
    api.forbid("/api/v1/persistentvolumeclaims", "/apis/storage.k8s.io/v1/storageclasses")
    ran = ask("why", "team-a/w", "-o", "json")
    (reason,) = ran.json["unschedulable"]["reasons"]

    assert (reason["message"], ran.notes) == ("PersistentVolumeClaim data is not bound to a volume yet", [])
