"""The public manifests, read without gpusched, and the command run on them."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml
from click.testing import CliRunner

from gpusched.cli.main import gpusched

WORKLOADS = Path(__file__).parents[2].parent / "shared" / "corpus" / "workloads"
CLUSTERS = {path.stem: path for path in sorted((Path(__file__).parent / "clusters").glob("*.yaml"))}
FILES = sorted(str(path.relative_to(WORKLOADS)) for path in WORKLOADS.rglob("*.y*ml"))

needs_corpus = [
    pytest.mark.corpus,
    pytest.mark.skipif(not FILES, reason=f"the public corpus is not beside the checkout: {WORKLOADS}"),
]

_GPU = re.compile(r"nvidia\.com/(gpu|gpu\.shared|mig-.+)|amd\.com/gpu|gpu\.intel\.com/(?!.*monitoring).+")


class Parsed(NamedTuple):
    """What PyYAML makes of a file: its objects, and the numbers of the documents that it cannot read."""

    objects: list[dict[str, Any]]
    unreadable: list[int]


def parsed(text: str) -> Parsed:
    """Documents cut at `---`, each on its own, so that a broken one hides no other; empty ones are not counted."""
    objects, unreadable, number = [], [], 0
    for part in re.split(r"^---.*$", text, flags=re.MULTILINE):
        try:
            tree = yaml.safe_load(part)
        except yaml.YAMLError:
            number += 1
            unreadable.append(number)
            continue
        if tree is not None:
            number += 1
            objects.append(tree)
    return Parsed(objects, unreadable)


def pods_in(tree: object) -> Iterator[dict[str, Any]]:
    """Every mapping, wherever it stands, with a pod spec in it: pods and pod templates of whatever kind."""
    if isinstance(tree, dict):
        spec = tree.get("spec")
        if isinstance(spec, dict) and isinstance(spec.get("containers"), list):
            yield tree
        for child in tree.values():
            yield from pods_in(child)
    elif isinstance(tree, list):
        for child in tree:
            yield from pods_in(child)


def asks_for_gpus(pod: dict[str, Any]) -> bool:
    """Whether some container names a GPU under limits or requests, with an amount."""
    containers = [*pod["spec"]["containers"], *pod["spec"].get("initContainers", [])]
    resources = [container.get("resources") or {} for container in containers]
    amounts = [(side.get(kind) or {}).items() for side in resources for kind in ("limits", "requests")]
    return any(_GPU.fullmatch(name) and amount not in (0, "0") for side in amounts for name, amount in side)


class Answer(NamedTuple):
    """What the command printed."""

    code: int
    result: dict[str, Any]
    stderr: str


def run(command: str, *paths: Path, cluster: str | None = None) -> Answer:
    """`check` or `simulate` on files, with JSON output. Nothing may be raised but the exit."""
    arguments = [command, "-o", "json"]
    for path in paths:
        arguments += ["-f", str(path)]
    if cluster is not None:
        arguments += ["--cluster", str(CLUSTERS[cluster])]
    done = CliRunner().invoke(gpusched, arguments)
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return Answer(done.exit_code, json.loads(done.stdout), done.stderr)
