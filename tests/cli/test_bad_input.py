"""Bad input: all of it is told with place, value and cure; everything else is done and printed; exit code 2."""

import pytest

from tests.build import Tree, node, pod, t4_node
from tests.cli.commands import Folder, Ran, run
from tests.simulate.scene import workload

NOT_A_LIST = (
    "a Kubernetes object is a mapping, not a list: put its items into an object of apiVersion v1 and kind List, "
    "or write them one after the other"
)
HEAD = "apiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: team-a}\n"
MAIN = "containers: [{name: main, resources: {limits: {nvidia.com/gpu: 1}}}]"
DEPLOYMENT = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d, namespace: team-a}\n"
UNQUOTED = ": write it without quotes"
SECOND = HEAD.replace("name: p", "name: q")


def simulate(folder: Folder, text: str | bytes, *, name: str = "bad.yaml") -> Ran:
    """The bad file between two good ones."""
    files = [
        folder.documents("a.yaml", pod("before")),
        folder.write(name, text),
        folder.documents("z.yaml", pod("after")),
    ]
    options = [item for path in files for item in ("-f", path)]
    return run("simulate", *options, "--cluster", folder.documents("c.yaml", t4_node("t4", gpus=8)), "-o", "json")


def names(ran: Ran) -> list[str]:
    return [view["name"] for view in ran.json["pods"]]


def told(ran: Ran, folder: Folder) -> list[tuple[str, str, str]]:
    """Errors with the document number, the path and the message."""
    prefix = f"{folder.path}/bad.yaml"
    return [(error["source"].removeprefix(prefix), error["path"], error["message"]) for error in ran.json["errors"]]


