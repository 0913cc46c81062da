import pytest

from gpusched.cli.text_width import width_of
from tests.build import Tree, bound, h100_node, namespace, pod, t4_node
from tests.cli.commands import Folder, Ran, run

ASKS_TURING = bound(pod("p", annotations={"gpusched.io/families": "turing"}), "t")
CLUSTER = [t4_node("t"), h100_node("h"), namespace(families="turing"), ASKS_TURING]


def report(folder: Folder, cluster: list[Tree], *options: object, form: str = "json") -> Ran:
    return run("report", "--cluster", folder.documents("c.yaml", *cluster), "-o", form, *options)


def test_a_cluster_in_good_order(folder: Folder) -> None:
    ran = report(folder, CLUSTER)
    assert (ran.code, ran.json) == (0, {"violations": [], "counts": [], "errors": [], "judged": 1})

    assert (
        report(folder, CLUSTER, form="table").out
        == "1 object with GPUs judged: the present policy speaks against none\n"
    )


def test_a_proposed_policy(folder: Folder) -> None:
    proposed = folder.documents("new.yaml", namespace(families="hopper"))
    ran = report(folder, CLUSTER, "--policy", proposed)

    assert ran.code == 1
    assert ran.json == {
        "violations": [
            {
                "namespace": "team-a",
                "name": "p",
                "kind": "Pod",
                "owner": None,
                "node": "t",
                "code": "gpu-policy-family",
                "message": ran.json["violations"][0]["message"],
                "refused": True,
                "already": False,
            }
        ],
        "counts": [{"namespace": "team-a", "code": "gpu-policy-family", "objects": 1, "refused": 1, "already": 0}],
        "errors": [],
        "judged": 1,
    }


def test_a_proposed_policy_that_would_be_refused_itself(folder: Folder) -> None:
    proposed = folder.documents("new.yaml", namespace(families="hoper"))
    ran = report(folder, CLUSTER, "--policy", proposed)

    assert ran.code == 2
    assert [(error["source"], error["path"]) for error in ran.json["errors"]] == [
        (f"{proposed}:1", "metadata.annotations")
    ]
    assert ran.json["violations"] == []


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        ("", 2, "no verdict, since some input could not be used"),
        ("a: [", 2, "no verdict, since some input could not be used"),
        (
            "apiVersion: v1\nkind: Namespace\nmetadata: {name: team-a, annotations: {gpusched.io/familys: x}}\n",
            2,
            "no verdict, since some input could not be used",
        ),
        (
            "apiVersion: v1\nkind: Namespace\nmetadata: {name: team-a, annotations: {gpusched.io/families: turing}}\n",
            0,
            "the proposed policy speaks against none",
        ),
    ],
)
def test_a_proposal_that_cannot_be_read_gets_no_verdict(folder: Folder, text: str, code: int, said: str) -> None:
    ran = report(folder, CLUSTER, "--policy", folder.write("new.yaml", text), form="table")

    assert (ran.code, ran.out) == (code, f"1 object with GPUs judged: {said}\n")


def test_the_table(folder: Folder) -> None:
    proposed = folder.documents("new.yaml", namespace(families="hopper", mode="warn"))
    ran = report(folder, CLUSTER, "--policy", proposed, form="table")
    lines = ran.out.splitlines()

    assert ran.code == 1
    assert "if enforced" in ran.out
    assert [line for line in lines if width_of(line) > 100] == []
    assert lines[-2:] == ["", "1 object with GPUs judged"]
    assert lines[-3].split() == ["team-a", "gpu-policy-family", "1", "0", "0"]
    assert lines[0].split() == ["NAMESPACE", "OBJECT", "NODE", "CODE", "NOW", "ALREADY"]
    assert "ALREADY" not in report(folder, [*CLUSTER[:2], namespace(families="hopper"), ASKS_TURING], form="table").out


def test_without_a_dump_the_cluster_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", "/nowhere/config")
    ran = run("report")

    assert (ran.code, ran.err) == (
        3,
        "error: kubeconfig /nowhere/config does not exist: name one with --kubeconfig, or a dump with --cluster\n",
    )


def test_a_proposal_without_a_namespace_is_noted(folder: Folder) -> None:
    ran = report(folder, CLUSTER, "--policy", folder.documents("new.yaml", pod("q")))

    assert ran.notes == ["--policy: no Namespace in it, so nothing is proposed: the policy judged is the present one"]


def test_a_policy_for_a_namespace_that_is_not_there(folder: Folder) -> None:
    dump = folder.documents("c.yaml", h100_node("h"), namespace("team-a"))
    proposed = folder.documents("p.yaml", namespace("taem-a", families="hopper"))

    assert run("report", "--cluster", dump, "--policy", proposed).notes == [
        "there is no namespace taem-a; did you mean team-a?"
    ]
    assert run("report", "--cluster", dump, "--policy", "nowhere.yaml").notes == []
