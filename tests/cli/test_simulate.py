import msgspec
import pytest
import yaml

from gpusched.cli.text_width import width_of
from tests.build import Tree, bound, h100_node, namespace, pod, t4_node
from tests.cli.commands import Folder, Ran, run
from tests.simulate.scene import cpu_node, cpu_pod, workload

CLUSTER = [t4_node("t4", gpus=2, replicas=4), h100_node("h100"), namespace("team-a", families="hopper", quota="*=2")]


def simulate(folder: Folder, cluster: list[Tree], *trees: Tree, options: tuple[str, ...] = ("-o", "json")) -> Ran:
    dump, files = folder.documents("cluster.yaml", *cluster), folder.documents("pods.yaml", *trees)
    return run("simulate", "-f", files, "--cluster", dump, *options)


def test_a_pod_without_gpus_is_placed_without_resources(folder: Folder) -> None:
    ran = simulate(folder, [cpu_node()], cpu_pod("c"))

    assert ran.json["pods"][0]["placement"] == {"node": "cpu", "resources": {}, "score": 0}


def test_each_pod_counts_once(folder: Folder) -> None:
    ran = simulate(
        folder,
        [*CLUSTER, namespace("other")],
        workload("Deployment", "placed-and-gated", replicas=4),
        workload("Deployment", "refused", replicas=2, template=pod(gpus="500m")),
        pod("unschedulable", "other", gpus=99),
        pod("held", "other", schedulingGates=[{"name": "example.com/x"}]),
        workload("DaemonSet", "nowhere", template=cpu_pod(nodeSelector={"a": "b"})),
    )

    assert ran.code == 1
    assert ran.json["summary"] == {"pods": 8, "placed": 2, "denied": 2, "unschedulable": 1, "gated": 3}
    for view in ran.json["pods"]:
        states = [not view["admission"]["allowed"], view["placement"], view["unschedulable"], view["gated"]]
        assert sum(bool(state) for state in states) == 1, view["name"]
    assert ran.notes == ["DaemonSet team-a/nowhere: no node matches it, so it has no pods"]


def test_a_gated_pod_has_neither_placement_nor_reasons(folder: Folder) -> None:
    ran = simulate(folder, CLUSTER, pod("p", gpus=2), pod("q"))
    view = ran.json["pods"][1]

    assert (view["gated"], view["placement"], view["unschedulable"]) == ("quota", None, None)


def test_documents_are_counted_without_empty_ones(folder: Folder) -> None:
    text = "---\n# nothing\n---\n" + "\n---\n---\n".join(
        f"{{apiVersion: v1, kind: Pod, metadata: {{name: {name}}}, spec: {{containers: [{{name: c}}]}}}}"
        for name in "ab"
    )
    ran = run("simulate", "-f", "-", "--cluster", folder.documents("c.yaml", cpu_node()), "-o", "json", stdin=text)

    assert [view["source"] for view in ran.json["pods"]] == ["-:1", "-:2"]
    assert [view["namespace"] for view in ran.json["pods"]] == ["default", "default"]


def test_options_may_be_repeated_and_take_directories(folder: Folder) -> None:
    first = folder.documents("pods/b.yaml", pod("b"))
    folder.documents("pods/a.yaml", pod("a"))
    dumps = [folder.documents("n.yaml", h100_node()), folder.documents("ns.yaml", namespace("team-a"))]
    arguments = ["-f", folder.documents("z.yaml", pod("z")), "-f", folder.path / "pods"]
    ran = run("simulate", *arguments, "--cluster", dumps[0], "--cluster", dumps[1], "-o", "json")

    assert [view["name"] for view in ran.json["pods"]] == ["z", "a", "b"]
    assert ran.json["pods"][2]["source"] == f"{first}:1"


def test_a_refused_namespace_is_exit_code_1(folder: Folder) -> None:
    ran = simulate(folder, [t4_node()], namespace("team-b", families="hoper"))

    assert (ran.code, ran.errors) == (1, [])
    (view,) = ran.json["namespaces"]
    assert (view["name"], view["admission"]["allowed"], view["admission"]["code"]) == (
        "team-b",
        False,
        "policy-malformed",
    )


def test_pods_of_a_refused_namespace_are_judged_by_the_standing_one(folder: Folder) -> None:
    broken = namespace("team-a", families="hoper")
    ran = simulate(folder, CLUSTER, broken, pod("p"))
    assert ran.json["pods"][0]["placement"]["node"] == "h100"
    assert ran.code == 1

    ran = simulate(folder, CLUSTER[:2], broken, pod("p"))
    assert ran.json["pods"][0]["admission"]["code"] == "policy-malformed"


def test_skipped_kinds_are_a_line_and_no_error(folder: Folder) -> None:
    service: Tree = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}}
    ran = simulate(folder, [cpu_node(), service], service, service, cpu_pod("c"), cpu_node())

    assert (ran.code, ran.json["errors"]) == (0, [])
    assert ran.notes == ["-f: skipped: 2 Service, 1 Node (belongs to --cluster)", "--cluster: skipped: 1 Service"]


