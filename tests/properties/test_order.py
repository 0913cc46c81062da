"""No decision depends on an order that means nothing: of keys in an object, of containers, of nodes, of pods seen."""

import copy
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from gpusched.admission.admission import Admission, Context
from gpusched.admission.judge_pod import judge_pod
from gpusched.core.read_pod import read_pod
from gpusched.placement.candidates import candidates
from gpusched.placement.filter import filter_nodes
from gpusched.placement.request import request_of
from gpusched.placement.score import scores
from gpusched.policy.model import Config
from gpusched.state.cluster import Cluster
from tests.admission.patching import applied
from tests.build import Tree, bound, pod
from tests.placement.scene import see
from tests.properties.fleet import nodes, odd_pods, pods, policies, team

settings.register_profile("order", max_examples=100, deadline=None)
PROFILE = settings.get_profile("order")
HOLDERS = st.lists(st.tuples(st.sampled_from(["n0", "n1", "n2"]), st.sampled_from(["1Gi", "4Gi", None])), max_size=4)


def holders(placed: list[tuple[str, str | None]]) -> list[Tree]:
    """Running pods of the namespace, each with a claim or without one."""
    return [
        bound(pod(f"h{turn}", annotations={"gpusched.io/gpu-memory": claim} if claim else {}), name)
        for turn, (name, claim) in enumerate(placed)
    ]


def turned(value: Any, data: st.DataObject) -> Any:
    """The tree with the keys of every object in another order."""
    if isinstance(value, dict):
        return {key: turned(value[key], data) for key in data.draw(st.permutations(list(value)))}
    return [turned(item, data) for item in value] if isinstance(value, list) else value


def cluster_of(trees: list[Tree]) -> Cluster:
    cluster = Cluster(Config(candidates=2), label_nodes=True)
    for tree in trees:
        see(cluster, tree)
    return cluster


def judged(tree: Tree, cluster: Cluster) -> Admission:
    seen = read_pod(tree, [])
    request = request_of(seen, cluster)
    context = Context(
        facts=cluster.facts,
        resolution=request.resolution,
        config=cluster.config,
        resources=cluster.resources,
        namespace=seen.namespace,
    )
    return judge_pod(seen, tree, request.demand, context)


def placed(tree: Tree, cluster: Cluster) -> object:
    """Everything that the extender says of a pod, without the order in which it says it."""
    request = request_of(read_pod(tree, []), cluster)
    names = list(cluster.nodes)
    answer = filter_nodes(request, names, cluster)
    best = candidates(request, answer.fits, cluster, 2, retry=False)
    by_score = {score: set(equals) for score, equals in scores(request, names, cluster).items()}
    return set(answer.fits), answer.refused, by_score, set(best)


@PROFILE
@given(nodes(most=5), policies(), HOLDERS, pods() | odd_pods(), st.data())
def test_of_keys_nodes_and_pods(
    trees: list[Tree], policy: dict[str, str], held: list[tuple[str, str | None]], tree: Tree, data: st.DataObject
) -> None:
    objects = [*trees, *holders(held), team(policy)]
    other_objects = [turned(item, data) for item in data.draw(st.permutations(objects))]
    other_tree = turned(tree, data)
    cluster, other = cluster_of(objects), cluster_of(other_objects)

    assert {name: state.node for name, state in cluster.nodes.items()} == {
        name: state.node for name, state in other.nodes.items()
    }
    assert cluster.facts == other.facts
    answer, other_answer = judged(tree, cluster), judged(other_tree, other)
    assert (answer.refusals, answer.warnings, answer.audit) == (
        other_answer.refusals,
        other_answer.warnings,
        other_answer.audit,
    )
    assert applied(tree, answer.patch) == applied(other_tree, other_answer.patch)
    assert placed(tree, cluster) == placed(other_tree, other)


@PROFILE
@given(nodes(most=4), policies(), HOLDERS, pods() | odd_pods(), st.data())
def test_of_containers(
    trees: list[Tree], policy: dict[str, str], held: list[tuple[str, str | None]], tree: Tree, data: st.DataObject
) -> None:
    cluster = cluster_of([*trees, *holders(held), team(policy)])
    other = copy.deepcopy(tree)
    other["spec"]["containers"] = data.draw(st.permutations(other["spec"]["containers"]))

    answer, other_answer = judged(tree, cluster), judged(other, cluster)
    assert answer.allowed is other_answer.allowed
    assert [finding.code for finding in answer.refusals] == [finding.code for finding in other_answer.refusals]
    assert [finding.code for finding in answer.warnings] == [finding.code for finding in other_answer.warnings]
    assert _by_name(applied(tree, answer.patch)) == _by_name(applied(other, other_answer.patch))
    assert placed(tree, cluster) == placed(other, cluster)


def _by_name(tree: Tree) -> Tree:
    spec = tree["spec"]
    return tree | {"spec": spec | {"containers": sorted(spec["containers"], key=lambda item: str(item["name"]))}}
