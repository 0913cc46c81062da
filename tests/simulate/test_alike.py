import pytest

from gpusched.simulate.alike import Alike
from gpusched.simulate.evaluate import verdict
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


def grouped(tree: Tree) -> list[list[str]]:
    simulation = simulate(CLUSTER, tree)
    (outcome,) = simulation.outcomes
    assert outcome.candidate is not None
    groups = Alike(simulation.world).groups(outcome.candidate)
    for group in groups:
        assert len({verdict(outcome.candidate, state, simulation.world) for state in group}) == 1
    return [[state.node.name for state in group] for group in groups]


@pytest.mark.parametrize(
    ("tree", "groups"),
    [
        (pod("p", gpus=99), [["a", "b", "c"], ["d"], ["e"], ["f"], ["h"]]),
        (pod("p", gpus=99, nodeSelector={"disk": "ssd"}), [["a", "b"], ["c"], ["d"], ["e"], ["f"], ["h"]]),
        (
            pod("p", gpus=99, annotations={"gpusched.io/node-selector": "disk=ssd"}),
            [["a", "b"], ["c"], ["d"], ["e"], ["f"], ["h"]],
        ),
    ],
)
def test_nodes_are_alike_but_for_what_the_pod_looks_at(tree: Tree, groups: list[list[str]]) -> None:
    assert grouped(tree) == groups


def test_a_pod_that_looks_at_other_pods_tells_every_node_apart() -> None:
    term = {"labelSelector": {"matchLabels": {"app": "x"}}, "topologyKey": "kubernetes.io/hostname"}
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}

    assert grouped(pod("p", gpus=99, affinity=affinity)) == [["a"], ["b"], ["c"], ["d"], ["e"], ["f"], ["h"]]


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
