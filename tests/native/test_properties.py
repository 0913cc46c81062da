"""Rules that must hold over any sequence of accepted placements, checked against the books from scratch."""

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from gpusched.core.node import NodeObject
from gpusched.core.pod import Pod
from gpusched.native.filter import dynamic_reason
from gpusched.native.ledger import NativeLedger
from tests.native.records import HOST, ZONE, booked, labelled, make_node, make_pod, near, spread, zoned

APPS = st.sampled_from(["web", "db"])
KEYS = st.sampled_from([ZONE, HOST])
STEPS = st.lists(st.tuples(APPS, KEYS, st.integers(0, 4)), max_size=25)


def nodes() -> list[NodeObject]:
    return zoned(a1="a", a2="a", b1="b", b2="b", c1="c")


def zone_counts(ledger: NativeLedger, app: str) -> Counter[str]:
    counts = Counter({"a": 0, "b": 0, "c": 0})
    for node in ledger.nodes.values():
        counts[node.object.labels[ZONE]] += sum(bound.pod.labels["app"] == app for bound in node.bound.values())
    return counts


def offer(ledger: NativeLedger, pod: Pod, index: int) -> None:
    """Bind the pod to the node if it is taken there."""
    node = list(ledger.nodes.values())[index]
    if dynamic_reason(pod, {}, node, ledger) is None:
        ledger.add(pod, {}, node.name)


@given(st.integers(1, 3), st.lists(st.tuples(APPS, st.integers(0, 4)), max_size=30))
def test_accepted_placements_never_exceed_the_skew(max_skew: int, steps: list[tuple[str, int]]) -> None:
    ledger = NativeLedger(nodes())
    for number, (app, index) in enumerate(steps):
        rule = spread(labelled("app", app), max_skew)
        offer(ledger, make_pod(f"p{number}", labels={"app": app}, spread=(rule,)), index)
        for each in ("web", "db"):
            counts = zone_counts(ledger, each)
            assert max(counts.values()) - min(counts.values()) <= max_skew


@given(STEPS)
def test_accepted_placements_never_violate_anti_affinity(steps: list[tuple[str, str, int]]) -> None:
    ledger = NativeLedger(nodes())
    for number, (app, key, index) in enumerate(steps):
        rules = (near(labelled("app", "web"), key),) if app == "web" else ()
        offer(ledger, make_pod(f"p{number}", labels={"app": app}, pod_anti_affinity=rules), index)
    placed = [(bound.pod, node.object) for node in ledger.nodes.values() for bound in node.bound.values()]
    for pod, node in placed:
        for term in pod.spec.pod_anti_affinity:
            value = node.labels[term.topology_key]
            near_by = [other for other, where in placed if where.labels[term.topology_key] == value]
            assert [other for other in near_by if other.labels["app"] == "web"] == [pod]


@settings(max_examples=60)
@given(STEPS, st.lists(st.integers(0, 24), max_size=8), APPS, KEYS)
def test_running_counts_equal_a_fresh_count(steps, removals: list[int], app: str, key: str) -> None:
    """A ledger that answered between changes judges like one that meets the final state for the first time."""
    selector = labelled("app", app)
    probes = [
        make_pod("probe", labels={"app": app}, pod_affinity=(near(selector, key),)),
        make_pod("probe", labels={"app": app}, pod_anti_affinity=(near(selector, key),)),
        make_pod("probe", labels={"app": app}, spread=(spread(selector, key=key),)),
        make_pod("probe", labels={"app": app}),
    ]
    lived = NativeLedger(nodes())
    for number, (own, term_key, index) in enumerate(steps):
        rules = (near(labelled("app", "web", "db"), term_key),) if own == "web" else ()
        for probe in probes:
            lived.outlook(probe)
        lived.add(make_pod(f"p{number}", labels={"app": own}, pod_anti_affinity=rules), {}, nodes()[index].name)
    for number in removals:
        lived.remove(f"team-a/p{number}")
    fresh = booked(nodes(), *((bound.pod, node.name) for node in lived.nodes.values() for bound in node.bound.values()))
    for probe in probes:
        answers = [dynamic_reason(probe, {}, node, lived) for node in lived.nodes.values()]
        assert answers == [dynamic_reason(probe, {}, node, fresh) for node in fresh.nodes.values()]


@given(st.permutations(["a1", "a2", "b1", "b2", "c1"]), STEPS)
def test_order_of_nodes_does_not_change_a_verdict(order: list[str], steps: list[tuple[str, str, int]]) -> None:
    by_name = {node.name: node for node in nodes()}
    ledgers = NativeLedger(nodes()), NativeLedger(by_name[name] for name in order)
    names = list(by_name)
    for number, (app, key, index) in enumerate(steps):
        pod = make_pod(f"p{number}", labels={"app": app}, spread=(spread(labelled("app", app), key=key),))
        verdicts = [dynamic_reason(pod, {}, ledger.node(names[index]), ledger) for ledger in ledgers]
        assert verdicts[0] == verdicts[1]
        for ledger in ledgers:
            ledger.add(pod, {}, names[index])


def test_order_of_labels_does_not_change_a_verdict() -> None:
    labels = {"tier": "front", "app": "web", "env": "prod"}
    term = near((*labelled("app", "web"), *labelled("tier", "front")), HOST)
    for ordered in (labels, dict(reversed(labels.items()))):
        ledger = booked([make_node("n1")], (make_pod("old", labels=ordered), "n1"))
        pod = make_pod("new", pod_anti_affinity=(term,))
        assert dynamic_reason(pod, {}, ledger.node("n1"), ledger) is not None
