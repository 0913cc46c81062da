import pytest

from gpusched.cli.text_width import width_of
from tests.build import Tree, bound, h100_node, namespace, pod, t4_node
from tests.cli.commands import Folder, Ran, run
from tests.simulate.scene import owned, workload

SHARED = t4_node("t4", gpus=2, replicas=4)
CLAIM = pod("nb-7", annotations={"gpusched.io/gpu-memory": "6Gi"})


def why(folder: Folder, *name: str, cluster: list[Tree], files: list[Tree] | None = None, form: str = "json") -> Ran:
    arguments = ["--cluster", folder.documents("c.yaml", *cluster), "-o", form]
    if files is not None:
        arguments += ["-f", folder.documents("p.yaml", *files)]
    return run("why", *name, *arguments)


def test_the_answer_is_one_element_of_pods(folder: Folder) -> None:
    ran = why(folder, "nb-7", cluster=[SHARED], files=[pod("other"), CLAIM])
    simulated = run("simulate", "-f", folder.path / "p.yaml", "--cluster", folder.path / "c.yaml", "-o", "json")

    assert ran.code == 1
    told = ran.json
    (reason,) = told["unschedulable"]["reasons"]
    assert reason.pop("example") == "t4"
    nearest = {"node": "t4", "lacks": "3648Mi left for a claim per slot"}
    assert (told.pop("state"), told.pop("nearest")) == ("pending", nearest)
    assert told == simulated.json["pods"][1]
    assert ran.json["unschedulable"]["suggestion"] == "Set gpusched.io/gpu-memory: 3648Mi"


@pytest.mark.parametrize(
    ("name", "code", "found"),
    [
        ("web-0", 0, "web-0"),
        ("team-a/web-0", 0, "web-0"),
        ("pod/web-0", 0, "web-0"),
        ("deploy/web", 1, "web-2"),
        ("Deployment/web", 1, "web-2"),
        ("web", 1, "web-2"),
        ("standing", 0, "standing"),
        ("sts/db", 0, "db-0"),
        ("sts db", 0, "db-0"),
        ("pod standing", 0, "standing"),
        ("pods team-a/standing", 0, "standing"),
    ],
)
def test_names_of_pods_and_workloads(folder: Folder, name: str, code: int, found: str) -> None:
    cluster = [
        h100_node("h", gpus=4),
        bound(pod("standing"), "h"),
        owned(bound(pod("db-0"), "h"), "StatefulSet", "db"),
    ]
    ran = why(folder, *name.split(), cluster=cluster, files=[workload("Deployment", "web", replicas=3)])

    assert (ran.code, ran.json["name"]) == (code, found)


def test_a_pod_of_the_dump_needs_no_manifests(folder: Folder) -> None:
    ran = why(folder, "nb-7", cluster=[SHARED, CLAIM])

    assert ran.code == 1
    assert ran.json["source"] == f"{folder.path}/c.yaml:2"
    assert [reason["code"] for reason in ran.json["unschedulable"]["reasons"]] == ["memory-claim"]


def test_a_refused_pod_is_exit_code_1(folder: Folder) -> None:
    ran = why(folder, "p", cluster=[SHARED], files=[pod("p", gpus="500m")])

    assert (ran.code, ran.json["admission"]["code"], ran.json["placement"]) == (1, "gpu-quantity", None)


def test_without_a_name_every_pod_of_the_manifests_is_explained(folder: Folder) -> None:
    ran = why(folder, cluster=[SHARED], files=[pod("a"), pod("b")])
    assert (ran.code, list(ran.json)) == (0, ["pods", "errors"])
    assert [view["name"] for view in ran.json["pods"]] == ["a", "b"]

    assert why(folder, cluster=[SHARED], files=[pod("a")]).json["name"] == "a"


def test_a_name_that_is_nowhere_is_bad_usage(folder: Folder) -> None:
    ran = why(folder, "nobody", cluster=[SHARED], files=[pod("a")])

    assert (ran.code, ran.out) == (2, "")
    assert "no pod or workload nobody in the manifests or the dump" in ran.err


