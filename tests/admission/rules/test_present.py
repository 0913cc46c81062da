"""Warnings from the nodes of today: no node, mixed resources, unspecific requests."""

import msgspec
import pytest

from gpusched.core.cluster_facts import ClusterFacts
from gpusched.core.codes import Reason
from gpusched.core.node import Node
from gpusched.core.node_groups import NodeGroup
from gpusched.core.pool import Sharing
from tests.admission.judging import codes, facts_of, gpu_node, judged, lines
from tests.admission.patching import mutated_pod
from tests.build import container, pod

_TURING = "no present node meets families turing of namespace team-a ({}). Autoscaled nodes may."
_ZONE_A = {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}
_IN_ZONE_A = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [_ZONE_A]}}}
_H100 = gpu_node("h", 8, family="hopper", product="h100-80gb-hbm3", memory=81559)


@pytest.mark.parametrize(
    ("nodes", "gpus", "policy", "said"),
    [
        ([], 1, {}, "no present node offers nvidia.com/gpu. Autoscaled nodes may."),
        ([gpu_node(slots=0)], 1, {}, "no present node offers nvidia.com/gpu. Autoscaled nodes may."),
        ([_H100], 9, {}, "no present node has nvidia.com/gpu: 9; the largest has 8. Autoscaled nodes may."),
        ([_H100], 1, {"families": "turing"}, _TURING.format("here: hopper")),
        ([_H100], 8, {}, None),
        ([gpu_node(family=None, blocked=Reason.RECONFIGURING)], 1, {"families": "turing"}, None),
        ([gpu_node(family=None)], 1, {"families": "turing"}, _TURING.format("unknown here")),
    ],
)
def test_no_node(nodes: list[Node], gpus: int, policy: dict[str, str], said: str | None) -> None:
    answer = judged(pod(gpus=gpus), policy=policy, facts=facts_of(*nodes))
    assert answer.allowed
    assert [line for line in lines(answer)[1] if line.startswith("gpu-no-node")] == (
        [] if said is None else [f"gpu-no-node: {said}"]
    )


@pytest.mark.parametrize(
    ("own", "policy", "said"),
    [
        (
            {"gpusched.io/min-gpu-memory": "40Gi"},
            {"families": "turing, ada-lovelace, ampere, blackwell, volta, pascal, maxwell, kepler"},
            "its min-gpu-memory and families of namespace team-a together.",
        ),
        (
            {"gpusched.io/min-gpu-memory": "40Gi"},
            {"families": "turing, ada-lovelace, ampere", "products": "t4, l4, l40s, a100"},
            "min-gpu-memory and families and products together.",
        ),
        ({}, {"families": "turing, ada-lovelace, ampere, blackwell, volta, pascal"}, "families of namespace team-a."),
    ],
)
def test_long_lists_leave_whole_sentences(own: dict[str, str], policy: dict[str, str], said: str) -> None:
    facts = facts_of(_H100, *([gpu_node("t")] if own else []))
    answer = judged(pod(gpus=1, annotations=own), policy=policy, facts=facts)

    assert f"gpu-no-node: no present node meets {said}" in lines(answer)[1]


@pytest.mark.parametrize(
    ("annotations", "said"),
    [
        ({"min-cuda-version": "13.1"}, "min-cuda-version 13.1 (unknown here)"),
        ({"min-gpu-memory": "100Gi"}, "min-gpu-memory 100Gi (largest here: 79.6Gi)"),
        ({"families": "blackwell"}, "families blackwell (here: hopper, turing)"),
        ({"node-selector": "rack=7"}, "node-selector rack=7 (rack is not set)"),
        ({"families": "turing", "min-gpu-memory": "40Gi"}, "families turing and min-gpu-memory 40Gi together"),
    ],
)
def test_the_rule_that_nothing_meets_is_named(annotations: dict[str, str], said: str) -> None:
    tree = pod(annotations={f"gpusched.io/{key}": value for key, value in annotations.items()})
    (line,) = lines(judged(tree, facts=facts_of(_H100, gpu_node("t"))))[1]
    assert line == f"gpu-no-node: no present node meets {said}. Autoscaled nodes may."


def required(term: dict[str, object]) -> dict[str, object]:
    """Required node affinity of one term."""
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}


def test_without_a_cluster_nothing_is_concluded() -> None:
    assert codes(judged(pod(gpus=99), facts=ClusterFacts())) == ([], [])


def test_the_pods_own_node_selector_counts() -> None:
    facts = facts_of(gpu_node(labels={"zone": "a"}))
    assert lines(judged(pod(nodeSelector={"zone": "b"}), facts=facts)) == (
        [],
        ["gpu-no-node: no present node is labelled zone=b. Autoscaled nodes may."],
    )
    assert codes(judged(pod(nodeSelector={"zone": "a"}), facts=facts)) == ([], [])


@pytest.mark.parametrize(
    ("own", "rules"),
    [
        ({}, "families turing and min-gpu-memory 40Gi together"),
        ({"affinity": _IN_ZONE_A}, "families turing and min-gpu-memory 40Gi and its node selector"),
    ],
)
def test_lowered_affinity_is_not_taken_for_the_authors(own: dict[str, object], rules: str) -> None:
    """A webhook that comes later has the pod reviewed again, with what the first review has added."""
    facts = facts_of(gpu_node("t"), _H100)
    tree = pod(annotations={"gpusched.io/families": "turing", "gpusched.io/min-gpu-memory": "40Gi"}, **own)
    first = judged(tree, facts=facts)

    assert rules in lines(first)[1][0]
    assert lines(judged(mutated_pod(tree, facts=facts), facts=facts)) == lines(first)


