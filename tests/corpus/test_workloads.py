"""Public manifests through `check` and `simulate`: no crash, nothing skipped in silence, every GPU template found."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from gpusched.admission.templates import templates_of
from gpusched.core.demand import mentions_gpu
from gpusched.core.read_pod import read_template
from gpusched.core.resources import GpuResources
from tests.corpus.workloads import (
    CLUSTERS,
    FILES,
    WORKLOADS,
    Answer,
    asks_for_gpus,
    needs_corpus,
    parsed,
    pods_in,
    run,
)

pytestmark = needs_corpus

RESOURCES = GpuResources()


def name_of(tree: dict[str, Any]) -> str:
    metadata = tree["metadata"]
    return str(metadata["name"] if "name" in metadata else f"{metadata['generateName']}0")


def check_unreadable(path: Path, answer: Answer) -> None:
    """Each file that does not parse is told of in one line, which for a template says so."""
    text = path.read_text()
    broken = parsed(text).unreadable
    assert bool(answer.result["errors"]) == bool(broken)
    assert (answer.code == 2) == bool(broken)
    lines = [line for line in answer.stderr.splitlines() if line.startswith("error: ")]
    assert len(lines) == len(answer.result["errors"])
    if "{{" in text and broken:
        assert len(lines) == 1
        assert lines[0].startswith(f"error: {path}, document {broken[0]}: looks like a Helm template: render it first")


def check_sentences(answer: Answer) -> None:
    """Messages are whole sentences that fit where they are shown; whoever waits is told why and what to do."""
    for view in answer.result["pods"]:
        admission, waiting = view["admission"], view["unschedulable"]
        said = [(warning["code"], warning["message"]) for warning in admission["warnings"]]
        said += [] if admission["allowed"] else [(admission["code"], admission["message"])]
        for code, message in said:
            assert len(f"{code}: {message}") <= 200
            assert message.endswith(".")
        if waiting:
            assert waiting["suggestion"]
            assert not waiting["suggestion"].endswith(".")
            assert sum(reason["nodes"] for reason in waiting["reasons"]) > 0


def skipped(answer: Answer) -> Counter[str]:
    """Kinds that a note counts as skipped."""
    notes = [line.removeprefix("note: -f: skipped: ") for line in answer.stderr.splitlines() if ": skipped: " in line]
    pairs = [entry.split(" ", 1) for note in notes for entry in note.split(", ")]
    return Counter({kind: int(count) for count, kind in pairs})


@pytest.mark.parametrize("name", FILES)
def test_check_tells_of_every_object(name: str) -> None:
    path = WORKLOADS / name
    answer = run("check", path)
    check_unreadable(path, answer)
    told = Counter((view["kind"], view["name"]) for view in answer.result["pods"])
    told.update(("Namespace", view["name"]) for view in answer.result["namespaces"])
    rest = skipped(answer)
    for tree in parsed(path.read_text()).objects:
        if rest[tree["kind"]]:
            rest[tree["kind"]] -= 1
        else:
            assert told[tree["kind"], name_of(tree)] == 1
    assert rest.total() == 0
    assert answer.result["summary"]["pods"] == len(answer.result["pods"])
    assert answer.code == 2 or answer.code == (1 if answer.result["summary"]["denied"] else 0)


@pytest.mark.parametrize("cluster", CLUSTERS)
@pytest.mark.parametrize("name", FILES)
def test_simulate_tells_of_every_object(name: str, cluster: str) -> None:
    path = WORKLOADS / name
    answer = run("simulate", path, cluster=cluster)
    check_unreadable(path, answer)
    check_sentences(answer)
    result, summary = answer.result, answer.result["summary"]
    owners = {view["owner"] or f"Pod/{view['name']}" for view in result["pods"]}
    rest = skipped(answer)
    for tree in parsed(path.read_text()).objects:
        kind, own = tree["kind"], name_of(tree)
        if rest[kind]:
            rest[kind] -= 1
        elif kind == "Namespace":
            assert own in [space["name"] for space in result["namespaces"]]
        else:
            assert f"{kind}/{own}" in owners or f"{kind} " in answer.stderr
    assert rest.total() == 0
    assert summary["pods"] == summary["placed"] + summary["denied"] + summary["unschedulable"] + summary["gated"]
    assert answer.code == 2 or answer.code == (0 if summary["placed"] == summary["pods"] else 1)


@pytest.mark.parametrize("name", FILES)
def test_every_gpu_template_is_found(name: str) -> None:
    for tree in parsed((WORKLOADS / name).read_text()).objects:
        faults: list[Any] = []
        found = templates_of(tree, faults) or ()
        read = [read_template(template.tree, faults, template.path, "n", "x", None) for template in found]
        mentioned = sum(mentions_gpu(pod, RESOURCES) for pod in read)
        assert mentioned == sum(asks_for_gpus(pod) for pod in pods_in(tree))
        assert faults == []


def test_how_many_gpu_templates_there_are() -> None:
    # A change of this number is a change of the corpus, or of the independent count itself.
    texts = [(WORKLOADS / name).read_text() for name in FILES]
    assert sum(asks_for_gpus(pod) for text in texts for tree in parsed(text).objects for pod in pods_in(tree)) == 98


@pytest.mark.parametrize("cluster", CLUSTERS)
def test_everything_at_once(cluster: str) -> None:
    answer = run("simulate", WORKLOADS, cluster=cluster)
    assert answer.code == 2
    told = [view["source"] for view in answer.result["pods"]]
    # An object of several files is judged as the last one has it; notes name the others.
    told += [f"{error['source']} {error['message']}" for error in answer.result["errors"]]
    told += answer.stderr.splitlines()
    texts = {name: (WORKLOADS / name).read_text() for name in FILES}
    for name, text in texts.items():
        twins = [f"{WORKLOADS / other}{end}" for other in FILES if texts[other] == text for end in (":", ", document ")]
        without_pods = {tree["kind"] for tree in parsed(text).objects} == {"ClusterTrainingRuntime"}
        assert without_pods or any(twin in line for twin in twins for line in told), name
