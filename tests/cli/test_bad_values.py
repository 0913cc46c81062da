"""Values that are too large, negative or of the wrong type, wherever they stand."""

from typing import Any

import pytest

from tests.build import pod, t4_node
from tests.cli.commands import Folder, Ran, run
from tests.simulate.scene import workload

HEAD = "apiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: team-a}\n"
MAIN = "containers: [{name: main, resources: {limits: {nvidia.com/gpu: 1}}}]"
DEPLOYMENT = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d, namespace: team-a}\n"
NODE = "apiVersion: v1\nkind: Node\nmetadata: {name: node-1}\n"
HUGE = "9" * 100


def simulate(folder: Folder, text: str | bytes, *, name: str = "bad.yaml") -> Ran:
    """The bad file between two good ones."""
    files = [
        folder.documents("a.yaml", pod("before")),
        folder.write(name, text),
        folder.documents("z.yaml", pod("after")),
    ]
    options = [item for path in files for item in ("-f", path)]
    return run("simulate", *options, "--cluster", folder.documents("c.yaml", t4_node("t4", gpus=8)), "-o", "json")


def told(ran: Ran, folder: Folder) -> list[tuple[str, str, str]]:
    """Errors with the document number, the path and the message."""
    prefix = f"{folder.path}/bad.yaml"
    return [(error["source"].removeprefix(prefix), error["path"], error["message"]) for error in ran.json["errors"]]


@pytest.mark.parametrize("count", ["1000000000", HUGE, "99999999999999999999"])
def test_huge_numbers_of_replicas_are_bounded(folder: Folder, count: str) -> None:
    ran = simulate(folder, DEPLOYMENT + f"spec: {{replicas: {count}, template: {{spec: {{{MAIN}}}}}}}\n")

    assert ran.code == 2
    ((_, path, message),) = told(ran, folder)
    assert path == "spec.replicas"
    assert message.startswith("Deployment team-a/d: ")
    assert message.endswith("is too many to simulate: write 10000 or less")
    assert ran.json["summary"]["pods"] == 10_002


@pytest.mark.parametrize(
    ("spec", "codes"),
    [
        (f"{{priority: {HUGE}, {MAIN}}}", [None]),
        (f"{{activeDeadlineSeconds: {HUGE}, {MAIN}}}", [None]),
        (f"{{containers: [{{name: a, resources: {{limits: {{nvidia.com/gpu: {HUGE}}}}}}}]}}", ["gpu-quantity"]),
        (f"{{containers: [{{name: a, ports: [{{hostPort: {HUGE}}}]}}]}}", [None]),
    ],
)
def test_huge_integers_break_nothing(folder: Folder, spec: str, codes: list[str | None]) -> None:
    ran = simulate(folder, f"{HEAD}spec: {spec}\n")

    assert [view["admission"]["code"] for view in ran.json["pods"][1:-1]] == codes
    assert ran.code in {0, 1}


@pytest.mark.parametrize(
    ("text", "pools", "errors"),
    [
        (NODE, 0, []),
        (NODE + "spec: null\nstatus: null\n", 0, []),
        (NODE.replace("}", ", labels: null, annotations: null}"), 0, []),
        (
            NODE + "status: {allocatable: {nvidia.com/gpu: -2}}\n",
            1,
            ["status.allocatable[nvidia.com/gpu]: Node node-1: -2 is negative: read as 0"],
        ),
        (
            NODE + "status: {allocatable: {nvidia.com/gpu: 1, cpu: many}}\n",
            1,
            ['status.allocatable.cpu: Node node-1: "many" is not a quantity: write a number such as 1'],
        ),
        (NODE + f"status: {{allocatable: {{nvidia.com/gpu: {HUGE}}}}}\n", 1, []),
        (NODE + "status: []\n", 0, ['status: Node node-1: must be a mapping, not a list: write "key: value" lines']),
        (
            NODE + "spec: {taints: {key: x}}\n",
            0,
            ['spec.taints: Node node-1: must be a list, not a mapping: start every item with "- "'],
        ),
    ],
)
def test_nodes_that_are_not_whole(folder: Folder, text: str, pools: int, errors: list[str]) -> None:
    dump = folder.write("bad.yaml", text)
    ran = run("nodes", "--cluster", dump, "--cluster", folder.documents("c.yaml", t4_node("t4")), "-o", "json")

    assert ran.code == (2 if errors else 0)
    assert [(view["name"], len(view["pools"])) for view in ran.json["nodes"]] == [("node-1", pools), ("t4", 1)]
    assert ran.errors == [f"{dump}, document 1: {error}" for error in errors]


_WRONG: list[Any] = [None, "x", 3, 1.5, True, [], {}, [None], ["x"], {"x": None}, {"x": ["y"]}, 10**40, -1]
_PLACES = [
    ("metadata", "labels"),
    ("metadata", "annotations"),
    ("metadata", "ownerReferences"),
    ("spec",),
    ("spec", "containers"),
    ("spec", "initContainers"),
    ("spec", "nodeSelector"),
    ("spec", "tolerations"),
    ("spec", "affinity"),
    ("spec", "topologySpreadConstraints"),
    ("spec", "schedulingGates"),
    ("spec", "overhead"),
    ("spec", "runtimeClassName"),
    ("spec", "nodeName"),
    ("spec", "priority"),
    ("spec", "schedulerName"),
    ("spec", "volumes"),
    ("spec", "resources"),
    ("status",),
]


@pytest.mark.parametrize("place", _PLACES, ids=".".join)
def test_no_value_in_any_place_is_a_bug(folder: Folder, place: tuple[str, ...]) -> None:
    trees = []
    for number, value in enumerate(_WRONG):
        tree = pod(f"p{number}")
        inner = tree
        for step in place[:-1]:
            inner = inner[step]
        inner[place[-1]] = value
        trees.append(tree)
    dump = folder.documents("c.yaml", t4_node(gpus=8), *trees)
    made = [
        workload("Deployment", f"d{number}", template=tree) for number, tree in enumerate(trees) if tree["metadata"]
    ]
    files = folder.documents("p.yaml", *trees, *made)
    for command in (["simulate", "-f", files], ["check", "-f", files], ["why", "-f", files], ["report"], ["nodes"]):
        ran = run(*command, "--cluster", dump, "-o", "json")
        assert "bug in gpusched" not in ran.err
        assert ran.json
