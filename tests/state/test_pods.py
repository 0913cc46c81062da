from typing import Any

import pytest
from msgspec.structs import replace

from gpusched.core.pod import Pod
from gpusched.core.usage import Holder, QuotaUse
from gpusched.state.cluster import Cluster
from gpusched.state.events import Gone, Kind, Upsert
from tests.build import a100_node, container, h100_node, t4_node
from tests.state.records import bound_seen, cluster_with, namespace_seen, node_seen, pod_seen, promise, used


def test_a_bound_pod_holds_its_slots_under_its_uid() -> None:
    cluster = cluster_with(node_seen(), bound_seen("p", gpus=2, annotations={"gpusched.io/gpu-memory": "6Gi"}))

    holder = Holder("team-a", "p", {"nvidia.com/gpu": 2}, claim_mib=6144, outside=False)
    assert cluster.nodes["n1"].holders == {"uid-team-a-p": holder}
    assert used(cluster) == 2


def test_a_pod_bound_by_others_is_marked() -> None:
    cluster = cluster_with(node_seen(), bound_seen("p", ours=False))

    assert cluster.nodes["n1"].holders["uid-team-a-p"].outside


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_finished_pod_lets_go(phase: str) -> None:
    cluster = cluster_with(node_seen(), bound_seen("p"), bound_seen("p", phase=phase))

    assert used(cluster) == 0
    assert cluster.pods == {}


def test_a_terminating_pod_holds_until_it_is_gone() -> None:
    going = bound_seen("p")
    cluster = cluster_with(node_seen(), going)
    cluster.apply(Upsert(replace(going, deleting=True)))
    assert used(cluster) == 1
    assert cluster.nodes["n1"].holders["uid-team-a-p"].deleting

    cluster.apply(Gone(Kind.POD, "uid-team-a-p"))
    assert used(cluster) == 0


def test_a_recreated_pod_of_the_same_name_is_another_one() -> None:
    cluster = cluster_with(node_seen(), bound_seen("db-0", uid="old"), bound_seen("db-0", uid="new"))
    assert used(cluster) == 2

    cluster.apply(Gone(Kind.POD, "old"))
    assert list(cluster.nodes["n1"].holders) == ["new"]


@pytest.mark.parametrize("gpus", [None, 0])
def test_pods_without_gpus_are_not_kept(gpus: int | None) -> None:
    assert cluster_with(node_seen(), bound_seen("p", gpus=gpus)).pods == {}


def test_a_pod_that_waits_for_a_misspelt_gpu_is_kept_until_it_has_a_node() -> None:
    slip = pod_seen("p", resource="nvidia.com/gpus")
    cluster = cluster_with(node_seen(), slip)
    assert [(record.pod.name, record.demand.slots) for record in cluster.pods.values()] == [("p", {})]

    cluster.apply(Upsert(replace(slip, spec=replace(slip.spec, node_name="n1"))))
    assert cluster.pods == {}
    assert cluster_with(node_seen(allocatable={"nvidia.com/gpus": "1"}), slip).pods == {}


def test_a_pod_that_loses_its_gpus_is_dropped() -> None:
    assert cluster_with(node_seen(), bound_seen("p"), bound_seen("p", gpus=0)).pods == {}


def test_reserve_and_release_may_be_repeated() -> None:
    cluster = cluster_with(node_seen())
    for _ in range(2):
        cluster.reserve("n1", "u", promise(2))
        assert used(cluster) == 2
    for _ in range(2):
        cluster.release("u")
        assert used(cluster) == 0


def test_a_promise_becomes_the_bound_pod() -> None:
    cluster = cluster_with(node_seen(), pod_seen("p"))
    cluster.reserve("n1", "uid-team-a-p", promise())
    cluster.apply(Upsert(bound_seen("p")))
    assert used(cluster) == 1

    cluster.release("uid-team-a-p")
    assert used(cluster) == 1


def test_a_promise_to_a_pod_that_is_bound_already_changes_nothing() -> None:
    cluster = cluster_with(node_seen(), node_seen(name="n2"), bound_seen("p"))
    cluster.reserve("n2", "uid-team-a-p", promise())
    cluster.release("uid-team-a-p")

    assert (used(cluster), used(cluster, "n2")) == (1, 0)


def test_a_pod_bound_elsewhere_than_promised_moves() -> None:
    cluster = cluster_with(node_seen(), node_seen(name="n2"), pod_seen("p"))
    cluster.reserve("n1", "uid-team-a-p", promise())
    cluster.apply(Upsert(bound_seen("p", "n2")))

    assert (used(cluster), used(cluster, "n2")) == (0, 1)


