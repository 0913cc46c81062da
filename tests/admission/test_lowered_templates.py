"""What an autoscaler sees of policy: lowered affinity, matched as kube-scheduler does, on nodes that do not exist yet.

cluster-autoscaler takes a node group's template for a node, Karpenter an instance type's requirements. Either knows the
cloud's labels and none of gpusched's.
"""

from typing import Any

import pytest

from gpusched.core.cluster_facts import ClusterFacts
from gpusched.core.node import NodeObject
from gpusched.core.read_pod import read_pod
from gpusched.native.affinity import node_affinity_reason
from tests.admission.patching import mutated_pod
from tests.build import pod

INSTANCE_TYPE = "node.kubernetes.io/instance-type"
AWS = "karpenter.k8s.aws/instance-gpu-"


def ec2(name: str, memory_mib: int) -> dict[str, str]:
    return {f"{AWS}name": name, f"{AWS}manufacturer": "nvidia", f"{AWS}memory": str(memory_mib), f"{AWS}count": "8"}


#: By dialect: the labels of templates, by the GPU that a node of it would have.
TEMPLATES: dict[str, dict[str, dict[str, str]]] = {
    "gke": {
        "t4": {"cloud.google.com/gke-accelerator": "nvidia-tesla-t4", "cloud.google.com/gke-nodepool": "a"},
        "a100": {"cloud.google.com/gke-accelerator": "nvidia-tesla-a100"},
        "h100": {"cloud.google.com/gke-accelerator": "nvidia-h100-80gb"},
        "none": {"cloud.google.com/gke-nodepool": "b"},
    },
    "karpenter-aws": {
        "t4": ec2("t4", 16384),
        "a100": ec2("a100", 40960),
        "h100": ec2("h100", 81920),
        "none": {"karpenter.k8s.aws/instance-family": "m5"},
    },
    "eks": {
        "t4": {INSTANCE_TYPE: "g4dn.xlarge", "eks.amazonaws.com/nodegroup": "a"},
        "a100": {INSTANCE_TYPE: "p4d.24xlarge"},
        "h100": {INSTANCE_TYPE: "p5.48xlarge"},
        "none": {INSTANCE_TYPE: "m5.xlarge"},
    },
    "aks": {
        "t4": {INSTANCE_TYPE: "Standard_NC4as_T4_v3", "kubernetes.azure.com/agentpool": "a"},
        "a100": {INSTANCE_TYPE: "Standard_ND96asr_v4"},
        "h100": {INSTANCE_TYPE: "Standard_ND96isr_H100_v5"},
        "none": {INSTANCE_TYPE: "Standard_D4s_v5"},
    },
    "azure-nap": {
        "t4": {"karpenter.azure.com/sku-gpu-name": "T4", "karpenter.azure.com/sku-gpu-manufacturer": "nvidia"},
        "a100": {"karpenter.azure.com/sku-gpu-name": "A100"},
        "h100": {"karpenter.azure.com/sku-gpu-name": "H100"},
        "none": {"karpenter.azure.com/sku-family": "D"},
    },
}


def candidates(dialect: str, policy: dict[str, str]) -> set[str]:
    """The templates of a dialect that the lowered pod may be scheduled on."""
    facts = ClusterFacts(known=True, dialects=frozenset({dialect, "gfd"}))
    patched: Any = mutated_pod(pod(), policy=policy, facts=facts)
    spec = read_pod(patched, []).spec
    return {
        name
        for name, labels in TEMPLATES[dialect].items()
        if node_affinity_reason(spec, NodeObject(f"template-node-for-{name}", labels=labels)) is None
    }


@pytest.mark.parametrize("dialect", TEMPLATES)
@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ({"families": "hopper"}, ["h100"]),
        ({"families": "turing,ampere"}, ["a100", "t4"]),
        ({"products": "T4"}, ["t4"]),
        ({"min-gpu-memory": "20Gi"}, ["a100", "h100"]),
        ({"families": "blackwell"}, []),
    ],
    ids=str,
)
def test_an_autoscaler_finds_exactly_the_groups_that_policy_allows(dialect, policy, expected):
    assert sorted(candidates(dialect, policy)) == expected


@pytest.mark.parametrize("dialect", TEMPLATES)
def test_without_policy_every_template_is_one(dialect):
    assert candidates(dialect, {}) == TEMPLATES[dialect].keys()


def test_a_node_that_has_been_labelled_is_judged_by_its_own_labels():
    """A cloud's label must not overrule what a look at the card told, all of it."""
    facts = ClusterFacts(known=True, dialects=frozenset({"karpenter-aws"}))
    patched: Any = mutated_pod(pod(), policy={"families": "hopper"}, facts=facts)
    told = ec2("h100", 81920) | {"gpusched.io/family": "turing", "gpusched.io/sharing": "none"}

    assert node_affinity_reason(read_pod(patched, []).spec, NodeObject("n", labels=told)) is not None


@pytest.mark.parametrize(
    ("policy", "labels"),
    [
        ({"min-gpu-memory": "40Gi"}, {"family": "ampere", "product": "a100", "gpu-memory-mib": "81920"}),
        ({"products": "a100-80gb"}, {"family": "ampere", "product": "a100"}),
        ({"min-cuda-version": "13.0"}, {"family": "ampere", "sharing": "none", "cuda-version": "12040"}),
        ({"sharing": "mps"}, {"family": "ampere", "sharing": "none"}),
    ],
    ids=["memory not told yet", "product not told yet", "version", "sharing"],
)
def test_a_machine_that_was_bought_goes_on_to_pass(policy, labels):
    """An autoscaler whose new node does not take the pod buys another; whether it may run there the extender says."""
    facts = ClusterFacts(known=True, dialects=frozenset({"karpenter-aws"}))
    spec = read_pod(mutated_pod(pod(), policy=policy, facts=facts), []).spec
    cloud = ec2("a100", 81920)
    node = cloud | {f"gpusched.io/{key}": value for key, value in {"vendor": "nvidia", **labels}.items()}

    assert node_affinity_reason(spec, NodeObject("template-node", labels=cloud)) is None
    assert node_affinity_reason(spec, NodeObject("node", labels=node)) is None


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ({"products": "a100-80gb"}, [81920]),
        ({"products": "a100-40gb"}, [40960]),
        ({"products": "a100"}, [40960, 81920]),
        ({"families": "ampere"}, [40960, 81920]),
    ],
    ids=str,
)
def test_sizes_that_go_by_one_name_are_told_apart_by_memory(policy, expected):
    """Else an autoscaler buys the smaller one, since it is cheaper, and the pod does not run there."""
    facts = ClusterFacts(known=True, dialects=frozenset({"karpenter-aws"}))
    spec = read_pod(mutated_pod(pod(), policy=policy, facts=facts), []).spec
    sizes = (40960, 81920)

    found = [size for size in sizes if node_affinity_reason(spec, NodeObject("n", labels=ec2("a100", size))) is None]

    assert found == expected
