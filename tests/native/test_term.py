import pytest

from gpusched.core.pod import PodAffinityTerm, SpreadConstraint
from gpusched.core.selector import Operator, Requirement
from gpusched.native.term import anchors, looks_around, selects, term_matches
from tests.native.records import HOST, ZONE, labelled, make_pod, near

WEB = labelled("app", "web")
GPU_TEAMS = labelled("gpu", "yes")
NAMESPACES = {"team-a": {"gpu": "yes"}, "team-b": {"gpu": "no"}}


@pytest.mark.parametrize(
    ("term", "namespace", "expected"),
    [
        (near(WEB), "team-a", True),
        (near(WEB), "team-b", False),
        (near(()), "team-a", True),
        (near(None), "team-a", False),
        (near(labelled("app", "db")), "team-a", False),
        (near(WEB, namespaces=("team-b",)), "team-a", False),
        (near(WEB, namespaces=("team-b",)), "team-b", True),
        (near(WEB, namespace_selector=()), "team-b", True),
        (near(WEB, namespace_selector=GPU_TEAMS), "team-a", True),
        (near(WEB, namespace_selector=GPU_TEAMS), "team-b", False),
        (near(WEB, namespace_selector=GPU_TEAMS, namespaces=("team-b",)), "team-b", True),
        (near(WEB, namespace_selector=GPU_TEAMS, namespaces=("team-c",)), "team-a", True),
        (near(WEB, namespace_selector=()), "unlisted", True),
        (near(WEB, namespace_selector=GPU_TEAMS), "unlisted", False),
        (near(WEB, namespace_selector=labelled("kubernetes.io/metadata.name", "unlisted")), "unlisted", True),
    ],
)
def test_term_of_a_pod_in_team_a(term: PodAffinityTerm, namespace: str, expected: bool) -> None:
    pod = make_pod(namespace=namespace, labels={"app": "web"})

    assert term_matches(term, "team-a", pod, NAMESPACES) is expected


def test_absent_selector_matches_nothing_and_empty_one_everything() -> None:
    assert not selects(None, {"a": "1"})
    assert selects((), {})


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        (None, ()),
        ((), None),
        (WEB, (("app", "web"),)),
        (labelled("app", "a", "b", "a"), (("app", "a"), ("app", "b"))),
        ((Requirement("app", Operator.EXISTS),), None),
        ((Requirement("x", Operator.NOT_IN, ("1",)), *WEB), (("app", "web"),)),
    ],
)
def test_anchors_are_pairs_of_which_a_selected_pod_has_one(selector, expected) -> None:
    assert anchors(selector) == expected


def test_rules_for_which_pods_on_other_nodes_count():
    beside, far = near(WEB, HOST), near(WEB, ZONE)
    spread = SpreadConstraint(1, HOST, WEB)
    pod = make_pod(pod_affinity=(beside,), pod_anti_affinity=(beside, far), spread=(spread,))
    assert looks_around(pod.spec) == (beside, spread, far)
    assert looks_around(make_pod(pod_anti_affinity=(beside,)).spec) == ()
