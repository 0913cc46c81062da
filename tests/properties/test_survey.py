"""Judging nodes by classes says of every node what judging it by itself says, and leads to the same explanation."""

from collections.abc import Iterator
from unittest.mock import patch

from hypothesis import given
from hypothesis import strategies as st

from gpusched.simulate.admit import Candidate
from gpusched.simulate.evaluate import verdict
from gpusched.simulate.node_classes import single
from gpusched.simulate.reasons import explain
from gpusched.simulate.reasons.survey import Finding, survey
from gpusched.simulate.remedies import trials
from gpusched.simulate.world import World
from tests.build import Tree, bound, namespace, pod
from tests.properties.fleet import nodes, pods
from tests.simulate.scene import simulate

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_OTHERS = {"labelSelector": {"matchLabels": {"app": "x"}}, "topologyKey": "zone"}
_RULES = st.sampled_from(
    [
        {},
        {},
        {"affinity": {"podAntiAffinity": {_REQUIRED: [_OTHERS]}}},
        {"affinity": {"podAffinity": {_REQUIRED: [_OTHERS]}}},
        {"topologySpreadConstraints": [_OTHERS | {"maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}]},
    ]
)


def one_by_one(candidate: Candidate, world: World, pinned: str = "") -> Iterator[Finding]:
    """The oracle: every node by itself, by name."""
    states = world.cluster.nodes
    for name in [pinned] if pinned else sorted(states):
        yield Finding(verdict(candidate, states[name], world), [states[name]], single(states[name], world.ledger))


@st.composite
def clusters(draw: st.DrawFn) -> list[Tree]:
    """Nodes, some cordoned, tainted or short of processors, with pods on some, in a namespace that may have a quota."""
    trees = draw(nodes(most=12))
    for tree in trees:
        oddity = draw(st.integers(0, 7))
        if oddity == 0:
            tree["spec"]["unschedulable"] = True
        elif oddity == 1:
            tree["spec"]["taints"] = [{"key": "team", "value": "b", "effect": "NoSchedule"}]
        elif oddity == 2:
            tree["status"]["allocatable"]["cpu"] = "1"
    held = []
    for turn, tree in enumerate(trees):
        amounts = tree["status"]["allocatable"]
        gpus = int(amounts.get("nvidia.com/gpu", 0))
        if gpus and draw(st.booleans()):
            claim = {"gpusched.io/gpu-memory": "2Gi"} if draw(st.booleans()) else {}
            asked = draw(st.integers(1, gpus))
            running = pod(f"r{turn}", gpus=asked, annotations=claim, labels={"app": draw(st.sampled_from("xy"))})
            held.append(bound(running, tree["metadata"]["name"]))
    policy = draw(st.sampled_from([{}, {}, {"families": "ampere, hopper"}, {"quota": "*=3"}, {"quota": "*=40"}]))
    return [*trees, *held, namespace(**policy)]


@given(clusters(), pods(), _RULES, st.integers(0, 2))
def test_classes_say_what_single_nodes_say(cluster: list[Tree], tree: Tree, rules: Tree, much: int) -> None:
    tree["spec"] |= rules
    tree["spec"]["containers"][0]["resources"]["requests"] = {"cpu": f"{much * 40}"}
    simulation = simulate(cluster, tree)
    for outcome in simulation.outcomes:
        if outcome.candidate is None or outcome.node is not None or not simulation.world.cluster.nodes:
            continue
        found = survey(outcome.candidate, simulation.world)
        said = {state.node.name: reason for reason, states, _ in found for state in states}
        alone = one_by_one(outcome.candidate, simulation.world)
        assert said == {states[0].node.name: reason for reason, states, _ in alone}
        explained = explain.explain_fully(outcome.planned, outcome.candidate, simulation.world)
        with patch.object(explain, "survey", one_by_one), patch.object(trials, "survey", one_by_one):
            assert explained == explain.explain_fully(outcome.planned, outcome.candidate, simulation.world)