def test_a_promise_survives_news_of_the_pending_pod_and_ends_with_it() -> None:
    cluster = cluster_with(node_seen(), pod_seen("p"))
    cluster.reserve("n1", "uid-team-a-p", promise())
    cluster.apply(Upsert(pod_seen("p")))
    assert used(cluster) == 1

    cluster.apply(Gone(Kind.POD, "uid-team-a-p"))
    assert used(cluster) == 0


def test_a_promise_to_a_pod_not_seen_yet_counts_for_quota() -> None:
    cluster = cluster_with(node_seen(h100_node("n1")))
    cluster.reserve("n1", "u", promise(2, claim_mib=1024))
    assert cluster.quota_use("team-a") == QuotaUse(families={"hopper": 2}, memory_mib=2048)

    cluster.release("u")
    assert cluster.quota_use("team-a") == QuotaUse()


def test_quota_use_counts_families_memory_and_what_is_unknown() -> None:
    cluster = cluster_with(
        node_seen(h100_node("h")),
        node_seen(t4_node("t", gpus=1, replicas=4)),
        namespace_seen(families="hopper, turing", quota="*=9"),
        bound_seen("a", "h", gpus=2),
        bound_seen("b", "t", annotations={"gpusched.io/gpu-memory": "2Gi"}),
        bound_seen("c", "elsewhere"),
        pod_seen("d"),
        pod_seen("e", schedulingGates=[{"name": "gpusched.io/quota"}]),
        bound_seen("f", "h", namespace="other"),
    )

    expected = QuotaUse(families={"hopper": 2, "turing": 1}, unknown=2, memory_mib=2 * 81559 + 2048, unknown_memory=2)
    assert cluster.quota_use("team-a") == expected
    assert cluster.quota_use("team-a", without="uid-team-a-a").families == {"turing": 1}
    assert cluster.quota_use("team-a", placed=True) == replace(expected, unknown=1, unknown_memory=1)


def test_a_waiting_pod_with_one_allowed_family_counts_under_it() -> None:
    cluster = cluster_with(namespace_seen(families="hopper", quota="hopper=9"), pod_seen("p", gpus=3))

    assert cluster.quota_use("team-a") == QuotaUse(families={"hopper": 3}, unknown_memory=3)


def test_gated_pods_stand_by_priority_then_age_then_arrival() -> None:
    gate: dict[str, Any] = {"schedulingGates": [{"name": "gpusched.io/quota"}]}
    seen: list[Pod] = []
    for name, created, priority in (
        ("late", "2026-02-01T00:00:00Z", 0),
        ("new-1", "", 0),
        ("early", "2026-01-01T00:00:00Z", 0),
        ("high", "2026-03-01T00:00:00Z", 5),
        ("new-2", "", 0),
    ):
        seen.append(replace(pod_seen(name, priority=priority, **gate), created=created))
    cluster = cluster_with(*seen, pod_seen("free"))

    assert [record.pod.name for record in cluster.gated()] == ["high", "early", "late", "new-1", "new-2"]


def test_init_containers_and_several_resources_count_as_kubernetes_counts_them() -> None:
    tree = {"initContainers": [container("i", gpus=3)]}
    cluster = cluster_with(node_seen(), bound_seen("p", gpus=1, **tree))

    assert used(cluster) == 3


def test_without_shows_the_books_as_if_pods_were_gone() -> None:
    cluster = cluster_with(
        node_seen(a100_node("n1")), bound_seen("a", gpus=2), bound_seen("b", gpus=3), pod_seen("c"), pod_seen("d")
    )
    cluster.reserve("n1", "uid-team-a-c", promise(name="c"))
    before = _books(cluster)

    with cluster.without(["uid-team-a-a", "uid-team-a-c", "uid-team-a-d", "nobody"]):
        assert used(cluster) == 3
        assert set(cluster.pods) == {"uid-team-a-b"}
        assert cluster.quota_use("team-a").total == 3
    assert _books(cluster) == before


def test_without_puts_everything_back_when_the_question_fails() -> None:
    cluster = cluster_with(node_seen(), bound_seen("a"))
    before = _books(cluster)

    with pytest.raises(ZeroDivisionError), cluster.without(["uid-team-a-a"]):
        raise ZeroDivisionError
    assert _books(cluster) == before


def _books(cluster: Cluster) -> object:
    nodes = {
        name: (dict(state.holders), {pool.resource: state.use(pool.resource) for pool in state.node.pools})
        for name, state in cluster.nodes.items()
    }
    return dict(cluster.pods), nodes, cluster.quota_use("team-a"), [record.key for record in cluster.gated()]