def test_several_slots_on_mps_never_fit() -> None:
    facts = facts_of(gpu_node("m", 8, sharing=Sharing.MPS, replicas=4))
    assert codes(judged(pod(gpus=2), facts=facts)) == ([], ["gpu-shared-single", "gpu-no-node"])


def test_a_node_that_serves_by_dra_is_not_judged() -> None:
    node = msgspec.structs.replace(gpu_node(slots=0), pools=(), dra_resources=frozenset({"nvidia.com/gpu"}))
    assert codes(judged(pod(gpus=4), facts=facts_of(node))) == ([], [])


_TWO = pod("p", "n", container("a", gpus=1), container("b", gpus=1, resource="amd.com/gpu"))


def test_two_vendors_without_a_cluster() -> None:
    assert lines(judged(_TWO)) == (
        [],
        ["gpu-mixed-resources: pod asks amd.com/gpu, nvidia.com/gpu; nodes have GPUs of one vendor."],
    )


def test_two_resources_that_no_node_has_together() -> None:
    tree = pod("p", "n", container("a", gpus=1), container("b", gpus=1, resource="nvidia.com/mig-1g.5gb"))
    mig = gpu_node("m", resource="nvidia.com/mig-1g.5gb", sharing=Sharing.MIG)
    both = msgspec.structs.replace(gpu_node("b"), pools=(*gpu_node().pools, *mig.pools))
    assert codes(judged(tree)) == ([], [])
    assert codes(judged(tree, facts=facts_of(gpu_node(), mig))) == ([], ["gpu-mixed-resources", "gpu-no-node"])
    assert codes(judged(tree, facts=facts_of(gpu_node(), mig, both))) == ([], [])


def test_unspecific() -> None:
    facts = facts_of(_H100, gpu_node("t"))
    assert lines(judged(pod(), facts=facts)) == (
        [],
        ["gpu-unspecific: nvidia.com/gpu here has 15.0Gi to 79.6Gi. Set gpusched.io/min-gpu-memory."],
    )


@pytest.mark.parametrize(
    ("annotations", "policy"),
    [
        ({"gpusched.io/families": "hopper"}, {}),
        ({"gpusched.io/gpu-memory": "6Gi"}, {}),
        ({}, {"min-gpu-memory": "10Gi"}),
        ({}, {"products": "t4, h100"}),
    ],
)
def test_any_word_on_family_product_or_memory_is_specific(annotations: dict[str, str], policy: dict[str, str]) -> None:
    facts = facts_of(_H100, gpu_node("t"))
    assert codes(judged(pod(annotations=annotations), policy=policy, facts=facts)) == ([], [])


def test_a_node_selector_that_leaves_equal_gpus_is_specific() -> None:
    facts = facts_of(_H100, gpu_node("t", labels={"pool": "t4"}))
    assert codes(judged(pod(nodeSelector={"pool": "t4"}), facts=facts)) == ([], [])


@pytest.mark.parametrize(
    "node",
    [
        gpu_node(labels={"gpusched.io/vendor": "nvidia"}, blocked=Reason.RECONFIGURING),
        gpu_node(family="hopper"),
    ],
)
def test_lowered_affinity_is_not_held_against_labels_that_are_not_settled(node: Node) -> None:
    policy, facts = {"families": "hopper"}, facts_of(node)
    assert codes(judged(mutated_pod(pod(), policy=policy, facts=facts), policy=policy, facts=facts)) == ([], [])


_ZONED = [
    msgspec.structs.replace(
        gpu_node(f"n{turn}", slots=1 + turn % 3, memory=15360 * (1 + turn % 2), labels=labels),
        dra_resources=frozenset({"amd.com/gpu"} if turn == 5 else ()),
    )
    for turn, labels in enumerate([{}, {"zone": "a"}, {"zone": "b"}, {"zone": "a", "disk": "ssd"}] * 3)
]


@pytest.mark.parametrize("gpus", [1, 3, 4])
@pytest.mark.parametrize("policy", [{}, {"node-selector": "zone=a"}, {"min-gpu-memory": "20Gi"}])
@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"nodeSelector": {"zone": "a"}},
        {"nodeSelector": {"zone": "b", "disk": "ssd"}},
        {"affinity": required({"matchExpressions": [{"key": "zone", "operator": "Exists"}]})},
        {"affinity": required({"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n3"]}]})},
        {"affinity": required({"matchFields": [{"key": "metadata.name", "operator": "NotIn", "values": ["n3"]}]})},
    ],
)
def test_like_nodes_are_judged_once_with_the_answer_of_each(
    asked: dict[str, object], policy: dict[str, str], gpus: int
) -> None:
    facts = facts_of(*_ZONED)
    apart = msgspec.structs.replace(facts, grouped=tuple(NodeGroup([node]) for node in _ZONED))
    assert len(facts.groups) < len(_ZONED)
    for annotations in ({}, {"gpusched.io/gpu-memory": "40Gi"}):
        tree = pod(gpus=gpus, annotations=annotations, **asked)
        assert judged(tree, policy=policy, facts=facts) == judged(tree, policy=policy, facts=apart)
