"""What `simulate` suggests is true: with the suggested change, made here by other means, more pods are placed."""

import copy
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.corpus.workloads import CLUSTERS, FILES, WORKLOADS, needs_corpus, parsed, pods_in, run

pytestmark = needs_corpus

Tree = dict[str, Any]


def remove_selector(pod: Tree, key: str) -> None:
    pod["spec"].get("nodeSelector", {}).pop(key, None)


def replace_selector(pod: Tree, key: str, _value: str, annotation: str, wanted: str) -> None:
    if key in pod["spec"].get("nodeSelector", {}):
        remove_selector(pod, key)
        pod.setdefault("metadata", {}).setdefault("annotations", {})[annotation] = wanted


def remove_affinity(pod: Tree) -> None:
    del pod["spec"]["affinity"]["nodeAffinity"]


def tolerate(pod: Tree, key: str, value: str | None, effect: str) -> None:
    tolerations = pod["spec"].setdefault("tolerations", [])
    tolerations.append({"key": key, "operator": "Equal", "value": value or "", "effect": effect})


def ask(pod: Tree, resource: str, amount: str, container: str) -> None:
    for each in pod["spec"]["containers"]:
        for side in each.get("resources", {}).values() if each["name"] == container else ():
            if resource in side:
                side[resource] = amount


def ask_instead(pod: Tree, resource: str, amount: str, other: str, container: str) -> None:
    for each in pod["spec"]["containers"]:
        for side in each.get("resources", {}).values() if each["name"] == container else ():
            if side.pop(other, None) is not None:
                side[resource] = amount


CHANGES: list[tuple[str, Callable[..., None]]] = [
    (r"replace (\S+): (\S+) in spec\.nodeSelector by the annotation (\S+): (\S+)", replace_selector),
    (r"remove (\S+): \S+ from spec\.nodeSelector", remove_selector),
    (r"remove the required node affinity", remove_affinity),
    (r"tolerate ([^=: ]+)(?:=([^: ]*))?:(\w+)", tolerate),
    (r"ask for (\S+): (\S+) in container (\S+)(?: \([^()]+\))?", ask),
    (r"ask for (\S+): (\S+) instead of (\S+) in container (\S+)(?: \([^()]+\))?", ask_instead),
]


def changed(tree: Tree, suggestion: str) -> Tree | None:
    """The object with the suggested change in every template that it fits; None for what is no change of pods."""
    if suggestion.startswith(("Wait: ", "Uncordon ", "Scale ", "No small change fits; ", "An admin may widen ")):
        return None
    result = copy.deepcopy(tree)
    for part in suggestion[0].lower().join(["", suggestion[1:]]).split(" and "):
        ((change, groups),) = [
            (change, found.groups()) for pattern, change in CHANGES if (found := re.fullmatch(pattern, part))
        ]
        for pod in pods_in(result):
            change(pod, *groups)
    return result


@pytest.mark.parametrize("cluster", CLUSTERS)
@pytest.mark.parametrize("name", FILES)
def test_suggestion(name: str, cluster: str, tmp_path: Path) -> None:
    before = run("simulate", WORKLOADS / name, cluster=cluster).result
    suggestions = {view["unschedulable"]["suggestion"] for view in before["pods"] if view["unschedulable"]}
    trees = parsed((WORKLOADS / name).read_text()).objects
    for suggestion in suggestions:
        edited = [changed(tree, suggestion) for tree in trees]
        if None in edited:
            continue
        file = tmp_path / "changed.yaml"
        file.write_text(yaml.safe_dump_all(edited))
        after = run("simulate", file, cluster=cluster).result
        assert after["summary"]["placed"] > before["summary"]["placed"], suggestion
