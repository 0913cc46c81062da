import pytest

from gpusched.core.resources import GpuResources, is_shared_name, mig_profile

NOTHING: frozenset[str] = frozenset()


@pytest.mark.parametrize(
    ("resource", "vendor"),
    [
        ("nvidia.com/gpu", "nvidia"),
        ("nvidia.com/gpu.shared", "nvidia"),
        ("nvidia.com/mig-1g.5gb", "nvidia"),
        ("nvidia.com/mig-1g.5gb.me", "nvidia"),
        ("nvidia.com/mig-1g.24gb.me.all", "nvidia"),
        ("nvidia.com/mig-1g.24gb-me", "nvidia"),
        ("nvidia.com/mig-1g.5gb.shared", "nvidia"),
        ("nvidia.com/mig-1g.5gb.me.shared", "nvidia"),
        ("amd.com/gpu", "amd"),
        ("amd.com/cpx_nps4", "amd"),
        ("amd.com/spx_nps1", "amd"),
        ("gpu.intel.com/i915", "intel"),
        ("gpu.intel.com/dxg", "intel"),
        ("gpu.intel.com/xe", "intel"),
        ("nvidia.com/gpumem", None),
        ("nvidia.com/gpumem-percentage", None),
        ("nvidia.com/gpucores", None),
        ("nvidia.com/vgpu", None),
        ("nvidia.com/mig-1g5gb", None),
        ("nvidia.com/gpu-10gb", None),
        ("gpu.intel.com/i915_monitoring", None),
        ("gpu.intel.com/monitoring", None),
        ("amd.com/cpx", None),
        ("aliyun.com/gpu-mem", None),
        ("gpu", None),
        ("cpu", None),
        ("", None),
    ],
)
def test_vendor(resource: str, vendor: str | None) -> None:
    assert GpuResources().vendor(resource) == vendor


def test_configured_resources_count() -> None:
    resources = GpuResources({"nvidia.com/gpu-10gb": "nvidia", "acme.io/accelerator": "acme", "acme.io/a": "acme"})

    assert resources.vendor("nvidia.com/gpu-10gb") == "nvidia"
    assert resources.vendor("acme.io/accelerator") == "acme"
    assert resources.known[-3:] == ("acme.io/a", "acme.io/accelerator", "nvidia.com/gpu-10gb")
    assert resources.nearest("nvidia.com/gpu-10gb", NOTHING) is None
    assert resources.nearest("nvidia.com/gpu-10g", NOTHING) == "nvidia.com/gpu-10gb"


@pytest.mark.parametrize(
    ("vendor", "resource"),
    [
        ("nvidia", "nvidia.com/gpu"),
        ("amd", "amd.com/gpu"),
        ("intel", "gpu.intel.com/i915"),
        ("acme", "acme.io/a"),
        ("other", "other.com/gpu"),
    ],
)
def test_main(vendor: str, resource: str) -> None:
    assert GpuResources({"acme.io/b": "acme", "acme.io/a": "acme"}).main(vendor) == resource


@pytest.mark.parametrize(
    ("resource", "profile", "shared"),
    [
        ("nvidia.com/mig-1g.5gb", "1g.5gb", False),
        ("nvidia.com/mig-1g.5gb.me", "1g.5gb.me", False),
        ("nvidia.com/mig-2g.10gb.shared", "2g.10gb", True),
        ("nvidia.com/mig-1g.24gb-me", "1g.24gb-me", False),
        ("nvidia.com/gpu", None, False),
        ("nvidia.com/gpu.shared", None, True),
        ("amd.com/cpx_nps4", None, False),
    ],
)
def test_what_a_name_says(resource: str, profile: str | None, shared: bool) -> None:
    assert mig_profile(resource) == profile
    assert is_shared_name(resource) is shared


