import pytest

from tests.build import gfd_labels
from tests.dialects.surveys import facts_of, only_pool, survey

GKE = {"cloud.google.com/gke-accelerator": "nvidia-tesla-t4", "cloud.google.com/gke-nodepool": "gpus"}
A100 = GKE | {"cloud.google.com/gke-accelerator": "nvidia-tesla-a100", "cloud.google.com/gke-accelerator-count": "1"}


def gke(**labels: str) -> dict[str, str]:
    return {f"cloud.google.com/gke-{key.replace('_', '-')}": value for key, value in labels.items()}


@pytest.mark.parametrize(
    ("labels", "slots", "dialects", "expected"),
    [
        pytest.param(GKE, 1, {"gke"}, ("turing", "t4", "none", 1, 1, 16384, 16384, 16384), id="gke"),
        pytest.param(
            GKE | gke(gpu_sharing_strategy="time-sharing", max_shared_clients_per_gpu="3"),
            3,
            {"gke"},
            ("turing", "t4", "time-slicing", 3, 1, 16384, 16384, 5461),
            id="gke-time-sharing",
        ),
        pytest.param(
            GKE | gke(max_shared_clients_per_gpu="2"),
            2,
            {"gke"},
            ("turing", "t4", "time-slicing", 2, 1, 16384, 16384, 8192),
            id="gke-clients-alone",
        ),
        pytest.param(
            GKE | gke(gpu_sharing_strategy="mps", max_shared_clients_per_gpu="4", accelerator_count="1"),
            4,
            {"gke"},
            ("turing", "t4", "mps", 4, 1, 16384, 4096, 4096),
            id="gke-mps",
        ),
        pytest.param(
            GKE | gke(gpu_sharing_strategy="magic"),
            4,
            {"gke"},
            ("turing", "t4", None, None, None, 16384, None, None),
            id="gke-unknown-strategy",
        ),
        pytest.param(
            A100 | gke(gpu_partition_size="1g.5gb"),
            7,
            {"gke"},
            ("ampere", "a100", "mig", 1, 7, 40960, 4864, 4864),
            id="gke-partition",
        ),
        pytest.param(
            A100
            | gke(gpu_partition_size="1g.5gb", gpu_sharing_strategy="time-sharing", max_shared_clients_per_gpu="2"),
            14,
            {"gke"},
            ("ampere", "a100", "time-slicing", 2, 7, 40960, 4864, 2432),
            id="gke-shared-partition",
        ),
        pytest.param(
            gke(accelerator="H100_NVLINK_80GB"),
            8,
            set(),
            ("hopper", "h100-nvlink-80gb", None, None, None, 81920, None, None),
            id="accelerator-alone-is-not-gke",
        ),
        pytest.param(
            {
                "karpenter.k8s.aws/instance-gpu-name": "a10g",
                "karpenter.k8s.aws/instance-gpu-memory": "24576",
                "karpenter.k8s.aws/instance-gpu-count": "1",
            },
            1,
            {"karpenter-aws"},
            ("ampere", "a10g", "none", 1, 1, 24576, 24576, 24576),
            id="karpenter",
        ),
        pytest.param(
            {
                "eks.amazonaws.com/instance-gpu-name": "t4",
                "eks.amazonaws.com/instance-gpu-manufacturer": "nvidia",
                "eks.amazonaws.com/instance-gpu-count": "1",
                "eks.amazonaws.com/instance-gpu-memory": "16384",
                "eks.amazonaws.com/compute-type": "auto",
            },
            1,
            {"eks-auto"},
            ("turing", "t4", "none", 1, 1, 16384, 16384, 16384),
            id="eks-auto",
        ),
        pytest.param(
            {"karpenter.azure.com/sku-gpu-name": "A100", "karpenter.azure.com/sku-gpu-count": "1"},
            1,
            {"azure-nap"},
            ("ampere", "a100", "none", 1, 1, None, None, None),
            id="nap-name-of-several-sizes",
        ),
        pytest.param(
            {
                "karpenter.azure.com/sku-gpu-name": "A100",
                "node.kubernetes.io/instance-type": "Standard_NC24ads_A100_v4",
            },
            1,
            {"azure-nap", "instance-type"},
            ("ampere", "a100", "none", 1, 1, 81920, 81920, 81920),
            id="nap-with-instance-type",
        ),
        pytest.param(
            {"k8s.amazonaws.com/accelerator": "nvidia-l40s", "node.kubernetes.io/instance-type": "g6e.12xlarge"},
            4,
            {"eks", "instance-type"},
            ("ada-lovelace", "l40s", "none", 1, 4, 49152, 49152, 49152),
            id="eks",
        ),
        pytest.param(
            {
                "kubernetes.azure.com/accelerator": "nvidia",
                "node.kubernetes.io/instance-type": "standard_nd96isr_h100_v5",
            },
            8,
            {"aks", "instance-type"},
            ("hopper", "h100-80gb-hbm3", "none", 1, 8, 81920, 81920, 81920),
            id="aks",
        ),
        pytest.param(
            {
                "gpu.nvidia.com/class": "H100",
                "gpu.nvidia.com/model": "H100_NVLINK_80GB",
                "gpu.nvidia.com/vram": "81",
                "gpu.nvidia.com/count": "8",
                "cloud.google.com/gke-accelerator": "H100_NVLINK_80GB",
            },
            8,
            {"coreweave"},
            ("hopper", "h100-nvlink-80gb", "none", 1, 8, 81000, 81000, 81000),
            id="coreweave",
        ),
        pytest.param(
            {"aliyun.accelerator/nvidia_name": "Tesla-V100-SXM2-16GB"},
            1,
            {"alibaba"},
            ("volta", "v100-sxm2-16gb", None, None, None, 16384, None, None),
            id="alibaba",
        ),
    ],
)
def test_clouds(labels: dict[str, str], slots: int, dialects: set[str], expected: tuple[object, ...]) -> None:
    node = survey(labels, slots)
    assert (node.dialects, facts_of(only_pool(node))) == (dialects, expected)


