import msgspec
import pytest

from gpusched.core.codes import Reason
from gpusched.core.node import NodeObject, Taint
from gpusched.core.pod import Pod, Toleration
from gpusched.core.selector import NodeTerm, Operator, Requirement
from gpusched.native.filter import dynamic_reason, needs_full_view, reason, static_reason
from gpusched.native.ledger import NativeLedger
from tests.native.records import HOST, booked, labelled, make_node, make_pod, near, spread, with_ports

WEB = labelled("app", "web")
PINNED = (NodeTerm(fields=(Requirement("metadata.name", Operator.IN, ("n2",)),)),)
TAINTED = make_node(taints=(Taint("gpu"),))
CORDONED = make_node(unschedulable=True, taints=(Taint("node.kubernetes.io/unschedulable"),))


@pytest.mark.parametrize(
    ("pod", "node", "expected"),
    [
        (make_pod(), make_node(), None),
        (make_pod(), TAINTED, Reason.NATIVE_TAINT),
        (make_pod(tolerations=(Toleration("gpu", "Exists"),)), TAINTED, None),
        (make_pod(), make_node(taints=(Taint("gpu", effect="PreferNoSchedule"),)), None),
        (make_pod(), make_node(taints=(Taint("gpu", effect="NoExecute"),)), Reason.NATIVE_TAINT),
        (make_pod(), CORDONED, Reason.NATIVE_UNSCHEDULABLE),
        (make_pod(tolerations=(Toleration("", "Exists"),)), CORDONED, None),
        (make_pod(tolerations=(Toleration("", "Exists", "", "NoExecute"),)), CORDONED, Reason.NATIVE_UNSCHEDULABLE),
        (
            make_pod(tolerations=(Toleration("node.kubernetes.io/unschedulable", "Exists", "", "NoSchedule"),)),
            CORDONED,
            None,
        ),
        (make_pod(node_name="n1"), make_node("n1"), None),
        (make_pod(node_name="n2"), make_node("n1"), Reason.NATIVE_AFFINITY),
        (make_pod(node_selector={"gpu": "a100"}), make_node(), Reason.NATIVE_AFFINITY),
        (make_pod(node_selector={"gpu": "a100"}), TAINTED, Reason.NATIVE_TAINT),
        (make_pod(node_affinity=PINNED), TAINTED, Reason.NATIVE_AFFINITY),
        (make_pod(node_affinity=PINNED), make_node("n2", taints=(Taint("gpu"),)), Reason.NATIVE_TAINT),
    ],
)
def test_static_reason_is_the_first_failing_plugin(pod: Pod, node: NodeObject, expected: Reason | None) -> None:
    assert static_reason(pod, node) == expected


def crowded() -> NativeLedger:
    """A node where ports, cpu, spread and anti-affinity are all against another web pod."""
    bound = make_pod("old", labels={"app": "web"}, containers=with_ports(("TCP", "", 80)))
    ledger = NativeLedger([make_node("n1"), make_node("n2")])
    ledger.add(bound, {"cpu": 4000}, "n1")
    return ledger


@pytest.mark.parametrize(
    ("spec", "requests", "expected"),
    [
        ({}, {}, None),
        ({"containers": with_ports(("TCP", "", 80))}, {}, Reason.NATIVE_RESOURCES),
        ({"spread": (spread(WEB, key=HOST),)}, {"cpu": 1}, Reason.NATIVE_RESOURCES),
        (
            {"spread": (spread(WEB, key=HOST),), "pod_anti_affinity": (near(WEB, HOST),)},
            {},
            Reason.NATIVE_SPREAD,
        ),
        ({"pod_anti_affinity": (near(WEB, HOST),)}, {}, Reason.NATIVE_POD_AFFINITY),
    ],
)
def test_dynamic_reason_is_the_first_failing_plugin(spec, requests: dict[str, int], expected: Reason | None) -> None:
    ledger = crowded()
    pod = make_pod("new", labels={"app": "web"}, **spec)

    assert dynamic_reason(pod, requests, ledger.node("n1"), ledger) == expected
    assert dynamic_reason(pod, requests, ledger.node("n2"), ledger) is None


def test_reason_asks_the_node_itself_first() -> None:
    ledger = NativeLedger([msgspec.structs.replace(TAINTED, allocatable={})])
    tolerant = make_pod(tolerations=(Toleration("", "Exists"),))

    assert reason(make_pod(), {}, ledger.node("n1"), ledger) is Reason.NATIVE_TAINT
    assert reason(tolerant, {}, ledger.node("n1"), ledger) is Reason.NATIVE_RESOURCES


def test_skipped_resources_reach_the_fit() -> None:
    ledger = NativeLedger([make_node("n1")])
    requests = {"nvidia.com/gpu": 1}

    assert reason(make_pod(), requests, ledger.node("n1"), ledger) is Reason.NATIVE_RESOURCES
    assert reason(make_pod(), requests, ledger.node("n1"), ledger, skip=frozenset(requests)) is None


@pytest.mark.parametrize(
    ("pod", "expected"),
    [
        (make_pod(), False),
        (make_pod(labels={"app": "db"}), False),
        (make_pod(namespace="team-b", labels={"app": "web"}), False),
        (make_pod(labels={"app": "web"}), True),
        (make_pod(spread=(spread(WEB),)), True),
        (make_pod(pod_affinity=(near(WEB),)), True),
        (make_pod(pod_anti_affinity=(near(WEB),)), True),
    ],
)
def test_full_view_is_needed_for_own_rules_and_for_bound_pods_against_it(pod: Pod, expected: bool) -> None:
    guard = make_pod("guard", pod_anti_affinity=(near(WEB, HOST),))

    assert needs_full_view(pod, booked([make_node("n1")], (guard, "n1"))) is expected
