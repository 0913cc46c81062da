import pytest

from gpusched.native.ledger import NativeLedger, pod_key
from tests.native.records import booked, make_node, make_pod, with_ports


def state(ledger: NativeLedger, name: str) -> tuple[object, ...]:
    node = ledger.node(name)
    return dict(node.used), dict(node.free), node.pods, dict(node.ports)


def test_add_books_requests_pods_and_ports() -> None:
    ledger = NativeLedger([make_node("n1", cpu=1000, memory=10)])

    assert ledger.add(make_pod(containers=with_ports(("TCP", "", 80))), {"cpu": 400, "x": 1, "y": 0}, "n1")

    assert state(ledger, "n1") == (
        {"cpu": 400, "x": 1},
        {"pods": 10, "cpu": 600, "memory": 10, "x": -1},
        1,
        {("TCP", 80): ["0.0.0.0"]},  # noqa: S104 - a value, nothing is bound
    )
    assert [bound.pod.name for bound in ledger.node("n1").bound.values()] == ["p"]


def test_remove_undoes_add() -> None:
    ledger = NativeLedger([make_node("n1", cpu=1000)])
    ledger.add(make_pod("stays", containers=with_ports(("TCP", "", 80))), {"cpu": 100}, "n1")
    before = state(ledger, "n1")
    ledger.add(make_pod("goes", containers=with_ports(("TCP", "", 80), ("UDP", "", 81))), {"cpu": 400}, "n1")

    assert ledger.remove("team-a/goes")

    assert state(ledger, "n1") == before
    assert not ledger.remove("team-a/goes")


def test_versions_grow_where_something_changed() -> None:
    ledger = booked([make_node("n1"), make_node("n2")], (make_pod(), "n1"))

    assert (ledger.version, ledger.node("n1").version, ledger.node("n2").version) == (1, 1, 0)


def test_a_pod_booked_twice_moves() -> None:
    ledger = booked([make_node("n1"), make_node("n2")], (make_pod(), "n1"), (make_pod(), "n2"))

    assert (ledger.node("n1").pods, ledger.node("n2").pods) == (0, 1)


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_terminal_pods_are_not_booked(phase: str) -> None:
    ledger = NativeLedger([make_node("n1")])

    assert not ledger.add(make_pod(phase=phase), {"cpu": 1}, "n1")
    assert (ledger.node("n1").pods, ledger.version) == (0, 0)


def test_pods_on_unknown_nodes_are_not_booked() -> None:
    assert not NativeLedger([make_node("n1")]).add(make_pod(), {}, "n2")


def test_unknown_node_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        NativeLedger([]).node("n1")


def test_outlook_is_kept_until_the_books_change() -> None:
    ledger, pod = NativeLedger([make_node("n1")]), make_pod()
    first = ledger.outlook(pod)
    assert ledger.outlook(pod) is first

    ledger.add(make_pod("other"), {}, "n1")

    assert ledger.outlook(pod) is not first


def test_pod_key_is_the_uid_where_there_is_one() -> None:
    assert pod_key(make_pod("p", "ns")) == "ns/p"