@pytest.mark.parametrize(
    ("resource", "meant"),
    [
        ("gpu", "nvidia.com/gpu"),
        ("gpus", "nvidia.com/gpu"),
        ("nvidia.com.gpu", "nvidia.com/gpu"),
        ("nvidia-gpu", "nvidia.com/gpu"),
        ("nvidia.com/gpus", "nvidia.com/gpu"),
        ("nvidia.com/GPU", "nvidia.com/gpu"),
        ("nvidia.com/gup", "nvidia.com/gpu"),
        ("nvidia/gpu", "nvidia.com/gpu"),
        ("nvdia.com/gpu", "nvidia.com/gpu"),
        ("requests.nvidia.com/gpu", "nvidia.com/gpu"),
        ("alpha.kubernetes.io/nvidia-gpu", "nvidia.com/gpu"),
        ("nvidia.com/gpu-shared", "nvidia.com/gpu.shared"),
        ("nvidia.com/mig-1g5gb", "nvidia.com/mig-1g.5gb"),
        ("nvidia.com/mig-1g.5g", "nvidia.com/mig-1g.5gb"),
        ("nvidia.com/MIG-3g.20gb", "nvidia.com/mig-3g.20gb"),
        ("nvidia.com/mig-1g.5gb+me", "nvidia.com/mig-1g.5gb.me"),
        ("amd.com/gpus", "amd.com/gpu"),
        ("amd.com.gpu", "amd.com/gpu"),
        ("amd.com/cpx-nps4", "amd.com/cpx_nps4"),
        ("gpu.intel.com/i195", "gpu.intel.com/i915"),
        ("intel.com/gpu", "gpu.intel.com/i915"),
    ],
)
def test_near_misses(resource: str, meant: str) -> None:
    assert GpuResources().nearest(resource, NOTHING) == meant


@pytest.mark.parametrize(
    "resource",
    [
        "cpu",
        "memory",
        "nvidia.com/gpu",
        "nvidia.com/mig-1g.5gb",
        "nvidia.com/gpumem",
        "nvidia.com/gpumem-percentage",
        "nvidia.com/gpucores",
        "nvidia.com/priority",
        "nvidia.com/vgpu",
        "nvidia.com/hostdev",
        "nvidia.com/rdma_shared_device_a",
        "nvidia.com/TU104GL_Tesla_T4",
        "nvidia.com/gpu-10gb",
        "gpu.intel.com/monitoring",
        "gpu.intel.com/i915_monitoring",
        "aliyun.com/gpu-mem",
        "tencent.com/vcuda-core",
        "arm.com/gpu",
        "rdma/hca",
    ],
)
def test_other_products_are_no_near_miss(resource: str) -> None:
    assert GpuResources().nearest(resource, NOTHING) is None


@pytest.mark.parametrize(
    ("resource", "present", "meant"),
    [
        ("gpu", {"amd.com/gpu"}, "amd.com/gpu"),
        ("gpu", {"nvidia.com/gpu.shared", "amd.com/gpu"}, "amd.com/gpu"),
        ("gpu", {"nvidia.com/gpu.shared"}, "nvidia.com/gpu.shared"),
        ("nvidia.com/gpus", {"nvidia.com/gpu.shared", "nvidia.com/mig-1g.5gb"}, "nvidia.com/gpu.shared"),
        ("nvidia.com/gpus", {"nvidia.com/mig-1g.5gb"}, "nvidia.com/gpu"),
        ("nvidia.com/mig-1g5gb", {"nvidia.com/mig-1g.5gb", "nvidia.com/mig-1g.10gb"}, "nvidia.com/mig-1g.5gb"),
        ("nvidia.com/mig-1g5gb", {"nvidia.com/gpu", "nvidia.com/mig-2g.10gb"}, "nvidia.com/mig-2g.10gb"),
        ("nvidia.com/mig-1g.5gb", {"nvidia.com/mig-1g.10gb", "nvidia.com/mig-7g.80gb"}, "nvidia.com/mig-1g.10gb"),
        ("nvidia.com/mig-1g.5gb", {"nvidia.com/gpu"}, None),
        ("nvidia.com/gpus", {"nvidia.com/gpus"}, None),
        ("intel.com/gpu", {"gpu.intel.com/xe"}, "gpu.intel.com/xe"),
    ],
)
def test_near_misses_prefer_what_nodes_offer(resource: str, present: set[str], meant: str | None) -> None:
    assert GpuResources().nearest(resource, frozenset(present)) == meant
