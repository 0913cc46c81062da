"""Events go into the state, and those who act on it are told."""

import pytest

from gpusched.core.read_cluster import read_node
from gpusched.core.read_pod import read_pod
from gpusched.obs.metrics import Metrics
from gpusched.policy.model import Config
from gpusched.serve.feed import Feed
from gpusched.state.cluster import Cluster
from gpusched.state.events import Event, Gone, Kind, Replace, Upsert
from gpusched.state.read_namespace import read_namespace
from tests.build import bound, namespace, pod, t4_node

NODE = Upsert(read_node(t4_node(), []))
RELABELLED = Upsert(read_node(t4_node(labels={"a": "b"}), []))
PLAIN = Upsert(read_namespace(namespace(), []))
POLICY = Upsert(read_namespace(namespace(families="turing"), []))
LABELLED = Upsert(read_namespace(namespace(labels={"team": "a"}), []))


class Told:
    def __init__(self) -> None:
        self.metrics = Metrics()
        self.cluster = Cluster(Config())
        self.nodes: list[str] = []
        self.policies: list[str] = []
        self.changes = 0
        feed = Feed(self.cluster, self.metrics)
        feed.on_node.append(self.nodes.append)
        feed.on_policy.append(self.policies.append)
        feed.on_change.append(self._count)
        self.apply = feed.apply

    def _count(self) -> None:
        self.changes += 1

    @property
    def elsewhere(self) -> float | None:
        return self.metrics.registry.get_sample_value("gpusched_pods_bound_elsewhere_total")


@pytest.mark.parametrize(
    ("events", "nodes", "policies"),
    [
        ([NODE, RELABELLED], ["t4", "t4"], []),
        ([NODE, Gone(Kind.NODE, "t4")], ["t4", "t4"], []),
        ([PLAIN, POLICY, PLAIN], [], ["team-a", "team-a"]),
        ([PLAIN, LABELLED], [], ["team-a"]),
        ([POLICY, Gone(Kind.NAMESPACE, "team-a"), PLAIN], [], []),
        ([PLAIN, Replace(Kind.NAMESPACE, (POLICY.seen,))], [], ["team-a"]),
        ([Replace(Kind.NODE, (NODE.seen,))], ["t4"], []),
    ],
)
def test_who_is_told_what(events: list[Event], nodes: list[str], policies: list[str]) -> None:
    told = Told()
    for event in events:
        told.apply(event)

    assert (told.nodes, told.policies, told.changes) == (nodes, policies, len(events))


@pytest.mark.parametrize("event", [NODE, POLICY, Upsert(read_pod(pod(), []))])
def test_an_object_that_says_nothing_new_changes_nothing(event: Event) -> None:
    told = Told()
    for _ in range(3):
        told.apply(event)

    assert (told.changes, told.cluster.generation) == (1, 1)


def test_listeners_see_the_state_after_the_event() -> None:
    told, seen = Told(), []
    feed = Feed(told.cluster, told.metrics)
    feed.on_node.append(lambda name: seen.append(name in told.cluster.nodes))
    feed.apply(NODE)
    feed.apply(Gone(Kind.NODE, "t4"))

    assert seen == [True, False]


def test_pods_bound_round_gpusched_count_once() -> None:
    told = Told()
    theirs = bound(pod("a"), "t4", ours=False)
    for tree in (theirs, theirs, bound(pod("b"), "t4"), bound(pod("cpu", gpus=None), "t4", ours=False)):
        told.apply(Upsert(read_pod(tree, [])))

    assert told.elsewhere == 1


def test_what_may_make_room_is_told() -> None:
    """A pod that leaves its node, a node that changed, a list made anew; not a pod that comes or waits."""
    cluster, metrics = Cluster(Config()), Metrics()
    told: list[int] = []
    feed = Feed(cluster, metrics)
    feed.on_room.append(lambda: told.append(cluster.generation))
    waiting = read_pod(pod("w") | {"status": {"phase": "Pending"}}, [])
    running, ended = (read_pod(bound(pod("a"), "t4", phase=phase), []) for phase in ("Running", "Succeeded"))
    silent: list[Event] = [POLICY, Upsert(waiting), Upsert(running), Gone(Kind.POD, "unknown")]
    for event in (NODE, *silent, Upsert(ended), Upsert(running), Gone(Kind.POD, "uid-team-a-a"), RELABELLED):
        feed.apply(event)
    feed.apply(Replace(Kind.POD, ()))

    assert told == [1, 5, 7, 8, 9]


def test_a_namespace_that_is_gone_takes_its_series_along() -> None:
    told = Told()
    for name in ("team-a", "team-b"):
        told.metrics.admission_refusals.labels(name, "gpu-policy-family", "audit").inc()
    told.apply(PLAIN)
    told.apply(Gone(Kind.NAMESPACE, "team-a"))

    text = told.metrics.render().decode()
    assert 'namespace="team-b"' in text
    assert 'namespace="team-a"' not in text
