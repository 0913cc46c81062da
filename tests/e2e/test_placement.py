"""Where the real scheduler puts pods when gpusched filters and scores."""

from typing import Any

import pytest

from tests.build import a100_node, container, gfd_labels, h100_node, node, pod, t4_node
from tests.e2e.scheduling import bound_node, bound_nodes, create, delete, read, refusal
from tests.e2e.seen import denied, nodes_seen, policy

MIG = "nvidia.com/mig-1g.10gb"


@pytest.fixture
def nodes(control_plane, installed, fake_nodes):
    """Creates nodes; returns when they carry gpusched's labels."""

    def make(*trees):
        fake_nodes(trees)
        gpus = [
            tree["metadata"]["name"] for tree in trees if any("/" in name for name in tree["status"]["allocatable"])
        ]
        nodes_seen(control_plane, *gpus)

    return make


def l4_node(name: str, **extra: Any):
    labels = gfd_labels("NVIDIA-L4", memory=23034, compute=(8, 9), family="ampere")
    return node(name, gpus=1, labels=labels, **extra)


def mig_node(name: str):
    profile = {
        "nvidia.com/mig.capable": "true",
        "nvidia.com/mig.strategy": "mixed",
        "nvidia.com/mig-1g.10gb.count": "7",
        "nvidia.com/mig-1g.10gb.memory": "9728",
    }
    labels = gfd_labels("NVIDIA-A100-SXM4-80GB", memory=81920, compute=(8, 0), family="ampere")
    return node(name, gpus=7, resource=MIG, labels=labels | profile)


def mps_node(name: str):
    labels = gfd_labels("NVIDIA-L4-SHARED", memory=23034, replicas=4, sharing="mps", compute=(8, 9))
    return node(name, gpus=4, labels=labels)


def test_families_in_the_order_of_preference(control_plane, namespace, nodes):
    nodes(a100_node("pl-a100", gpus=1), h100_node("pl-h100", gpus=1), t4_node("pl-t4", gpus=4))
    policy(control_plane, namespace, families="hopper, ampere")
    for name in ("first", "second"):
        create(control_plane, pod(name, namespace))
        bound_node(control_plane, namespace, name)
    assert bound_nodes(control_plane, namespace, ["first", "second"]) == ["pl-h100", "pl-a100"]
    third = create(control_plane, pod("third", namespace))
    assert third["metadata"]["annotations"]["status.gpusched.io/lowered"] == (
        f"families=hopper,ampere (namespace {namespace})"
    )
    assert refusal(control_plane, namespace, "third") == (
        "0/3 nodes are available: 1 node(s) didn't match Pod's node affinity/selector, 2 Insufficient nvidia.com/gpu. "
        "preemption: 0/3 nodes are available: 1 Preemption is not helpful for scheduling, "
        "2 No preemption victims found for incoming pod."
    )


def test_smallest_adequate_memory(control_plane, namespace, nodes):
    nodes(a100_node("pl-a100"), l4_node("pl-l4"), t4_node("pl-t4"), node("pl-cpu", gpus=None))
    create(control_plane, pod("any", namespace))
    assert bound_node(control_plane, namespace, "any") == "pl-t4"
    bounded = {"gpusched.io/min-gpu-memory": "20Gi"}
    for name, expected in (("medium", "pl-l4"), ("large", "pl-a100")):
        create(control_plane, pod(name, namespace, annotations=bounded))
        assert bound_node(control_plane, namespace, name) == expected


@pytest.mark.parametrize(("placement", "nodes_used"), [("pack", 1), ("spread", 3)])
def test_pack_and_spread(control_plane, namespace, nodes, placement, nodes_used):
    nodes(*(t4_node(f"pl-t4-{index}", gpus=4) for index in range(3)))
    policy(control_plane, namespace, placement=placement)
    names = ["one", "two", "three"]
    for name in names:
        create(control_plane, pod(name, namespace))
        bound_node(control_plane, namespace, name)
    assert len(set(bound_nodes(control_plane, namespace, names))) == nodes_used


def test_pack_keeps_whole_gpus_free(control_plane, namespace, nodes):
    """A second slot of a GPU in use before the first of another one, on whichever node."""
    nodes(t4_node("pl-a", gpus=1, replicas=4), t4_node("pl-b", gpus=1, replicas=4))
    names = [f"p{index}" for index in range(4)]
    for name in names:
        create(control_plane, pod(name, namespace))
        bound_node(control_plane, namespace, name)
    assert len(set(bound_nodes(control_plane, namespace, names))) == 1


