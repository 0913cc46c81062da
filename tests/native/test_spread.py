import pytest

from gpusched.core.codes import Reason
from gpusched.core.node import Taint
from gpusched.core.pod import Pod, Toleration
from gpusched.core.selector import NodeTerm, Operator, Requirement
from gpusched.native.filter import dynamic_reason
from gpusched.native.ledger import NativeLedger
from tests.native.records import HOST, ZONE, booked, labelled, make_node, make_pod, spread, zoned

WEB = labelled("app", "web")
NOT_B = (NodeTerm((Requirement(ZONE, Operator.NOT_IN, ("b",)),)),)


def takers(pod: Pod, ledger: NativeLedger) -> str:
    verdicts = {name: dynamic_reason(pod, {}, node, ledger) for name, node in ledger.nodes.items()}
    assert set(verdicts.values()) <= {None, Reason.NATIVE_SPREAD}
    return " ".join(name for name, reason in verdicts.items() if reason is None)


def web(name: str = "new", namespace: str = "team-a", *, deleting: bool = False, **spec: object) -> Pod:
    return make_pod(name, namespace, {"app": "web"}, deleting=deleting, **spec)


def two_in_a(*more: tuple[Pod, str]) -> NativeLedger:
    """Zone a holds two web pods, zone b none; one node has no zone."""
    return booked(zoned(a1="a", a2="a", b1="b", bare=""), (web("w1"), "a1"), (web("w2"), "a2"), *more)


@pytest.mark.parametrize(
    ("constraints", "expected"),
    [
        ((), "a1 a2 b1 bare"),
        ((spread(WEB, 1),), "b1"),
        ((spread(WEB, 2),), "b1"),
        ((spread(WEB, 3),), "a1 a2 b1"),
        ((spread(labelled("app", "db"), 1),), "a1 a2 b1"),
        ((spread(None, 1),), "a1 a2 b1"),
        ((spread((), 1),), "a1 a2 b1"),
        ((spread(WEB, 1, HOST),), "b1 bare"),
        ((spread(WEB, 3), spread(WEB, 1, HOST)), "b1"),
        ((spread(WEB, 1, "absent"),), ""),
        ((spread(WEB, 2, min_domains=2),), "b1"),
        ((spread(WEB, 2, min_domains=3),), "b1"),
    ],
)
def test_skew_over_the_domains(constraints, expected: str) -> None:
    assert takers(web(spread=constraints), two_in_a()) == expected


@pytest.mark.parametrize(("min_domains", "expected"), [(1, "a1 b1"), (2, "a1 b1"), (3, "")])
def test_fewer_domains_than_min_domains_make_the_least_count_zero(min_domains: int, expected: str) -> None:
    ledger = booked(zoned(a1="a", b1="b"), (web("w1"), "a1"), (web("w2"), "b1"))

    assert takers(web(spread=(spread(WEB, min_domains=min_domains),)), ledger) == expected


def test_a_pod_that_its_own_selector_misses_adds_nothing() -> None:
    pod = make_pod("other", spread=(spread(WEB, 2),))

    assert takers(pod, two_in_a()) == "a1 a2 b1"


def test_only_live_pods_of_the_namespace_count() -> None:
    ledger = booked(
        zoned(a1="a", b1="b"),
        (web("gone", deleting=True), "a1"),
        (web("theirs", "team-b"), "a1"),
    )

    assert takers(web(spread=(spread(WEB),)), ledger) == "a1 b1"


@pytest.mark.parametrize(("honor", "expected"), [(True, "a1"), (False, "")])
def test_affinity_policy_decides_whether_excluded_domains_count(honor: bool, expected: str) -> None:
    ledger = booked(zoned(a1="a", b1="b"), (web("w1"), "a1"))
    pod = web(node_affinity=NOT_B, spread=(spread(WEB, honor_affinity=honor),))
    # Zone b is refused by node affinity before; here it shows only which domains count.
    assert dynamic_reason(pod, {}, ledger.node("a1"), ledger) == (None if expected else Reason.NATIVE_SPREAD)


@pytest.mark.parametrize(
    ("honor", "tolerations", "fits"),
    [(False, (), False), (True, (), True), (True, (Toleration("gpu", "Exists"),), False)],
)
def test_taints_policy_decides_whether_tainted_domains_count(honor: bool, tolerations, fits: bool) -> None:
    nodes = [make_node("a1", {ZONE: "a"}), make_node("b1", {ZONE: "b"}, (Taint("gpu"),))]
    ledger = booked(nodes, (web("w1"), "a1"))
    pod = web(tolerations=tolerations, spread=(spread(WEB, honor_taints=honor),))

    assert dynamic_reason(pod, {}, ledger.node("a1"), ledger) == (None if fits else Reason.NATIVE_SPREAD)


def test_nodes_without_all_keys_hold_no_pods_of_any_domain() -> None:
    nodes = [make_node("a1", {ZONE: "a", "rack": "1"}), make_node("a2", {ZONE: "a"}), make_node("b1", {ZONE: "b"})]
    ledger = booked(nodes, (web("w1"), "a2"))
    pod = web(spread=(spread(WEB), spread(WEB, key="rack")))

    assert takers(pod, ledger) == "a1"


def test_removal_is_seen() -> None:
    ledger = two_in_a()
    pod = web(spread=(spread(WEB),))
    assert takers(pod, ledger) == "b1"

    ledger.remove("team-a/w1")
    ledger.remove("team-a/w2")

    assert takers(pod, ledger) == "a1 a2 b1"