@pytest.mark.parametrize(
    ("arguments", "code"), [([], 3), (["p"], 3), (["-f", "x"], 3), (["--cluster", "x"], 2), (["-l", "a=b=c"], 2)]
)
def test_what_is_needed(arguments: list[str], code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", "/nowhere/config")

    assert run("why", *arguments).code == code


def test_the_text_of_a_pod_that_waits(folder: Folder) -> None:
    cluster = [SHARED, t4_node("t4-b", gpus=1, replicas=4), h100_node("h"), namespace(families="turing")]
    ran = why(folder, "nb-7", cluster=cluster, files=[CLAIM | {"spec": CLAIM["spec"]}], form="table")

    # On a single GPU the claim may be larger than a slot.
    assert ran.code == 0
    assert ran.out.splitlines()[0] == "pod team-a/nb-7  ON NODE t4-b  1 nvidia.com/gpu, claim 6Gi per slot"

    ran = why(folder, "nb-7", cluster=[cluster[0], *cluster[2:]], files=[CLAIM], form="table")
    assert ran.out.splitlines()[:7] == [
        "pod team-a/nb-7  PENDING  1 nvidia.com/gpu, claim 6Gi per slot",
        "    1 node   memory-claim  3648Mi left for a claim per slot (t4)",
        "    1 node   family        team-a allows turing; here: hopper (h)",
        "Nearest  t4: 3648Mi left for a claim per slot",
        "Scaling  an autoscaler will not help: it sees free slots on t4 and knows nothing of memory claims",
        "Change   Set gpusched.io/gpu-memory: 3648Mi",
        "Added    affinity, env",
    ]


def test_the_text_of_a_gated_pod(folder: Folder) -> None:
    cluster = [h100_node("h"), namespace(families="hopper", quota="*=1")]
    ran = why(folder, "b", cluster=cluster, files=[pod("a"), pod("b")], form="table")

    assert ran.code == 1
    assert ran.out.splitlines()[:2] == [
        "pod team-a/b  GATED quota  1 nvidia.com/gpu",
        "  place 1 in the line of namespace team-a; slots held by a",
    ]


def test_the_text_of_a_refused_pod(folder: Folder) -> None:
    ran = why(folder, "p", cluster=[SHARED], files=[pod("p", gpus="500m")], form="table")
    lines = ran.out.splitlines()

    assert lines[0] == "pod team-a/p  REFUSED"
    assert lines[1].startswith("  gpu-quantity  container main asks nvidia.com/gpu: ")


def test_nothing_is_wider_than_a_page(folder: Folder) -> None:
    long = "a-name-that-is-as-long-as-names-of-kubernetes-may-be"
    tree = pod(long, "team-a", annotations={"gpusched.io/products": ", ".join(["a100", "h100"] * 20)}, gpus=99)
    ran = why(folder, long, cluster=[SHARED, h100_node(long)], files=[tree], form="table")

    assert [line for line in ran.out.splitlines()[1:] if width_of(line) > 100] == []


def test_a_workload_of_the_dump_without_pods(folder: Folder) -> None:
    ran = why(folder, "deploy/web", cluster=[SHARED, workload("Deployment", "web", template=pod(gpus="0.5"))])

    assert (ran.code, ran.json["admission"]["code"]) == (1, "gpu-quantity")


def test_a_finished_pod(folder: Folder) -> None:
    ran = why(folder, "done", cluster=[SHARED, bound(pod("done"), "t4", phase="Succeeded")], form="table")

    assert ran.code == 1
    assert ran.out.startswith("pod team-a/done  FINISHED (Succeeded)")


def test_the_text_of_a_pod_that_the_quota_never_takes(folder: Folder) -> None:
    cluster = [h100_node("h", gpus=4), namespace(families="hopper", quota="*=1")]
    ran = why(folder, "b", cluster=cluster, files=[pod("b", gpus=2)], form="table")

    assert ran.code == 1
    assert ran.out.splitlines()[:2] == [
        "pod team-a/b  GATED quota  2 nvidia.com/gpu",
        "  it asks for 2 GPUs of a quota of *=1 in namespace team-a and never goes: ask for 1 or less",
    ]


def test_what_keeps_a_gated_pod_from_every_node_is_told_once(folder: Folder) -> None:
    tree = pod("b", gpus=2, annotations={"gpusched.io/products": "a100"})
    cluster = [h100_node("h", gpus=4), namespace(quota="*=1")]
    ran = why(folder, "b", cluster=cluster, files=[tree], form="table")

    assert ran.out.count("and never goes") == 1
    assert "besides, no node would take it: pod asks for a100; here: h100" in " ".join(ran.out.split())


def test_nothing_is_said_of_what_could_not_be_read() -> None:
    ran = run("why", "--cluster", "nowhere.yaml")

    assert (ran.code, ran.out, ran.errors) == (2, "", ["nowhere.yaml: no such file or directory"])


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("team-a/nb-O", "no pod or workload team-a/nb-O in the dump; did you mean team-a/nb-0?"),
        ("nb-00", "no pod or workload nb-00 in the dump; did you mean team-a/nb-0?"),
        ("a/b/c", "no pod or workload a/b/c in the dump\n"),
    ],
)
def test_a_name_that_is_almost_right(folder: Folder, name: str, hint: str) -> None:
    dump = folder.documents("c.yaml", SHARED, bound(pod("nb-0"), "t4"))
    ran = run("why", "--cluster", dump, name)

    assert (ran.code, ran.out) == (2, "")
    assert hint in ran.err


