from tests.build import bound, pod, t4_node
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