#: Text, the pods of it that are still simulated, and the errors.
CASES: dict[str, tuple[str | bytes, list[str], list[tuple[str, str, str]]]] = {
    "empty": ("", [], [("", "", "empty: nothing to read")]),
    "blank": (" \n\n", [], [("", "", "empty: nothing to read")]),
    "only comments": ("# nothing\n", [], [("", "", "no document in it: nothing but comments")]),
    "binary": (b"\x7fELF\x02\xff\xfe", [], [("", "", "not a text file: byte 6 is not UTF-8")]),
    "zero bytes": (b"kind: Pod\0\0", [], [("", "", "not a text file: byte 10 is zero")]),
    "no object": ("just words\n", [], [(":1", "", 'a Kubernetes object is a mapping, not "just words"')]),
    "a list": ("- a\n", [], [(":1", "", NOT_A_LIST)]),
    "no kind": (
        "metadata: {name: p}\n",
        [],
        [(":1", "apiVersion", 'a Kubernetes object needs apiVersion and kind; this one starts with "metadata"')],
    ),
    "no name": (
        "apiVersion: v1\nkind: Pod\nspec: {}\n",
        [],
        [(":1", "metadata.name", "Pod default/(no name): missing: every object needs a name")],
    ),
    "metadata null": (
        "apiVersion: v1\nkind: Pod\nmetadata: null\n",
        [],
        [(":1", "metadata.name", "Pod default/(no name): missing: every object needs a name")],
    ),
    "spec null": (
        HEAD + "spec: null\n",
        [],
        [(":1", "spec.containers", "Pod team-a/p: missing: a pod needs at least one container")],
    ),
    "container null": (
        HEAD + "spec: {containers: [null]}\n",
        [],
        [(":1", "spec.containers[0]", "Pod team-a/p: must be a mapping with a name and an image, not null")],
    ),
    "template null": (
        DEPLOYMENT + "spec: {template: null}\n",
        [],
        [(":1", "spec.template", "Deployment team-a/d: missing: a Deployment needs a pod template")],
    ),
    "limits are a list": (
        HEAD + "spec: {containers: [{name: a, resources: {limits: [nvidia.com/gpu]}}]}\n",
        [],
        [
            (
                ":1",
                "spec.containers[0].resources.limits",
                'Pod team-a/p: must be a mapping, not a list: write "key: value" lines',
            )
        ],
    ),
    "annotation is a number": (
        HEAD.replace("}", ", annotations: {gpusched.io/gpu-memory: 6}}") + f"spec: {{{MAIN}}}\n",
        [],
        [
            (
                ":1",
                "metadata.annotations[gpusched.io/gpu-memory]",
                "Pod team-a/p: must be a string, but YAML reads it as the number 6: put it in quotes as it was written",
            )
        ],
    ),
    "replicas in quotes": (
        DEPLOYMENT + f'spec: {{replicas: "3", template: {{spec: {{{MAIN}}}}}}}\n',
        ["d-0"],
        [
            (
                ":1",
                "spec.replicas",
                'Deployment team-a/d: must be a whole number, not the string "3": write it without quotes',
            )
        ],
    ),
    "several at once, in the second document": (
        f"{HEAD}spec: {{{MAIN}}}\n---\n{SECOND}spec: {{tolerations: x, nodeSelector: [a], priority: high, {MAIN}}}\n",
        ["p"],
        [
            (":2", "spec.priority", 'Pod team-a/q: must be a whole number, not the string "high"' + UNQUOTED),
            (":2", "spec.nodeSelector", 'Pod team-a/q: must be a mapping, not a list: write "key: value" lines'),
            (":2", "spec.tolerations", 'Pod team-a/q: must be a list, not a string: start every item with "- "'),
        ],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_each_fault_is_told_and_all_else_is_done(folder: Folder, case: str) -> None:
    text, still, errors = CASES[case]
    ran = simulate(folder, text)

    assert ran.code == 2
    assert names(ran) == ["before", *still, "after"]
    assert sorted(told(ran, folder)) == sorted(errors)
    assert len(ran.errors) == len(errors)
    assert all(line.startswith(f"{folder.path}/bad.yaml") for line in ran.errors)


def test_a_key_written_twice_is_told_and_the_last_value_used(folder: Folder) -> None:
    ran = simulate(folder, HEAD + f"spec:\n  priority: 1\n  priority: 2\n  {MAIN}\n")

    assert (ran.code, names(ran)) == (2, ["before", "p", "after"])
    ((source, path, message),) = told(ran, folder)
    assert (source, path) == (":1", "spec.priority")
    assert message.startswith("Pod team-a/p: ")
    assert "twice" in message or "again" in message


def test_tabs_are_told_with_their_line(folder: Folder) -> None:
    ran = simulate(folder, HEAD + "spec:\n\tcontainers: []\n")

    assert (ran.code, names(ran)) == (2, ["before", "after"])
    ((_, _, message),) = told(ran, folder)
    assert "line 5" in message
    assert "tab" in message


def test_anchors_are_understood(folder: Folder) -> None:
    container = "{name: main, resources: {limits: {nvidia.com/gpu: 2}}}"
    text = f"{HEAD}spec:\n  x: &main {container}\n  containers: [*main]\n"
    ran = simulate(folder, text)

    assert (ran.code, ran.json["errors"]) == (0, [])
    assert ran.json["pods"][1]["placement"]["resources"] == {"nvidia.com/gpu": 2}


def test_anchors_that_blow_up_are_refused(folder: Folder) -> None:
    levels = "".join(f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 10)}]\n" for n in range(1, 12))
    ran = simulate(folder, HEAD + "l0: &l0 [x]\n" + levels + f"spec: {{{MAIN}}}\n")

    assert (ran.code, names(ran)) == (2, ["before", "after"])
    assert len(ran.errors) == 1


def test_an_anchor_that_is_nowhere_is_told(folder: Folder) -> None:
    ran = simulate(folder, HEAD + "spec: {containers: [*gone]}\n")

    assert (ran.code, names(ran), len(ran.errors)) == (2, ["before", "after"], 1)


def test_errors_of_the_dump_are_told_beside_those_of_the_manifests(folder: Folder) -> None:
    files, dump = (
        folder.documents("p.yaml", pod("p", priority="x"), pod("q")),
        folder.documents("c.yaml", node(gpus=-1), t4_node()),
    )
    config = folder.write("g.yaml", "apiVersion: gpusched.io/v1alpha1\nkind: Config\nclaims: {reserve: 200%}\n")
    ran = run("simulate", "-f", files, "--cluster", dump, "--config", config, "-o", "json")

    assert ran.code == 2
    assert {error["source"] for error in ran.json["errors"]} == {f"{files}:1", f"{dump}:1", f"{config}:1"}
    assert ran.json["summary"]["placed"] == 1


