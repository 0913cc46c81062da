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
        "NAMESPACE  WHAT    USED  QUOTA  LEFT  MODE\n"
        "team-a     hopper  2     2      0     enforced\n"
        "team-a     *       2     4      2     enforced\n"
        "team-b     *       0     1      1     enforced\n"
        "\n"
        "NAMESPACE  PLACE  WAITS      FOR               CLAIM\n"
        "team-a     1      pod/waits  2 nvidia.com/gpu  -\n"
    )


def test_what_is_chosen(folder: Folder) -> None:
    dump = folder.documents("c.yaml", *CLUSTER)

    assert run("quota", "--cluster", dump, "-o", "name").out == "namespace/team-a\nnamespace/team-b\n"
    assert run("quota", "--cluster", dump, "-o", "name", "-n", "team-b").out == "namespace/team-b\n"
    assert run("quota", "--cluster", dump, "-o", "name", "-l", "tier=gold").out == "namespace/team-a\n"


def test_more_than_the_quota_is_a_problem(folder: Folder) -> None:
    ran = run("quota", "--cluster", folder.documents("c.yaml", *CLUSTER, bound(pod("b"), "h")))

    assert ran.code == 1
    assert "over by 1" in ran.out


def test_no_quota(folder: Folder) -> None:
    ran = run("quota", "--cluster", folder.documents("c.yaml", h100_node("h")))

    assert (ran.code, ran.out) == (0, "no namespace has a quota, and no pod holds a GPU\n")
