"""What a preflight says that stands in the way."""

from typing import Any

import pytest

from gpusched.doctor.examine import CHECKS
from gpusched.doctor.preflight_problems import REUSED
from gpusched.doctor.scene import Probe
from tests.build import Tree, bound, h100_node, namespace, node, pod, t4_node
from tests.doctor.site import found, webhook
from tests.doctor.test_preflight_facts import NVIDIA


def problems(*trees: Tree, **around: Any) -> dict[str, list[str]]:
    """Subjects by the name of the problem."""
    seen = found(*trees, **around).problems
    return {problem.check: [sight.subject for sight in problem.sights] for problem in seen}


def test_every_check_that_is_reused_is_one_of_doctor() -> None:
    assert {check.name for check in CHECKS} >= REUSED


def test_nothing_stands_in_the_way_of_a_cluster_in_order() -> None:
    runs = bound(pod("p"), "h", ours=False)

    assert problems(h100_node("h"), NVIDIA, namespace(), runs, groups=(), guards=True, version="v1.37.2") == {}


@pytest.mark.parametrize(
    ("trees", "around", "expected"),
    [
        ([], {"version": "v1.29.4"}, {"kubernetes-version": ["kube-apiserver"]}),
        ([], {"guards": False}, {"admission-policies-absent": ["kube-apiserver"]}),
        (
            [],
            {"configurations": (webhook("hami"), webhook("istio"))},
            {"other-gpu-webhook": ["mutatingwebhookconfiguration/hami"]},
        ),
        ([node("x", gpus=2)], {}, {"facts-unknown": ["node/x"]}),
        ([t4_node("a")], {"groups": ()}, {"runtime-class-missing": ["runtimeclass/nvidia"]}),
        ([t4_node("a")], {}, {}),
        ([namespace(families="blackwell"), t4_node("a")], {}, {"family-absent": ["namespace/team-a"]}),
        (
            [],
            {"unasked": (Probe("Lease gpusched", "you may not read it", known=False),)},
            {"not-examined": ["Lease gpusched"]},
        ),
    ],
)
def test_problems(trees: list[Tree], around: dict[str, Any], expected: dict[str, list[str]]) -> None:
    assert problems(*trees, **around) == expected


def test_workloads_that_would_be_refused_are_named_with_what_to_do() -> None:
    asks = bound(pod("p", annotations={"gpusched.io/families": "turing"}), "a", ours=False)
    looked = found(t4_node("a"), h100_node("h"), namespace(families="hopper"), asks)
    (problem,) = looked.problems

    assert (problem.check, problem.severity) == ("workloads-refused", "error")
    (sight,) = problem.sights
    assert (sight.subject, sight.fix) == ("pod/team-a/p", "gpusched explain gpu-policy-family  # what to change")
    assert sight.seen.startswith("gpu-policy-family: pod asks for turing; namespace team-a allows hopper.")
    assert looked.judged == 1


def test_workloads_that_only_an_enforcing_policy_would_refuse_are_no_problem() -> None:
    asks = bound(pod("p", annotations={"gpusched.io/families": "turing"}), "a", ours=False)
    looked = found(t4_node("a"), h100_node("h"), namespace(families="hopper", mode="warn"), asks)

    assert looked.problems == ()
    assert [(item.code, item.refused) for item in looked.violations] == [("gpu-policy-family", False)]
