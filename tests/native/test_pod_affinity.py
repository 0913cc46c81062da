import pytest

from gpusched.core.codes import Reason
from gpusched.core.node import NodeObject
from gpusched.core.pod import Pod
from gpusched.native.filter import dynamic_reason
from gpusched.native.ledger import NativeLedger
from gpusched.native.pod_affinity import broken_terms, pod_affinity_reason
from tests.native.records import HOST, ZONE, booked, labelled, make_node, make_pod, near, zoned

WEB = labelled("app", "web")
DB = labelled("app", "db")


def takers(pod: Pod, ledger: NativeLedger) -> str:
    """Names of the nodes that take the pod, and that no other reason than pod affinity refuses it."""
    verdicts = {name: dynamic_reason(pod, {}, node, ledger) for name, node in ledger.nodes.items()}
    assert set(verdicts.values()) <= {None, Reason.NATIVE_POD_AFFINITY}
    return " ".join(name for name, reason in verdicts.items() if reason is None)


def nodes() -> list[NodeObject]:
    return zoned(a1="a", a2="a", b1="b", bare="")


def web(name: str = "web", namespace: str = "team-a", **spec: object) -> Pod:
    return make_pod(name, namespace, {"app": "web"}, **spec)


@pytest.mark.parametrize(
    ("terms", "expected"),
    [
        ((), "a1 a2 b1 bare"),
        ((near(WEB),), "a1 a2"),
        ((near(WEB, HOST),), "a1"),
        ((near(WEB), near(WEB, HOST)), "a1"),
        ((near(DB),), ""),
        ((near(WEB), near(DB)), ""),
        ((near(WEB, "absent"),), ""),
        ((near(WEB, namespaces=("team-b",)),), ""),
        ((near(None),), ""),
    ],
)
def test_affinity_needs_a_matching_pod_in_the_domain_of_every_term(terms, expected: str) -> None:
    ledger = booked(nodes(), (web(), "a1"))

    assert takers(make_pod("new", pod_affinity=terms), ledger) == expected


def test_one_pod_must_match_all_terms() -> None:
    ledger = booked(nodes(), (web(), "a1"), (make_pod("db", labels={"app": "db"}), "a2"))

    assert takers(make_pod("new", pod_affinity=(near(WEB), near(DB))), ledger) == ""


@pytest.mark.parametrize(
    ("labels", "bound", "expected"),
    [
        ({"app": "web"}, (), "a1 a2 b1"),
        ({"app": "db"}, (), ""),
        ({"app": "web"}, (("other", "team-b", "a1"),), "a1 a2 b1"),
        ({"app": "web"}, (("first", "team-a", "b1"),), "b1"),
        ({"app": "web"}, (("unlabelled", "team-a", "bare"),), "a1 a2 b1"),
    ],
)
def test_first_pod_of_a_group_with_affinity_to_itself_passes(labels, bound, expected: str) -> None:
    ledger = booked(nodes(), *((web(name, namespace), node) for name, namespace, node in bound))

    assert takers(make_pod("new", labels=labels, pod_affinity=(near(WEB),)), ledger) == expected


@pytest.mark.parametrize(
    ("terms", "expected"),
    [
        ((near(WEB),), "b1 bare"),
        ((near(WEB, HOST),), "a2 b1 bare"),
        ((near(DB), near(WEB, HOST)), "a2 b1 bare"),
        ((near(DB),), "a1 a2 b1 bare"),
        ((near(()),), "b1 bare"),
        ((near(None),), "a1 a2 b1 bare"),
        ((near(WEB, namespaces=("team-b",)),), "a1 a2 b1 bare"),
        ((near(WEB, "absent"),), "a1 a2 b1 bare"),
    ],
)
def test_anti_affinity_keeps_out_of_domains_with_a_matching_pod(terms, expected: str) -> None:
    ledger = booked(nodes(), (web(), "a1"))

    assert takers(make_pod("new", pod_anti_affinity=terms), ledger) == expected


@pytest.mark.parametrize(
    ("term", "owner", "expected"),
    [
        (near(WEB), "team-a", "b1 bare"),
        (near(WEB, HOST), "team-a", "a2 b1 bare"),
        (near(DB), "team-a", "a1 a2 b1 bare"),
        (near(WEB), "team-b", "a1 a2 b1 bare"),
        (near(WEB, namespaces=("team-a",)), "team-b", "b1 bare"),
        (near(WEB, namespace_selector=()), "team-b", "b1 bare"),
        (near((), namespace_selector=()), "team-b", "b1 bare"),
        (near(None), "team-a", "a1 a2 b1 bare"),
    ],
)
def test_anti_affinity_of_bound_pods_holds_against_newcomers(term, owner: str, expected: str) -> None:
    ledger = booked(nodes(), (make_pod("guard", owner, pod_anti_affinity=(term,)), "a1"))

    assert takers(web("new"), ledger) == expected


def test_a_pod_being_deleted_still_counts_and_a_removed_one_does_not() -> None:
    guard = make_pod("guard", labels={"app": "web"}, deleting=True, pod_anti_affinity=(near(WEB),))
    ledger = booked(nodes(), (guard, "a1"))
    newcomer = web("new", pod_anti_affinity=(near(WEB, HOST),))
    assert takers(newcomer, ledger) == "b1 bare"

    assert ledger.remove("team-a/guard")

    assert takers(newcomer, ledger) == "a1 a2 b1 bare"


def test_namespace_labels_of_the_ledger_serve_namespace_selectors() -> None:
    ledger = NativeLedger(nodes())
    ledger.namespace_labels["team-b"] = {"gpu": "yes"}
    ledger.add(web("web", "team-b"), {}, "b1")
    term = near(WEB, namespace_selector=labelled("gpu", "yes"))

    assert takers(make_pod("new", pod_affinity=(term,)), ledger) == "b1"


def test_counts_follow_pods_that_come_after_the_first_question() -> None:
    ledger = booked([make_node("n1", {ZONE: "a"}), make_node("n2", {ZONE: "b"})])
    newcomer = make_pod("new", pod_affinity=(near(WEB),))
    assert takers(newcomer, ledger) == ""

    ledger.add(web(), {}, "n2")

    assert takers(newcomer, ledger) == "n2"


def test_the_terms_that_a_node_breaks() -> None:
    """Those of the pod itself, and whether one of a bound pod speaks against it."""
    guard = make_pod("guard", labels={"app": "db"}, pod_anti_affinity=(near(WEB, HOST),))
    ledger = booked(nodes(), (web(), "a1"), (guard, "a2"))
    apart, beside = near(WEB, HOST), near(DB)
    newcomer = web("new", pod_anti_affinity=(near(labelled("app", "none")), apart), pod_affinity=(beside,))
    rules = ledger.outlook(newcomer).affinity
    broken = {node.name: broken_terms(newcomer, rules, node) for node in nodes()}

    assert broken["a1"] == ((), (apart,), False)
    assert broken["a2"] == ((), (), True)
    assert broken["b1"] == ((beside,), (), False)
    for node in nodes():
        assert (broken[node.name] == ((), (), False)) is (pod_affinity_reason(rules, node) is None)
