from tests.build import bound, h100_node, namespace, pod
from tests.cli.commands import Folder, run

GATED = pod("waits", gpus=2, schedulingGates=[{"name": "gpusched.io/quota"}])
CLUSTER = [
    h100_node("h"),
    namespace(quota="hopper=2, *=4", labels={"tier": "gold"}),
    namespace("team-b", quota="*=1"),
    bound(pod("a", gpus=2), "h"),
    GATED,
]


def test_the_table(folder: Folder) -> None:
    ran = run("quota", "--cluster", folder.documents("c.yaml", *CLUSTER))

    assert (ran.code, ran.err) == (0, "")
    assert ran.out == (
        "NAMESPACE  WHAT    USED  PENDING  QUOTA  LEFT  MODE\n"
        "team-a     hopper  2     0        2      0     enforced\n"
        "team-a     *       2     0        4      2     enforced\n"
        "team-b     *       0     0        1      1     enforced\n"
        "\n"
        "NAMESPACE  PLACE  WAITS      FOR               CLAIM\n"
        "team-a     1      pod/waits  2 nvidia.com/gpu  -\n"
    )


def test_what_is_chosen(folder: Folder) -> None:
    dump = folder.documents("c.yaml", *CLUSTER)

    assert run("quota", "--cluster", dump, "-o", "name").out == "namespace/team-a\nnamespace/team-b\n"
    assert run("quota", "--cluster", dump, "-o", "name", "-n", "team-b").out == "namespace/team-b\n"
    assert run("quota", "--cluster", dump, "-o", "name", "-l", "tier=gold").out == "namespace/team-a\n"
    assert run("quota", "--cluster", dump, "-o", "name", "-n", "team-b", "-A").out.count("\n") == 2
    assert run("quota", "--cluster", dump, "-l", "tier=tin").out == (
        "no quota, and no pod that holds a GPU, in what was chosen\n"
    )


def test_more_than_the_quota_is_a_problem(folder: Folder) -> None:
    ran = run("quota", "--cluster", folder.documents("c.yaml", *CLUSTER, bound(pod("b"), "h")))

    assert ran.code == 1
    assert "over by 1" in ran.out


def test_pods_that_wait_without_the_gate_use_nothing_yet(folder: Folder) -> None:
    ran = run("quota", "--cluster", folder.documents("c.yaml", *CLUSTER, pod("late", "team-b", gpus=3)))

    assert ran.code == 0
    assert ran.out.splitlines()[3].split() == ["team-b", "*", "0", "3", "1", "0", "enforced"]


def test_no_quota(folder: Folder) -> None:
    ran = run("quota", "--cluster", folder.documents("c.yaml", h100_node("h")))

    assert (ran.code, ran.out) == (0, "no namespace has a quota, and no pod holds a GPU\n")
