"""The running counts against the slow way, on random clusters."""

from hypothesis import given, settings
from hypothesis import strategies as st

from gpusched.core.codes import Reason
from gpusched.core.node import NodeObject
from gpusched.core.pod import Pod, PodAffinityTerm, PodSpec, SpreadConstraint
from gpusched.core.selector import Operator, Requirement
from gpusched.native.filter import dynamic_reason
from gpusched.native.ledger import NativeLedger
from tests.native.oracle import Bound, affinity_fits, spread_fits

NAMESPACES = {"x": {"gpu": "yes"}, "y": {"gpu": "no"}}
KEYS = st.sampled_from(["zone", "rack"])
VALUES = st.sampled_from(["1", "2", "3"])
LABELS = st.dictionaries(st.sampled_from(["app", "tier"]), st.sampled_from(["1", "2"]))
REQUIREMENTS = st.builds(
    Requirement,
    st.sampled_from(["app", "tier"]),
    st.sampled_from([Operator.IN, Operator.NOT_IN]),
    st.lists(st.sampled_from(["1", "2"]), min_size=1, max_size=2).map(tuple),
) | st.builds(
    Requirement, st.sampled_from(["app", "tier"]), st.sampled_from([Operator.EXISTS, Operator.DOES_NOT_EXIST])
)
SELECTORS = st.none() | st.lists(REQUIREMENTS, max_size=2).map(tuple)
TERMS = st.builds(
    PodAffinityTerm,
    KEYS,
    SELECTORS,
    st.lists(st.sampled_from("xy"), max_size=2).map(tuple),
    st.sampled_from([None, None, (), (Requirement("gpu", Operator.IN, ("yes",)),)]),
)
SPREADS = st.builds(SpreadConstraint, st.integers(1, 2), KEYS, SELECTORS, st.integers(1, 3), st.booleans())
SPECS = st.builds(
    PodSpec,
    node_selector=st.sampled_from([{}, {}, {"zone": "1"}]),
    pod_affinity=st.lists(TERMS, max_size=2).map(tuple),
    pod_anti_affinity=st.lists(TERMS, max_size=1).map(tuple),
    spread=st.lists(SPREADS, max_size=2).map(tuple),
)
PODS = st.builds(Pod, st.sampled_from("xy"), st.just("p"), SPECS, labels=LABELS, deleting=st.booleans())
NODES = st.lists(st.dictionaries(KEYS, VALUES), min_size=1, max_size=5)


def expected(pod: Pod, node: NodeObject, nodes: list[NodeObject], bound: Bound) -> Reason | None:
    if not spread_fits(pod, node, nodes, bound):
        return Reason.NATIVE_SPREAD
    return None if affinity_fits(pod, node, bound, NAMESPACES) else Reason.NATIVE_POD_AFFINITY


@settings(max_examples=300, deadline=None)
@given(NODES, st.lists(st.tuples(PODS, st.integers(0, 4), st.integers(0, 4)), max_size=10))
def test_verdicts_equal_the_slow_way(labels: list[dict[str, str]], steps: list[tuple[Pod, int, int]]) -> None:
    nodes = [NodeObject(f"n{i}", labels=each, allocatable={"pods": 99}) for i, each in enumerate(labels)]
    ledger = NativeLedger(nodes, dict(NAMESPACES))
    bound: Bound = []
    for number, (template, where, leaver) in enumerate(steps):
        pod = Pod(template.namespace, f"p{number}", template.spec, labels=template.labels, deleting=template.deleting)
        for node in nodes:
            assert dynamic_reason(pod, {}, ledger.node(node.name), ledger) == expected(pod, node, nodes, bound)
        place = nodes[where % len(nodes)]
        ledger.add(pod, {}, place.name)
        bound.append((pod, place))
        if leaver == 0:
            gone, _ = bound.pop(0)
            ledger.remove(f"{gone.namespace}/{gone.name}")
