from itertools import product
from typing import Any

import pytest

from gpusched.admission.admission import Context, Op
from gpusched.admission.lower import alternatives, matching_products
from gpusched.core.cluster_facts import ClusterFacts
from gpusched.core.constraints import Constraints, MemoryBound
from gpusched.core.node import Node, NodeObject
from gpusched.core.pool import Pool, Sharing
from gpusched.core.read_pod import read_pod
from gpusched.core.selector import Operator, Requirement, all_match
from gpusched.dialects.labels import gpusched_labels
from gpusched.policy.model import Config, Mode, Modes, Parsed
from gpusched.policy.resolution import Resolution
from tests.admission.judging import RESOURCES, facts_of, gpu_node
from tests.admission.patching import mutated, mutated_pod, terms_of
from tests.build import container, pod

HOPPER = {"key": "gpusched.io/family", "operator": "In", "values": ["hopper"]}
MIXED = {"key": "gpusched.io/mixed", "operator": "In", "values": ["true"]}
ZONE = {"key": "zone", "operator": "In", "values": ["a"]}
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
POLICY = {"families": "hopper"}
LOWERED, HASH = "status.gpusched.io/lowered", "status.gpusched.io/policy-hash"


def affine(*terms: Any, **extra: Any) -> dict[str, Any]:
    return {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": list(terms)}}, **extra}


def lowered(tree: Any, **arguments: Any) -> Any:
    return terms_of(mutated_pod(tree, **{"policy": POLICY, **arguments}))


def test_a_pod_without_affinity_gets_the_alternatives() -> None:
    mutation = mutated(pod(), policy=POLICY)
    terms = [{"matchExpressions": [HOPPER]}, {"matchExpressions": [MIXED]}]
    text = mutation.patch[1].value
    assert isinstance(text, dict)
    assert mutation.patch == (
        Op("add", "/spec/affinity", affine(*terms)),
        Op("add", "/metadata/annotations", {LOWERED: "families=hopper (namespace team-a)", HASH: text[HASH]}),
    )
    assert dict(mutation.audit)["lowered"] == "families=hopper (namespace team-a)"


def test_each_of_the_users_terms_is_anded_with_each_alternative() -> None:
    disk = {"key": "disk", "operator": "Exists"}
    by_name = {"key": "metadata.name", "operator": "In", "values": ["n1"]}
    tree = pod(affinity=affine({"matchExpressions": [ZONE]}, {"matchExpressions": [disk], "matchFields": [by_name]}))
    assert lowered(tree) == [
        {"matchExpressions": [ZONE, HOPPER]},
        {"matchExpressions": [disk, HOPPER], "matchFields": [by_name]},
        {"matchExpressions": [ZONE, MIXED]},
        {"matchExpressions": [disk, MIXED], "matchFields": [by_name]},
    ]


def test_a_term_of_fields_alone_gets_expressions() -> None:
    by_name = {"key": "metadata.name", "operator": "In", "values": ["n1"]}
    assert lowered(pod(affinity=affine({"matchFields": [by_name], "matchExpressions": None}))) == [
        {"matchFields": [by_name], "matchExpressions": [HOPPER]},
        {"matchFields": [by_name], "matchExpressions": [MIXED]},
    ]


def test_the_rest_of_the_affinity_is_kept() -> None:
    preferred = [{"weight": 1, "preference": {"matchExpressions": [ZONE]}}]
    tree = pod(
        affinity={
            "podAntiAffinity": {"x": 1},
            "nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred},
        }
    )
    after = mutated_pod(tree, policy=POLICY)["spec"]["affinity"]
    assert after["podAntiAffinity"] == {"x": 1}
    assert after["nodeAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"] == preferred


def test_an_empty_term_matches_nothing_and_stays_so() -> None:
    assert lowered(pod(affinity=affine({}, {"matchExpressions": [ZONE]}))) == [
        {},
        {"matchExpressions": [ZONE, HOPPER]},
        {"matchExpressions": [ZONE, MIXED]},
    ]


@pytest.mark.parametrize(
    "affinity",
    [
        affine(),
        affine({}),
        affine({"matchExpressions": [], "matchFields": None}),
        affine(None),
        affine("text"),
        {"nodeAffinity": {REQUIRED: {}}},
        {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": None}}},
    ],
)
def test_affinity_that_matches_nothing_or_is_invalid_is_left_alone(affinity: Any) -> None:
    mutation = mutated(pod(affinity=affinity), policy=POLICY)
    assert mutation.patch == ()
    assert dict(mutation.audit)["lowered"] == "nothing: the pod's node affinity cannot be added to"


@pytest.mark.parametrize("affinity", [None, {}, {"nodeAffinity": None}, {"nodeAffinity": {REQUIRED: None}}])
def test_null_affinity_is_none(affinity: Any) -> None:
    assert lowered(pod(affinity=affinity)) == [{"matchExpressions": [HOPPER]}, {"matchExpressions": [MIXED]}]


@pytest.mark.parametrize(
    ("tree", "arguments", "why"),
    [
        (pod(), {"policy": {}}, "no static rule"),
        (pod(), {"policy": {"families": "hopper", "mode": "warn"}}, "no static rule"),
        (pod(), {"policy": {"families": "hopper", "mode": "enforce,family=audit"}}, "no static rule"),
        (pod(), {"policy": {"quota": "*=4"}}, "no static rule"),
        (pod(), {"config": Config(lowering_enabled=False)}, "lowering is switched off"),
        (pod(), {"facts": ClusterFacts(known=True, labelled=False)}, "the nodes are not labelled yet"),
        (pod(), {"controller": "DaemonSet"}, "a DaemonSet's pods are tied to their nodes"),
        (pod(schedulerName="volcano"), {}, "scheduler volcano has rules of its own"),
        (pod(nodeName="n1"), {}, "spec.nodeName skips the scheduler"),
    ],
)
def test_what_is_not_lowered(tree: Any, arguments: dict[str, Any], why: str) -> None:
    mutation = mutated(tree, **{"policy": POLICY, **arguments})
    assert [op for op in mutation.patch if "affinity" in op.path or "annotations" in op.path] == []
    assert dict(mutation.audit)["lowered"] == f"nothing: {why}"


def test_a_pod_owned_by_a_daemon_set_is_not_lowered() -> None:
    tree = pod()
    tree["metadata"]["ownerReferences"] = [{"kind": "DaemonSet", "name": "d", "uid": "u", "controller": True}]
    assert mutated(tree, policy=POLICY).patch == ()


@pytest.mark.parametrize("mode", ["warn", "audit", "off"])
def test_the_pods_own_rules_are_lowered_in_every_mode(mode: str) -> None:
    tree = mutated_pod(pod(annotations={"gpusched.io/families": "hopper"}), policy={"mode": mode})
    assert terms_of(tree)[0] == {"matchExpressions": [HOPPER]}
    assert tree["metadata"]["annotations"][LOWERED] == "families=hopper (pod)"


def test_the_text_names_who_says_what() -> None:
    policy = {"families": "hopper, ampere", "min-gpu-memory": "20Gi", "node-selector": "a=b"}
    tree = pod(annotations={"gpusched.io/families": "hopper"})
    text = mutated_pod(tree, policy=policy)["metadata"]["annotations"][LOWERED]
    assert text.endswith("(namespace team-a); families=hopper (pod)")
    assert text.startswith("families=hopper,ampere memory>=20Gi")


def test_a_rule_on_node_labels_alone_needs_no_alternatives() -> None:
    assert lowered(pod(), policy={"node-selector": "a=b,!c"}) == [
        {
            "matchExpressions": [
                {"key": "a", "operator": "In", "values": ["b"]},
                {"key": "c", "operator": "DoesNotExist"},
            ]
        }
    ]


def test_node_labels_are_asked_in_every_alternative() -> None:
    plain = {"key": "a", "operator": "In", "values": ["b"]}
    assert lowered(pod(), policy={"families": "hopper", "node-selector": "a=b"}) == [
        {"matchExpressions": [HOPPER, plain]},
        {"matchExpressions": [MIXED, plain]},
    ]


@pytest.mark.parametrize(
    ("config", "count"),
    [(Config(), 3), (Config(lowering_dialects=()), 2), (Config(lowering_dialects=("gke", "eks-auto")), 4)],
)
def test_templates_of_the_dialects_present_or_configured_are_allowed(config: Config, count: int) -> None:
    terms = lowered(pod(), facts=ClusterFacts(known=True, dialects=frozenset({"gke", "gfd"})), config=config)
    assert len(terms) == count
    unlabelled = {"key": "gpusched.io/vendor", "operator": "DoesNotExist"}
    assert all(unlabelled in term["matchExpressions"] for term in terms[2:])


def test_a_second_call_changes_nothing() -> None:
    tree = pod(affinity=affine({"matchExpressions": [ZONE]}))
    facts = ClusterFacts(known=True, dialects=frozenset({"gke"}))
    once = mutated_pod(tree, policy=POLICY, facts=facts)
    again = mutated(once, policy=POLICY, facts=facts)
    assert (again.patch, again.warnings) == ((), ())


def test_a_users_term_that_says_the_same_is_left_and_recorded() -> None:
    tree = pod(affinity=affine({"matchExpressions": [HOPPER, ZONE]}))
    after = mutated_pod(tree, policy=POLICY)
    assert terms_of(after) == [{"matchExpressions": [HOPPER, ZONE]}]
    assert set(after["metadata"]["annotations"]) == {LOWERED, HASH}


def test_forged_annotations_do_not_replace_lowering() -> None:
    real = mutated_pod(pod(), policy=POLICY)["metadata"]["annotations"]
    mutation = mutated(pod(annotations=real), policy=POLICY)
    assert [op.path for op in mutation.patch] == ["/spec/affinity"]
    assert [finding.code for finding in mutation.warnings] == ["policy-malformed", "policy-malformed"]


BOTH = facts_of(gpu_node("a"), gpu_node("b", 4, sharing=Sharing.TIME_SLICING, replicas=4))
TWO = pod("p", "team-a", container(gpus=2))
UNSHARED = {"key": "gpusched.io/sharing", "operator": "NotIn", "values": ["mps", "time-slicing"]}


def test_several_slots_go_to_unshared_gpus_where_both_kinds_are_present() -> None:
    after = mutated_pod(TWO, policy={"mode": "enforce"}, facts=BOTH)
    assert terms_of(after) == [{"matchExpressions": [UNSHARED]}]
    assert after["metadata"]["annotations"][LOWERED] == "sharing!=mps,time-slicing (several slots in one container)"


def test_unshared_is_anded_with_the_other_rules() -> None:
    terms = lowered(TWO, policy={"families": "turing"}, facts=BOTH)
    assert [term["matchExpressions"][-1] for term in terms] == [UNSHARED, UNSHARED]


@pytest.mark.parametrize(
    ("tree", "policy", "facts"),
    [
        (pod(), {"mode": "enforce"}, BOTH),
        (pod("p", "team-a", container("a", gpus=1), container("b", gpus=1)), {"mode": "enforce"}, BOTH),
        (TWO, {"mode": "warn"}, BOTH),
        (TWO, {"mode": "enforce,sharing=warn"}, BOTH),
        (TWO, {"mode": "enforce"}, facts_of(gpu_node("a"))),
        (TWO, {"mode": "enforce"}, facts_of(gpu_node("b", 4, sharing=Sharing.TIME_SLICING, replicas=4))),
        (TWO, {"mode": "enforce"}, facts_of(gpu_node("a", sharing=None), gpu_node("b", 4, sharing=Sharing.MPS))),
        (TWO, {"mode": "enforce"}, ClusterFacts()),
    ],
)
def test_unshared_is_not_lowered(tree: Any, policy: dict[str, str], facts: ClusterFacts) -> None:
    assert "affinity" not in mutated_pod(tree, policy=policy, facts=facts)["spec"]


def test_time_slicing_that_serves_several_slots_is_not_excluded() -> None:
    config = Config(time_slicing_single=False)
    assert "affinity" not in mutated_pod(TWO, policy={"mode": "enforce"}, facts=BOTH, config=config)["spec"]
    mps = facts_of(gpu_node("a"), gpu_node("b", 4, sharing=Sharing.MPS, replicas=4))
    terms = lowered(TWO, policy={"mode": "enforce"}, facts=mps, config=config)
    assert terms == [{"matchExpressions": [{**UNSHARED, "values": ["mps"]}]}]


PRODUCTS = ("a100-sxm4-40gb", "a100-80gb-pcie", "a10", "h100-80gb-hbm3", "future-9000-x", None)
POOLS = [
    Pool("nvidia.com/gpu", "nvidia", 1, family=family, product=name, sharing=sharing, visible_memory_mib=memory,
         cuda_version=version, driver_version=None if version is None else version * 10)
    for family, name, sharing, memory, version in product(
        ("ampere", "hopper", None), PRODUCTS, (Sharing.NONE, Sharing.MPS, None), (20479, 20480, None), (12040, None)
    )
]  # fmt: skip
NODES = [Node(NodeObject(f"n{index}"), (pool,)) for index, pool in enumerate(POOLS)]
BOUND = MemoryBound(20480, "20Gi")


def context(constraints: Constraints, *nodes: Node) -> Context:
    resolution = Resolution("team-a", Modes(Mode.ENFORCE), (), Parsed(), constraints, constraints)
    facts = ClusterFacts(known=True, nodes=nodes, pools=tuple(POOLS), dialects=frozenset({"gke", "gfd", "eks"}))
    return Context(facts=facts, resolution=resolution, config=Config(), resources=RESOURCES)


@pytest.mark.parametrize(
    "constraints",
    [
        Constraints(families=("hopper",)),
        Constraints(families=("hopper", "ampere")),
        Constraints(products=(("a100",),)),
        Constraints(products=(("a100", "h100"), ("80gb", "future-9000"))),
        Constraints(products=(("future-9000",),)),
        Constraints(min_memory=BOUND),
        Constraints(max_memory=BOUND),
        Constraints(min_memory=BOUND, max_memory=BOUND),
        Constraints(max_memory=MemoryBound(20479, "20479Mi")),
        Constraints(sharing=frozenset({Sharing.NONE})),
        Constraints(sharing=frozenset({Sharing.MPS, Sharing.MIG})),
        Constraints(min_cuda=12040),
        Constraints(min_cuda=12050),
        Constraints(min_driver=120400),
        Constraints(families=("ampere",), products=(("a100",),), min_memory=BOUND, min_cuda=12040),
    ],
)
def test_labelled_nodes_are_accepted_exactly_as_the_rules_accept_their_pools(constraints: Constraints) -> None:
    terms = alternatives(constraints, None, context(constraints, *NODES))
    for node in NODES:
        labels = gpusched_labels(node)
        accepted = any(all_match(term, labels) for term in terms)
        assert accepted is (constraints.reason_against(node.pools[0]) is None), (node.pools[0], labels)


def test_mixed_nodes_are_left_to_the_extender() -> None:
    constraints = Constraints(families=("hopper",))
    mixed = Node(NodeObject("m"), (POOLS[0], Pool("nvidia.com/mig-1g.5gb", "nvidia", 1, family="blackwell")))
    labels = gpusched_labels(mixed)
    assert labels["gpusched.io/mixed"] == "true"
    assert any(all_match(term, labels) for term in alternatives(constraints, None, context(constraints)))


def test_products_are_listed_in_full_and_in_order() -> None:
    constraints = Constraints(products=(("h100",),))
    term = alternatives(constraints, None, context(constraints))[0]
    assert term[0].key == "gpusched.io/product"
    assert list(term[0].values) == sorted(term[0].values)
    assert {"h100", "h100-80gb-hbm3", "h100-pcie", "h100-nvl"} <= set(term[0].values)
    assert not {"a100-sxm4-40gb", "gh200-480gb"} & set(term[0].values)


def test_words_that_are_no_label_values_are_not_listed() -> None:
    constraints = Constraints(products=(("a" * 70, "(x)"),))
    assert matching_products(constraints.products, frozenset()) == frozenset()
    terms = alternatives(constraints, None, context(constraints))
    assert terms[0] == (Requirement("gpusched.io/mixed", Operator.IN, ("true",)),)


def test_a_patched_pod_reads_back() -> None:
    facts = ClusterFacts(known=True, dialects=frozenset({"gke"}))
    affinity = read_pod(mutated_pod(pod(), policy=POLICY, facts=facts), []).spec.node_affinity
    assert affinity is not None
    assert [term.expressions[0].key for term in affinity] == [
        "gpusched.io/family",
        "gpusched.io/mixed",
        "cloud.google.com/gke-accelerator",
    ]
