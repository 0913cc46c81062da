"""Words for gpusched that stand where it does not read them."""

from copy import deepcopy

import pytest

from gpusched.admission.judge_namespace import Written, judge_namespace
from gpusched.admission.judge_workload import Judge, judge_workload
from gpusched.admission.rules.astray import misspelt_prefix
from gpusched.core.cluster_facts import ClusterFacts
from gpusched.policy.model import Config
from tests.admission.judging import RESOURCES, judged, lines, resolver
from tests.build import Tree, pod


@pytest.mark.parametrize(
    ("key", "meant"),
    [
        ("gpusched.com/families", "gpusched.io/families"),
        ("gpusched/gpu-memory", "gpusched.io/gpu-memory"),
        ("gpu-sched.io/products", "gpusched.io/products"),
        ("Gpusched.io/families", "gpusched.io/families"),
        ("gpusched.io/families", None),
        ("status.gpusched.io/bound", None),
        ("example.com/families", None),
        ("gpusched.com/team", None),
        ("families", None),
    ],
)
def test_misspelt_prefix(key: str, meant: str | None) -> None:
    assert misspelt_prefix(key) == meant


@pytest.mark.parametrize("mode", ["enforce", "warn"])
def test_labels_and_misspelt_prefixes_of_a_pod_are_warned_of(mode: str) -> None:
    tree = pod(annotations={"gpusched.com/families": "hopper"})
    tree["metadata"]["labels"] = {"gpusched.io/gpu-memory": "6Gi", "gpusched.io/team": "a", "app": "x"}

    assert lines(judged(tree, policy={"mode": mode})) == (
        [],
        [
            "policy-malformed: label gpusched.io/gpu-memory says nothing. Make it an annotation.",
            "policy-malformed: annotation gpusched.com/families says nothing. Write gpusched.io/families.",
        ],
    )


def _deployment() -> Tree:
    template = {"metadata": {"annotations": {"gpusched.io/products": "t4"}}, "spec": deepcopy(pod()["spec"])}
    annotations = {"gpusched.io/families": "turing", "gpusched.io/products": "t4", "team": "a"}
    metadata = {"name": "d", "namespace": "team-a", "annotations": annotations}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": {"template": template}}


def test_annotations_of_a_workload_that_its_template_lacks_are_warned_of() -> None:
    config = Config()
    judge = Judge("team-a", ClusterFacts(), config, RESOURCES, resolver({}, config, "team-a"))
    (answer,) = judge_workload(_deployment(), None, judge)

    assert lines(answer.admission) == (
        [],
        ["policy-malformed: gpusched.io/families on the workload itself says nothing. Put it on its pod template."],
    )


def test_labels_of_a_namespace_are_warned_of_once() -> None:
    written = Written(labels={"gpusched.io/quota": "*=4", "gpusched.io/exempt": "true"})
    line = "policy-malformed: label gpusched.io/quota says nothing. Make it an annotation."

    assert lines(judge_namespace(written)) == ([], [line])
    assert lines(judge_namespace(written, written)) == ([], [])
