from tests.build import Tree, bound, pod, t4_node
from tests.cli.commands import Folder, run
from tests.simulate.scene import workload


def test_pods_of_one_workload_with_one_result_share_a_row(folder: Folder) -> None:
    full = [tree for i in (1, 3, 5) for tree in (t4_node(f"t{i}"), bound(pod(f"old-{i}", "team-b"), f"t{i}"))]
    free = [t4_node(f"t{i}") for i in (0, 2, 4, 6, 7, 8, 9, 10)]
    dump = folder.documents("cluster.yaml", *full, *free)
    ran = run("simulate", "-f", folder.documents("ds.yaml", workload("DaemonSet", "ds")), "--cluster", dump)
    rows = [line for line in ran.out.splitlines() if "daemonset/ds" in line]

    assert len(rows) == 4
    assert "8     placed" in rows[0]
    assert "and 2 more" in ran.out


def test_what_runs_already_is_noted(folder: Folder) -> None:
    def owned(name: str, kind: str, owner: str, phase: str = "Running") -> Tree:
        made = bound(pod(name), "t", phase=phase)
        made["metadata"]["ownerReferences"] = [
            {"apiVersion": "v1", "kind": kind, "name": owner, "uid": owner, "controller": True}
        ]
        return made

    standing = [
        owned("train-x", "Job", "train"),
        owned("web-1-x", "ReplicaSet", "web-1"),
        owned("old-x", "Job", "old", phase="Succeeded"),
        bound(pod("p"), "t"),
    ]
    asked = [workload("Job", "train"), workload("Deployment", "web"), workload("Job", "old"), pod("p"), pod("q")]
    ran = run(
        "simulate",
        "--cluster",
        folder.documents("c.yaml", t4_node("t", gpus=8), *standing),
        "-f",
        folder.documents("m.yaml", *asked),
    )

    already = "job team-a/train, deployment team-a/web, pod team-a/p"
    beside = "what is simulated is as many pods beside those that are there"
    assert ran.notes == [f"in the cluster already: {already}: {beside}"]