def test_gfd_beats_the_cloud_and_the_difference_is_kept() -> None:
    labels = gfd_labels(memory=15109) | {
        "karpenter.k8s.aws/instance-gpu-name": "l4",
        "karpenter.k8s.aws/instance-gpu-memory": "22888",
        "karpenter.k8s.aws/instance-gpu-count": "1",
    }
    pool = only_pool(survey(labels))
    assert facts_of(pool) == ("turing", "t4", "none", 1, 1, 15109, 15109, 15109)
    assert pool.notes == (
        "family: gfd turing, karpenter-aws ada-lovelace",
        "product: gfd t4, karpenter-aws l4",
        "memory: gfd 15109, karpenter-aws 22888",
    )


def test_nominal_memory_is_marked() -> None:
    assert dict(only_pool(survey(GKE)).provenance) == {
        "family": "gke",
        "product": "gke",
        "sharing": "gke",
        "replicas": "gke",
        "gpu_memory_mib": "gke (nominal)",
        "visible_memory_mib": "gke (nominal)",
        "slot_memory_mib": "gke (nominal)",
    }


@pytest.mark.parametrize(
    ("labels", "dialect"),
    [
        ({"cloud.google.com/gke-nodepool": "cpus"}, "gke"),
        ({"karpenter.k8s.aws/instance-family": "m5"}, "karpenter-aws"),
        ({"eks.amazonaws.com/compute-type": "auto"}, "eks-auto"),
        ({"eks.amazonaws.com/nodegroup": "cpus"}, "eks"),
        ({"karpenter.azure.com/sku-family": "D"}, "azure-nap"),
        ({"kubernetes.azure.com/agentpool": "cpus"}, "aks"),
    ],
)
def test_a_node_without_gpus_shows_its_cloud(labels: dict[str, str], dialect: str) -> None:
    node = survey(labels, {})
    assert (node.pools, node.dialects, node.notes) == ((), {dialect}, ())