def test_a_workload_that_makes_no_pods_is_no_problem(folder: Folder) -> None:
    idle = workload("Deployment", "idle", replicas=0)
    for arguments in ({"cluster": [SHARED, idle]}, {"cluster": [SHARED], "files": [idle]}):
        ran = why(folder, "deploy/idle", form="table", **arguments)

        assert (ran.code, ran.err) == (0, "")
        assert ran.out.splitlines()[0] == "pod team-a/idle-0 of Deployment/idle  NO PODS  1 nvidia.com/gpu"
        assert ran.out.count("makes no pods: replicas 0") == 1

    ran = why(folder, cluster=[SHARED], files=[idle], form="table")
    assert (ran.code, ran.err) == (0, "note: Deployment team-a/idle: makes no pods: replicas 0\n")


def test_pods_that_a_resource_quota_refuses(folder: Folder) -> None:
    amounts = ("requested: ", "2"), ("used: ", "4"), ("limited: ", "4")
    told = ", ".join(f"{what}requests.nvidia.com/gpu={amount}" for what, amount in amounts)
    message = f'pods "w-x" is forbidden: exceeded quota: gpus, {told}'
    tree = workload("Deployment", "w", template=pod(gpus=2), replicas=1)
    tree["status"] = {"conditions": [{"type": "ReplicaFailure", "status": "True", "message": message}]}
    ran = why(folder, "deploy/w", cluster=[h100_node("h"), tree], form="table")

    assert ran.code == 1
    assert "ResourceQuota gpus is used up: 4 of 4 requests.nvidia.com/gpu, 2 requested" in " ".join(ran.out.split())
    assert "Change   Free some of ResourceQuota gpus, or let an admin raise it\n" in ran.out


@pytest.mark.parametrize("words", [("standing", "db-0"), ("pod", "a", "b")])
def test_two_names_are_one_too_many(folder: Folder, words: tuple[str, ...]) -> None:
    ran = why(folder, *words, cluster=[SHARED])

    assert (ran.code, ran.out) == (2, "")
    assert "write one NAME, TYPE/NAME or TYPE NAME" in ran.err


@pytest.mark.parametrize(
    ("tree", "state"),
    [
        (pod("p", gpus="500m"), "refused"),
        (pod("p", gpus=9), "pending"),
        (bound(pod("p"), "t4"), "placed"),
        (bound(pod("p"), "t4", phase="Succeeded"), "finished"),
        (pod("p", schedulingGates=[{"name": "example.com/hold"}]), "gated"),
        (workload("Deployment", "p", replicas=0), "no-pods"),
    ],
)
def test_the_state_for_programs(folder: Folder, tree: Tree, state: str) -> None:
    """One and many have the same keys."""
    one = why(folder, "p", cluster=[SHARED, tree]).json if tree.get("status") or state == "no-pods" else None
    one = one or why(folder, "p", cluster=[SHARED], files=[tree]).json
    many = why(folder, cluster=[SHARED], files=[pod("a"), pod("b")]).json["pods"]

    assert one["state"] == state
    assert all(view.keys() == one.keys() for view in many)


@pytest.mark.parametrize(
    ("name", "cluster", "listed"),
    [
        ("p", [pod("p", "team-a"), pod("p", "team-b")], "-n team-a pod/p, or -n team-b pod/p"),
        ("web", [pod("web"), workload("Deployment", "web")], "-n team-a deployment/web, or -n team-a pod/web"),
        (
            "deploy/web",
            [workload("Deployment", "web"), workload("Deployment", "web", namespace="team-b")],
            "-n team-a deployment/web, or -n team-b deployment/web",
        ),
        (
            "job/j",
            [owned(pod("j-1", space), "Job", "j") for space in ("team-a", "team-b")],
            "-n team-a job/j, or -n team-b job/j",
        ),
    ],
)
def test_a_name_of_several_objects_is_not_guessed(folder: Folder, name: str, cluster: list[Tree], listed: str) -> None:
    ran = why(folder, name, "-A", cluster=[SHARED, *cluster])

    assert (ran.code, ran.out) == (2, "")
    assert ran.errors == [f"2 objects have the name {name}: write {listed}"]
    first = why(folder, *listed.partition(", or ")[0].split(), cluster=[SHARED, *cluster])
    assert first.code in {0, 1}


def test_what_a_workload_of_the_same_name_made_is_not_meant(folder: Folder) -> None:
    inner = owned(workload("Job", "train"), "CronJob", "train")
    ran = why(folder, "train", cluster=[SHARED, inner, workload("CronJob", "train")])

    assert ran.json["owner"] == "CronJob/train"


@pytest.mark.parametrize(
    ("tree", "said"),
    [
        (workload("Deployment", "w", replicas=0), "replicas 0"),
        (workload("Job", "w", suspend=True), "suspended until spec.suspend is false"),
        (workload("Deployment", "w", paused=True), "paused until kubectl rollout resume deployment/w"),
    ],
)
def test_a_workload_that_asks_for_no_pods_says_so_first(folder: Folder, tree: Tree, said: str) -> None:
    ran = why(folder, f"{tree['kind']}/w", cluster=[SHARED, tree], form="table")

    assert (ran.code, "NO PODS" in ran.out.splitlines()[0]) == (0, True)
    assert ran.out.splitlines()[1].startswith(f"  it makes no pods: {said}")
