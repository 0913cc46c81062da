import pytest

from gpusched.core.read_cluster import read_node
from gpusched.simulate.reasons.alike import Alike
from gpusched.simulate.reasons.survey import survey
from gpusched.state.events import Upsert
from tests.build import Tree, bound, h100_node, pod, t4_node
from tests.simulate.scene import simulate

CLUSTER = [
    t4_node("a"),
    t4_node("b"),
    t4_node("c", labels={"disk": "ssd"}),
    t4_node("d", unschedulable=True),
    h100_node("h"),
    t4_node("e"),
    bound(pod("old"), "e"),
    t4_node("f", taints=[{"key": "x", "effect": "NoSchedule"}]),
]


def judged(tree: Tree) -> tuple[list[list[str]], list[list[str]]]:
    """Names of the nodes with one key, and of those of one class."""
    simulation = simulate(CLUSTER, tree)
    (outcome,) = simulation.outcomes
    assert outcome.candidate is not None
    alike = Alike(simulation.world)
    keys: dict[object, list[str]] = {}
    for name in sorted(simulation.world.cluster.nodes):
        keys.setdefault(alike.key(outcome.candidate, name), []).append(name)
    classes: dict[int, list[str]] = {}
    for _, states, node_class in survey(outcome.candidate, simulation.world):
        classes.setdefault(id(node_class), []).extend(state.node.name for state in states)
    return list(keys.values()), list(classes.values())


@pytest.mark.parametrize(
    ("tree", "keys", "classes"),
    [
        (pod("p", gpus=99), [["a", "b", "c"], ["d"], ["e"], ["f"], ["h"]], [["a", "b", "c", "e"], ["d"], ["f"], ["h"]]),
        (
            pod("p", gpus=99, nodeSelector={"disk": "ssd"}),
            [["a", "b"], ["c"], ["d"], ["e"], ["f"], ["h"]],
            [["a", "b", "e"], ["c"], ["d"], ["f"], ["h"]],
        ),
        (
            pod("p", gpus=99, annotations={"gpusched.io/node-selector": "disk=ssd"}),
            [["a", "b"], ["c"], ["d"], ["e"], ["f"], ["h"]],
            [["a", "b", "e"], ["c"], ["d"], ["f"], ["h"]],
        ),
    ],
)
def test_nodes_are_alike_but_for_what_the_pod_looks_at(
    tree: Tree, keys: list[list[str]], classes: list[list[str]]
) -> None:
    assert judged(tree) == (keys, classes)


def test_a_pod_that_looks_at_other_pods_tells_every_node_apart() -> None:
    term = {"labelSelector": {"matchLabels": {"app": "x"}}, "topologyKey": "kubernetes.io/hostname"}
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}

    keys, classes = judged(pod("p", gpus=99, affinity=affinity))
    assert keys == [["a"], ["b"], ["c"], ["d"], ["e"], ["f"], ["h"]]
    assert classes == [["a", "b", "c", "e"], ["d"], ["f"], ["h"]]


def test_classes_follow_the_nodes() -> None:
    simulation = simulate(CLUSTER, pod("p", gpus=1, nodeSelector={"kubernetes.io/hostname": "z"}))
    candidate = simulation.outcomes[0].candidate
    assert candidate is not None
    before = [found.reason for found in survey(candidate, simulation.world)]
    relabelled = read_node(t4_node("a", labels={"kubernetes.io/hostname": "z"}), [])
    simulation.world.cluster.apply(Upsert(relabelled))

    assert None not in before
    assert [states[0].node.name for reason, states, _ in survey(candidate, simulation.world) if reason is None] == ["a"]
    simulation.world.bind(simulation.world.pods["team-a", "old"], "a")
    assert None not in [found.reason for found in survey(candidate, simulation.world)]


def test_the_key_changes_with_the_node() -> None:
    simulation = simulate(CLUSTER, pod("p", gpus=99))
    candidate = simulation.outcomes[0].candidate
    assert candidate is not None
    alike = Alike(simulation.world)
    before = alike.key(candidate, "a")

    assert before == alike.key(candidate, "b")
    assert before != alike.key(candidate, "e")
    simulation.world.bind(simulation.world.pods["team-a", "old"], "a")
    assert before != alike.key(candidate, "a")