@pytest.mark.parametrize("command", ["simulate", "check", "why", "nodes", "report"])
def test_a_broken_configuration_is_told_and_the_rest_done(folder: Folder, command: str) -> None:
    config = folder.write("g.yaml", "apiVersion: gpusched.io/v1alpha1\nkind: Config\nclaims: {reserve: 200%}\n")
    files = [] if command in {"nodes", "report"} else ["-f", folder.documents("p.yaml", pod("p"))]
    ran = run(command, *files, "--cluster", folder.documents("c.yaml", t4_node()), "--config", config, "-o", "json")

    assert ran.code == 2
    assert [error.partition(": ")[2].partition(":")[0] for error in ran.errors] == ["claims.reserve"]
    assert ran.notes == ["the configuration has errors: what could be read of it holds, defaults for the rest"]
    assert ran.json


def test_one_object_in_two_versions_is_told_and_the_last_one_used(folder: Folder) -> None:
    ran = simulate(folder, f"{HEAD}spec: {{{MAIN}}}\n---\n{HEAD}spec: {{priority: 1, {MAIN}}}\n")

    assert names(ran) == ["before", "p", "after"]
    assert ran.errors == []
    assert ran.notes == [
        f"Pod team-a/p: {folder.path}/bad.yaml, document 2 replaces what {folder.path}/bad.yaml, document 1 says"
    ]


def test_the_same_file_twice_counts_once(folder: Folder) -> None:
    files = folder.documents("p.yaml", workload("Deployment", "d", replicas=2), pod("p"))
    ran = run("simulate", "-f", files, "-f", files, "--cluster", folder.documents("c.yaml", t4_node()), "-o", "json")

    assert (ran.code, names(ran)) == (1, ["d-0", "d-1", "p"])


def test_items_of_a_list_are_named_by_their_place(folder: Folder) -> None:
    listed: Tree = {"apiVersion": "v1", "kind": "List", "items": [pod("a"), pod("b", priority="x")]}
    files = folder.documents("bad.yaml", listed)
    ran = run("simulate", "-f", files, "--cluster", folder.documents("c.yaml", t4_node(gpus=2)), "-o", "json")

    assert (ran.code, names(ran)) == (2, ["a"])
    assert told(ran, folder)[0][:2] == (":1", "items[1].spec.priority")


@pytest.mark.parametrize("path", ["nowhere.yaml", "."])
def test_paths_that_give_nothing(folder: Folder, path: str) -> None:
    dump = folder.documents("cluster/c.yaml", t4_node())
    (folder.path / "void").mkdir()
    place = folder.path / "void" / path
    ran = run("simulate", "-f", place, "--cluster", dump, "-o", "json")

    assert (ran.code, len(ran.errors)) == (2, 1)
    assert len(ran.json["nodes"]) == 1


@pytest.mark.parametrize("command", ["nodes", "quota", "report", "doctor", "why", "top --once", "simulate"])
def test_where_nothing_can_be_read_nothing_is_said_of_a_cluster(folder: Folder, command: str) -> None:
    files = ["-f", folder.write("bad.yaml", "")] if command == "simulate" else []
    ran = run(*command.split(), *files, "--cluster", folder.write("dump.yaml", ""))

    assert (ran.code, ran.out) == (2, "")
    assert ran.errors[-1] == f"{folder.path}/dump.yaml: empty: nothing to read"


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["why", "nobody"], "no pod or workload nobody in the dump"),
        (["nodes", "nobody"], "no node nobody"),
        (["explain", "gpu-quantty"], "no code gpu-quantty; did you mean gpu-quantity?"),
    ],
)
def test_what_is_not_there_is_one_line(folder: Folder, arguments: list[str], error: str) -> None:
    dump = [] if arguments[0] == "explain" else ["--cluster", folder.documents("c.yaml", t4_node())]
    ran = run(*arguments, *dump)

    assert (ran.code, ran.out, ran.err) == (2, "", f"error: {error}\n")
