from itertools import product

import pytest

from gpusched.admission.admission import Context
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
from tests.admission.judging import RESOURCES
from tests.admission.patching import mutated_pod
from tests.build import pod

HOPPER = {"key": "gpusched.io/family", "operator": "In", "values": ["hopper"]}
MIXED = {"key": "gpusched.io/mixed", "operator": "In", "values": ["true"]}
ZONE = {"key": "zone", "operator": "In", "values": ["a"]}
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
POLICY = {"families": "hopper"}
LOWERED, HASH = "status.gpusched.io/lowered", "status.gpusched.io/policy-hash"


PRODUCTS = ("a100-sxm4-40gb", "a100-80gb-pcie", "a10", "h100-80gb-hbm3", "future-9000-x", None)
POOLS = [
    Pool(
        "nvidia.com/gpu",
        "nvidia",
        1,
        family=family,
        product=name,
        sharing=sharing,
        visible_memory_mib=memory,
        cuda_version=version,
        driver_version=None if version is None else version * 10,
    )
    for family, name, sharing, memory, version in product(
        ("ampere", "hopper", None), PRODUCTS, (Sharing.NONE, Sharing.MPS, None), (20479, 20480, None), (12040, None)
    )
]
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
