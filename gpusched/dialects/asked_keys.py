"""Node label keys by which pods ask for a kind of GPU, and what a value of each says.

Sources: NVIDIA GPU Feature Discovery, AMD node labeller and Intel NFD rules for nodes with their labels; the labels of
GKE, EKS, Karpenter, CoreWeave and cluster-autoscaler's cloud providers for nodes that an autoscaler adds.
"""

from typing import Final

from gpusched.core.pool import Sharing

_PRODUCT: Final = frozenset(
    {
        "gpusched.io/product",
        "nvidia.com/gpu.product",
        "amd.com/gpu.product-name",
        "gpu.intel.com/product",
        "cloud.google.com/gke-accelerator",
        "k8s.amazonaws.com/accelerator",
        "karpenter.k8s.aws/instance-gpu-name",
        "eks.amazonaws.com/instance-gpu-name",
        "karpenter.azure.com/sku-gpu-name",
        "gpu.nvidia.com/model",
        "gpu.nvidia.com/class",
        "aliyun.accelerator/nvidia_name",
    }
)
_FAMILY: Final = frozenset(
    {"gpusched.io/family", "nvidia.com/gpu.family", "amd.com/gpu.family", "gpu.intel.com/family"}
)
#: MiB of one whole card, so an upper bound of what a container sees.
_MEMORY: Final = frozenset(
    {
        "gpusched.io/gpu-memory-mib",
        "nvidia.com/gpu.memory",
        "karpenter.k8s.aws/instance-gpu-memory",
        "eks.amazonaws.com/instance-gpu-memory",
    }
)
_OWN_SHARING: Final = "gpusched.io/sharing"
_SHARING: Final = frozenset(
    {_OWN_SHARING, "nvidia.com/gpu.sharing-strategy", "cloud.google.com/gke-gpu-sharing-strategy"}
)
_SHARING_VALUES: Final = {
    "none": Sharing.NONE,
    "time-slicing": Sharing.TIME_SLICING,
    "time-sharing": Sharing.TIME_SLICING,
    "mps": Sharing.MPS,
}


def product_keys() -> frozenset[str]:
    """Keys whose value is a product, in any vendor's or cloud's spelling."""
    return _PRODUCT


def family_keys() -> frozenset[str]:
    """Keys whose value may be a family name; values that are none say nothing."""
    return _FAMILY


def memory_keys() -> frozenset[str]:
    """Keys whose value is the memory of one card in MiB."""
    return _MEMORY


def sharing_keys() -> frozenset[str]:
    """Keys whose value is a kind of sharing; see `sharing_kinds`."""
    return _SHARING


def asked_keys() -> frozenset[str]:
    """All keys by which a pod asks for a kind of GPU."""
    return _PRODUCT | _FAMILY | _MEMORY | _SHARING


def sharing_kinds(key: str, value: str) -> frozenset[Sharing] | None:
    """The kinds of sharing that pools on nodes with this label may have, None for a value that says nothing.

    Vendors' labels tell how devices are shared; a MIG instance is a device, so any of them leaves MIG possible.
    """
    if key == _OWN_SHARING:
        return frozenset({Sharing(value)}) if value in set(Sharing) else None
    kind = _SHARING_VALUES.get(value)
    return None if kind is None else frozenset({kind, Sharing.MIG})