def test_a_kind_that_asks_for_gpus_but_is_not_known_is_pointed_out(folder: Folder) -> None:
    unknown: Tree = {
        "apiVersion": "example.com/v1",
        "kind": "Trainer",
        "metadata": {"name": "t", "namespace": "team-a"},
        "spec": {"worker": {"resources": {"limits": {"nvidia.com/gpu": 1}}}},
    }
    ran = simulate(folder, [t4_node()], unknown)

    assert (ran.code, ran.json["errors"]) == (0, [])
    assert ran.notes[0] == (
        "-f: Trainer team-a/t asks for GPUs in spec.worker, but its kind is not known: it is not judged "
        f"({folder.path}/pods.yaml, document 1)"
    )


def test_the_configuration_counts(folder: Folder) -> None:
    config = folder.write(
        "gpusched.yaml",
        "apiVersion: gpusched.io/v1alpha1\nkind: Config\ndefaultPolicy: {mode: enforce, families: hopper}\n",
    )
    ran = simulate(folder, [t4_node()], pod("p", "team-b"), options=("--config", config, "-o", "json"))

    assert [reason["code"] for reason in ran.json["pods"][0]["unschedulable"]["reasons"]] == ["family"]


def test_yaml_says_the_same_as_json(folder: Folder) -> None:
    as_json = simulate(folder, CLUSTER, pod("p", gpus=2), pod("q"))
    as_yaml = simulate(folder, CLUSTER, pod("p", gpus=2), pod("q"), options=("-o", "yaml"))

    assert yaml.safe_load(as_yaml.out) == as_json.json
    assert as_yaml.code == as_json.code == 1


@pytest.mark.parametrize("arguments", [[], ["--cluster", "x"]])
def test_manifests_are_needed(arguments: list[str]) -> None:
    ran = run("simulate", *arguments)

    assert ran.code == 2
    assert "name manifests with -f" in ran.err


def test_the_table(folder: Folder) -> None:
    ran = simulate(
        folder,
        [*CLUSTER, bound(pod("old", "other", annotations={"gpusched.io/gpu-memory": "3Gi"}), "t4")],
        workload("Deployment", "web", replicas=2),
        pod("late"),
        pod("half", gpus="500m"),
        options=("--explain",),
    )

    assert ran.code == 1
    # The sentences of admission are tested with it.
    lines = ran.out.splitlines()
    assert lines[0].split() == ["NAMESPACE", "WORKLOAD", "PODS", "RESULT", "WHERE", "AND", "WHY"]
    assert lines[1].startswith("team-a     deployment/web  2     placed   h100 ×2; added ")
    assert any(line == "team-a     pod/late        1     gated    waits for the namespace's quota" for line in lines)
    assert any(line.startswith("team-a     pod/half        1     refused  gpu-quantity: ") for line in lines)
    assert any(line.startswith("  refused  gpu-quantity: ") for line in lines)
    assert any(line.split()[:4] == ["t4", "t4", "time-slicing×4", "1/8"] for line in lines)
    assert lines[-1] == "4 pods: 2 placed, 1 refused, 0 unschedulable, 1 gated"


def test_nothing_is_wider_than_a_page(folder: Folder) -> None:
    long = "a-name-that-is-as-long-as-names-of-kubernetes-may-well-be-in-real-clusters-of-large-firms"
    ran = simulate(
        folder,
        [*CLUSTER, t4_node(f"{long}-node", taints=[{"key": f"example.com/{long}", "effect": "NoSchedule"}])],
        namespace(long, min_gpu_memory="20"),
        workload("StatefulSet", long, replicas=3, template=pod(nodeSelector={long: long})),
        pod(long, long, gpus="500m"),
        pod("p", "team-b", annotations={"gpusched.io/products": ", ".join(["a100", "h100", "l40s"] * 9)}, gpus=99),
        options=("--explain",),
    )

    assert [line for line in ran.out.splitlines() if width_of(line) > 100] == []


def test_no_pods_at_all(folder: Folder) -> None:
    ran = simulate(folder, [t4_node()], namespace("team-b"), options=())

    assert (ran.code, ran.out) == (
        0,
        "no pods in the manifests\n\n0 pods: 0 placed, 0 refused, 0 unschedulable, 0 gated\n",
    )


def test_control_characters_never_reach_the_terminal(folder: Folder) -> None:
    tree = pod("p\x1b[31m", annotations={"gpusched.io/families": "hop\x1b[2Jper"})
    dump = folder.documents("c.yaml", t4_node())
    text = folder.write("p.json", msgspec.json.encode(tree))
    ran = run("simulate", "-f", text, "--cluster", dump, "--explain")

    assert "\x1b" not in ran.out + ran.err


def test_a_pod_that_the_quota_never_takes_is_told_so(folder: Folder) -> None:
    tree = workload("CronJob", "big", template=pod(gpus=3), schedule="* * * * *")
    never = "it asks for 3 GPUs of a quota of *=2 in namespace team-a and never goes: ask for 2 or less"
    view = simulate(folder, CLUSTER, tree).json["pods"][0]
    table = simulate(folder, CLUSTER, tree, options=())

    assert (view["gated"], view["notes"]) == ("quota", [never])
    assert never in " ".join(table.out.replace("cronjob/big", "").split())