def test_mig_profile(control_plane, namespace, nodes):
    nodes(mig_node("pl-mig"), a100_node("pl-a100"))
    create(control_plane, pod("slice", namespace, resource=MIG))
    assert bound_node(control_plane, namespace, "slice") == "pl-mig"
    create(control_plane, pod("whole", namespace))
    assert bound_node(control_plane, namespace, "whole") == "pl-a100"
    policy(control_plane, namespace, min_gpu_memory="20Gi")
    answer = control_plane.create(pod("small", namespace, resource=MIG))
    assert answer.status == 403
    assert answer.message == denied(
        f"gpu-policy-memory: pod asks for {MIG}; namespace {namespace} allows at least 20Gi. Ask for another resource."
    )


def test_time_sliced_pool(control_plane, namespace, nodes):
    nodes(t4_node("pl-shared", gpus=1, replicas=4), t4_node("pl-whole", gpus=1))
    whole = {"gpusched.io/sharing": "none"}
    create(control_plane, pod("alone", namespace, annotations=whole))
    assert bound_node(control_plane, namespace, "alone") == "pl-whole"
    names = [f"p{index}" for index in range(4)]
    for name in names:
        create(control_plane, pod(name, namespace))
    assert set(bound_nodes(control_plane, namespace, names)) == {"pl-shared"}
    create(control_plane, pod("late", namespace))
    assert refusal(control_plane, namespace, "late") == (
        "0/2 nodes are available: 2 Insufficient nvidia.com/gpu. preemption: 0/2 nodes are available: "
        "2 No preemption victims found for incoming pod."
    )


def test_claims_on_a_time_sliced_pool(control_plane, namespace, nodes):
    """14.25 GiB of the card may be claimed: 6 + 6 fit, the third does not although its slot is free."""
    nodes(t4_node("pl-shared", gpus=1, replicas=4))
    claim = {"gpusched.io/gpu-memory": "6Gi"}
    for name in ("one", "two"):
        create(control_plane, pod(name, namespace, annotations=claim))
        bound_node(control_plane, namespace, name)
    create(control_plane, pod("three", namespace, annotations=claim))
    assert refusal(control_plane, namespace, "three") == (
        "0/1 nodes are available: 1 not enough unclaimed GPU memory. preemption: 0/1 nodes are available: "
        "1 Preemption is not helpful for scheduling."
    )
    create(control_plane, pod("four", namespace, annotations={"gpusched.io/gpu-memory": "2Gi"}))
    assert bound_node(control_plane, namespace, "four") == "pl-shared"


def test_mps_pool(control_plane, namespace, nodes):
    """The claim becomes a limit that the driver keeps; a container has one slot of a shared GPU."""
    nodes(mps_node("pl-mps"))
    create(control_plane, pod("one", namespace, annotations={"gpusched.io/gpu-memory": "4Gi"}))
    assert bound_node(control_plane, namespace, "one") == "pl-mps"
    assert read(control_plane, namespace, "one")["spec"]["containers"][0]["env"] == [
        {"name": "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", "value": "0=4096M"}
    ]
    create(control_plane, pod("two", namespace, container("a", gpus=1), container("b", gpus=1)))
    assert bound_node(control_plane, namespace, "two") == "pl-mps"
    delete(control_plane, namespace, "two")
    create(control_plane, pod("double", namespace, gpus=2))
    assert refusal(control_plane, namespace, "double") == (
        "0/1 nodes are available: 1 shared GPUs give one slot per container. preemption: 0/1 nodes are available: "
        "1 Preemption is not helpful for scheduling."
    )


def test_unknown_facts(control_plane, namespace, nodes):
    """A pod without rules takes any GPU; a rule is never met by a GPU about which nothing is known."""
    nodes(node("pl-bare", gpus=2))
    create(control_plane, pod("any", namespace))
    assert bound_node(control_plane, namespace, "any") == "pl-bare"
    create(control_plane, pod("choosy", namespace, annotations={"gpusched.io/families": "turing"}))
    assert refusal(control_plane, namespace, "choosy") == (
        "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector. preemption: 0/1 nodes are "
        "available: 1 Preemption is not helpful for scheduling."
    )
    create(control_plane, pod("claiming", namespace, annotations={"gpusched.io/gpu-memory": "2Gi"}))
    assert refusal(control_plane, namespace, "claiming") == (
        "0/1 nodes are available: 1 GPU facts needed by a rule are unknown. preemption: 0/1 nodes are "
        "available: 1 Preemption is not helpful for scheduling."
    )


def test_the_administrators_word_is_believed(control_plane, namespace, nodes):
    facts = {"gpusched.io/facts": "family=turing, product=t4, sharing=time-slicing, replicas=2, gpu-memory=15360Mi"}
    nodes(node("pl-told", gpus=2, annotations=facts))
    create(
        control_plane,
        pod("choosy", namespace, annotations={"gpusched.io/families": "turing", "gpusched.io/gpu-memory": "6Gi"}),
    )
    assert bound_node(control_plane, namespace, "choosy") == "pl-told"
