"""What-if questions change the books and put them back, whatever happens."""

from collections.abc import Callable

import pytest

from gpusched.core.codes import Reason
from gpusched.simulate.reasons.explain import explain_fully
from gpusched.simulate.remedies import trials, waiting
from gpusched.simulate.run import Simulation
from gpusched.simulate.world import World
from tests.build import Tree, a100_node, bound, h100_node, namespace, pod, t4_node
from tests.simulate.scene import only, simulate


def _books(world: World) -> object:
    """Everything that a decision depends on."""
    cluster, ledger = world.cluster, world.ledger
    return (
        dict(cluster.pods),
        {name: (dict(state.holders), state.signature) for name, state in cluster.nodes.items()},
        cluster.quota_use("team-a"),
        cluster.resolution("team-a", {}),
        cluster.namespace_object("team-a"),
        {name: (dict(node.bound), dict(node.used), dict(node.free)) for name, node in ledger.nodes.items()},
        [record.key for record in cluster.gated()],
    )


CLUSTER = [
    h100_node("h", gpus=2),
    a100_node("a", gpus=1, unschedulable=True),
    t4_node("t", gpus=1, replicas=4),
    bound(pod("one"), "h"),
    bound(pod("two"), "h"),
    bound(pod("claims", annotations={"gpusched.io/gpu-memory": "3Gi"}), "t"),
    namespace(families="hopper, ampere", quota="hopper=8"),
]
ASKED = pod("p", gpus=2, annotations={"gpusched.io/families": "hopper"}, nodeSelector={"kubernetes.io/hostname": "h"})


def _waiting() -> Simulation:
    simulation = simulate(CLUSTER, ASKED)
    assert simulation.outcomes[0].waiting
    return simulation


def _explain(simulation: Simulation) -> None:
    (outcome,) = simulation.outcomes
    assert outcome.candidate is not None
    explain_fully(outcome.planned, outcome.candidate, simulation.world)


def test_an_explanation_leaves_the_books_as_they_were() -> None:
    simulation = _waiting()
    before = _books(simulation.world)
    _explain(simulation)

    assert _books(simulation.world) == before


class BrokenError(Exception):
    """Something that goes wrong in the middle."""


def _after(calls: int, answer: object) -> Callable[..., object]:
    """Something that gives the answer that often and then breaks."""
    left = [calls]

    def asked(*_arguments: object) -> object:
        left[0] -= 1
        if left[0] < 0:
            raise BrokenError
        return answer

    return asked


@pytest.mark.parametrize(
    ("module", "name", "answer"), [(trials, "survey", ()), (waiting, "verdict", Reason.FREE_REPLICAS)]
)
@pytest.mark.parametrize("calls", [0, 1, 2])
def test_the_books_are_put_back_when_a_question_breaks(
    monkeypatch: pytest.MonkeyPatch, module: object, name: str, answer: object, calls: int
) -> None:
    simulation = _waiting()
    before = _books(simulation.world)
    monkeypatch.setattr(module, name, _after(calls, answer))
    with pytest.raises(BrokenError):
        _explain(simulation)
    assert _books(simulation.world) == before


@pytest.mark.parametrize(
    ("cluster", "tree", "expected"),
    [
        ([t4_node("t"), bound(pod("x"), "t")], pod("p"), "pod team-a/x on t holds it"),
        (
            [h100_node("h", gpus=3), *(bound(pod(name), "h") for name in "abc")],
            pod("p", gpus=3, annotations={"gpusched.io/sharing": "none"}),
            "pods team-a/a, team-a/b, team-a/c on h hold it",
        ),
        (
            [
                t4_node("t"),
                t4_node("u", gpus=2),
                bound(pod("x", priority=100), "t"),
                bound(pod("y", gpus=2, priority=1), "u"),
            ],
            pod("p"),
            "pod team-a/x on t holds it",
        ),
    ],
)
def test_the_fewest_pods_of_one_node_are_named(cluster: list[Tree], tree: Tree, expected: str) -> None:
    simulation = simulate(cluster, tree)
    (outcome,) = simulation.outcomes
    assert outcome.candidate is not None
    states = {Reason.NATIVE_RESOURCES: [state for _, state in sorted(simulation.world.cluster.nodes.items())]}

    release = waiting.release_that_fits(outcome.candidate, states, simulation.world)
    assert release is not None
    assert (release.text, release.going) == (expected, False)


def test_nobody_is_waited_for_who_does_not_end() -> None:
    mirror = bound(pod("static", annotations={"kubernetes.io/config.mirror": "x"}), "t")
    view = only([t4_node("t"), mirror], pod("p"))

    assert view.unschedulable is not None
    assert "Wait" not in view.unschedulable.suggestion
