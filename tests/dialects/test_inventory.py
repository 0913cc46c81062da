import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusched.core.codes import Reason
from gpusched.core.node import NodeObject
from gpusched.core.resources import GpuResources
from gpusched.dialects.inventory import inventory
from gpusched.dialects.labels import gpusched_labels
from tests.build import gfd_labels
from tests.dialects.surveys import facts_of, survey


def test_four_pools_from_allocatable_alone() -> None:
    slots = {
        "nvidia.com/gpu": 2,
        "nvidia.com/mig-1g.10gb": 6,
        "nvidia.com/mig-2g.20gb": 4,
        "nvidia.com/mig-3g.40gb": 0,
    }
    node = survey({}, slots)
    assert [(pool.resource, pool.slots, pool.visible_memory_mib) for pool in node.pools] == [
        ("nvidia.com/gpu", 2, None),
        ("nvidia.com/mig-1g.10gb", 6, 10240),
        ("nvidia.com/mig-2g.20gb", 4, 20480),
        ("nvidia.com/mig-3g.40gb", 0, 40960),
    ]


def test_shared_key_beside_an_empty_plain_one() -> None:
    node = survey({}, {"nvidia.com/gpu": 0, "nvidia.com/gpu.shared": 128})
    assert [(pool.slots, facts_of(pool)) for pool in node.pools] == [(0, (None,) * 8), (128, (None,) * 8)]


@pytest.mark.parametrize(
    "labels",
    [
        {"gpu.present": "true", "gpu.count": "4"},
        {"gpu.present": "true"},
        {"cloud.google.com/gke-accelerator": "nvidia-l4", "cloud.google.com/gke-nodepool": "p"},
        {"amd.com/gpu.vram": "64G"},
        {"kubernetes.azure.com/accelerator": "nvidia"},
    ],
)
def test_labels_without_a_resource(labels: dict[str, str]) -> None:
    node = survey(labels, {})
    assert (node.pools, node.notes) == ((), ("GPU labels present but no GPU resource is allocatable",))


def test_labels_of_gpus_that_are_gone_promise_nothing() -> None:
    assert survey({"gpu.present": "false", "gpu.count": "4"}, {}).notes == ()


def test_dra_serves_what_allocatable_lacks() -> None:
    dra = frozenset({"nvidia.com/gpu", "amd.com/gpu"})
    node = survey({"gpu.present": "true"}, {"amd.com/gpu": 2, "nvidia.com/gpu": 0}, dra=dra)
    assert (node.dra_resources, node.notes) == (frozenset({"nvidia.com/gpu"}), ())


@pytest.mark.parametrize(
    "labels",
    [
        {"mig.config.state": "pending"},
        {"mig.config.state": "rebooting"},
        {"gpu.deploy.device-plugin": "paused-for-mig-change"},
    ],
)
def test_gpus_on_their_way_to_something_else_are_blocked(labels: dict[str, str]) -> None:
    node = survey(gfd_labels() | {f"nvidia.com/{key}": value for key, value in labels.items()})
    assert [pool.blocked for pool in node.pools] == [Reason.RECONFIGURING]


@pytest.mark.parametrize("use", ["vm-passthrough", "vm-vgpu"])
def test_gpus_of_virtual_machines_are_not_there_for_containers(use: str) -> None:
    node = survey(gfd_labels() | {"nvidia.com/gpu.workload.config": use, "nvidia.com/mig.config.state": "pending"})
    assert [(pool.blocked, pool.notes) for pool in node.pools] == [
        (Reason.NO_RESOURCE, (f"GPUs are meant for {use}, not for containers",))
    ]


@pytest.mark.parametrize(
    "labels", [{"mig.config.state": "success"}, {"mig.config.state": "failed"}, {"gpu.workload.config": "container"}]
)
def test_settled_gpus_are_not_blocked(labels: dict[str, str]) -> None:
    assert [pool.blocked for pool in survey(labels).pools] == [None]


_DOMAINS = (
    "nvidia.com/gpu.",
    "nvidia.com/mig-1g.5gb.",
    "nvidia.com/mig.",
    "nvidia.com/cuda.driver.",
    "amd.com/gpu.",
    "beta.amd.com/gpu.",
    "gpu.intel.com/",
    "cloud.google.com/gke-",
    "karpenter.k8s.aws/instance-gpu-",
    "karpenter.azure.com/sku-gpu-",
    "gpu.nvidia.com/",
)
_NAMES = (
    *("product", "count", "replicas", "sharing-strategy", "memory", "family", "compute.major", "compute.minor"),
    *("present", "strategy", "capable", "config.state", "major", "minor", "rev", "vram", "device-id", "memory.max"),
    *(
        "accelerator",
        "accelerator-count",
        "gpu-partition-size",
        "max-shared-clients-per-gpu",
        "name",
        "class",
        "slices.gi",
    ),
)
_VALUES = st.one_of(
    st.sampled_from(
        ["0", "1", "4", "15360", "true", "false", "none", "mps", "time-slicing", "single", "mixed", "192G"]
    ),
    st.sampled_from(["Tesla-T4", "A-MIG-INVALID", "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb-SHARED", "9" * 40, "٣", "1g.5gb"]),
    st.text(max_size=20),
)
_LABELS = st.dictionaries(
    st.one_of(st.builds(str.__add__, st.sampled_from(_DOMAINS), st.sampled_from(_NAMES)), st.text(max_size=20)), _VALUES
)
_RESOURCES = (
    *("nvidia.com/gpu", "nvidia.com/gpu.shared", "nvidia.com/mig-1g.5gb", "nvidia.com/mig-1g.5gb.shared"),
    *("amd.com/gpu", "amd.com/cpx_nps4", "gpu.intel.com/i915", "gpu.intel.com/xe", "cpu"),
)
_AMOUNTS = st.dictionaries(st.sampled_from(_RESOURCES), st.integers(0, 2**40))
_FACTS = st.one_of(st.none(), st.text(max_size=40), st.just("replicas=4, sharing=mps, gpu-memory=1Ti"))


@settings(max_examples=300, deadline=None)
@given(_LABELS, _AMOUNTS, _AMOUNTS, _FACTS, st.integers())
def test_any_labels_give_sane_pools_whatever_their_order(
    labels: dict[str, str], allocatable: dict[str, int], capacity: dict[str, int], facts: str | None, seed: int
) -> None:
    shuffled = list(labels.items())
    random.Random(seed).shuffle(shuffled)
    annotations = {} if facts is None else {"gpusched.io/facts": facts}
    resources = GpuResources({})
    first = inventory(NodeObject("n", "", labels, annotations, (), False, allocatable, capacity), resources)
    second = inventory(NodeObject("n", "", dict(shuffled), annotations, (), False, allocatable, capacity), resources)

    assert (first.pools, first.notes, first.dialects) == (second.pools, second.notes, second.dialects)
    assert [pool.resource for pool in first.pools] == sorted(allocatable.keys() - {"cpu"})
    for pool in first.pools:
        assert pool.slots == allocatable[pool.resource]
        known = (pool.replicas, pool.gpu_memory_mib)
        assert all(value is None or value > 0 for value in known)
        assert (
            pool.slot_memory_mib is None
            or pool.visible_memory_mib is None
            or (pool.slot_memory_mib <= pool.visible_memory_mib)
        )
    assert gpusched_labels(first) == gpusched_labels(second)
