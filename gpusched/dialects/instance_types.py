"""Well-known instance types of clouds with the GPUs in them.

Sources: Amazon EC2 "Accelerated computing instances", Azure "GPU accelerated virtual machine sizes", Google Compute
Engine "GPU machine types", Scaleway "GPU Instances". Types with a part of a GPU are left out.
"""

from collections.abc import Mapping
from typing import Final

import msgspec

_VCPUS: Final = "xlarge 2xlarge 4xlarge 8xlarge 16xlarge"


class InstanceType(msgspec.Struct, frozen=True):
    """One instance type: whose it is, the product of its GPUs and how many."""

    name: str
    cloud: str
    product: str
    count: int


def _line(cloud: str, product: str, prefix: str, sizes: Mapping[int, str], suffix: str = "") -> list[InstanceType]:
    """Types of one line: `sizes` maps a number of GPUs to the sizes that have it."""
    return [
        InstanceType(f"{prefix}{size}{suffix}", cloud, product, count)
        for count, names in sizes.items()
        for size in names.split()
    ]


_AWS: Final = [
    *_line("aws", "k80", "p2.", {1: "xlarge", 8: "8xlarge", 16: "16xlarge"}),
    *_line("aws", "v100-sxm2-16gb", "p3.", {1: "2xlarge", 4: "8xlarge", 8: "16xlarge"}),
    *_line("aws", "v100-sxm2-32gb", "p3dn.", {8: "24xlarge"}),
    *_line("aws", "a100-sxm4-40gb", "p4d.", {8: "24xlarge"}),
    *_line("aws", "a100-sxm4-80gb", "p4de.", {8: "24xlarge"}),
    *_line("aws", "h100-80gb-hbm3", "p5.", {1: "4xlarge", 8: "48xlarge"}),
    *_line("aws", "h200", "p5e.", {8: "48xlarge"}),
    *_line("aws", "h200", "p5en.", {8: "48xlarge"}),
    *_line("aws", "b200", "p6-b200.", {8: "48xlarge"}),
    *_line("aws", "b300", "p6-b300.", {8: "48xlarge"}),
    *_line("aws", "gb200", "p6e-gb200.", {4: "36xlarge"}),
    *_line("aws", "m60", "g3s.", {1: "xlarge"}),
    *_line("aws", "m60", "g3.", {1: "4xlarge", 2: "8xlarge", 4: "16xlarge"}),
    *_line("aws", "t4", "g4dn.", {1: _VCPUS, 4: "12xlarge", 8: "metal"}),
    *_line("aws", "t4g", "g5g.", {1: "xlarge 2xlarge 4xlarge 8xlarge", 2: "16xlarge metal"}),
    *_line("aws", "a10g", "g5.", {1: _VCPUS, 4: "12xlarge 24xlarge", 8: "48xlarge"}),
    *_line("aws", "l4", "g6.", {1: _VCPUS, 4: "12xlarge 24xlarge", 8: "48xlarge"}),
    *_line("aws", "l4", "gr6.", {1: "4xlarge 8xlarge"}),
    *_line("aws", "l40s", "g6e.", {1: _VCPUS, 4: "12xlarge 24xlarge", 8: "48xlarge"}),
    *_line(
        "aws",
        "rtx-pro-server-6000",
        "g7e.",
        {1: "2xlarge 4xlarge 8xlarge", 2: "12xlarge", 4: "24xlarge", 8: "48xlarge"},
    ),
]

_AZURE: Final = [
    *_line("azure", "k80", "Standard_NC", {1: "6", 2: "12", 4: "24 24r"}),
    *_line("azure", "v100-pcie-16gb", "Standard_NC", {1: "6s", 2: "12s", 4: "24s 24rs"}, "_v3"),
    *_line("azure", "v100-sxm2-32gb", "Standard_ND", {8: "40rs"}, "_v2"),
    *_line("azure", "m60", "Standard_NV", {1: "12s", 2: "24s", 4: "48s"}, "_v3"),
    *_line("azure", "t4", "Standard_NC", {1: "4as 8as 16as", 4: "64as"}, "_T4_v3"),
    *_line("azure", "a10", "Standard_NV", {1: "36ads 36adms", 2: "72ads"}, "_A10_v5"),
    *_line("azure", "a100-80gb-pcie", "Standard_NC", {1: "24ads", 2: "48ads", 4: "96ads"}, "_A100_v4"),
    *_line("azure", "a100-sxm4-40gb", "Standard_ND", {8: "96asr"}, "_v4"),
    *_line("azure", "a100-sxm4-80gb", "Standard_ND", {8: "96amsr"}, "_A100_v4"),
    *_line("azure", "h100-nvl", "Standard_NC", {1: "40ads", 2: "80adis"}, "_H100_v5"),
    *_line("azure", "h100-80gb-hbm3", "Standard_ND", {8: "96isr"}, "_H100_v5"),
    *_line("azure", "h200", "Standard_ND", {8: "96isr"}, "_H200_v5"),
    *_line("azure", "gb200", "Standard_ND", {4: "128isr_NDR"}, "_GB200_v6"),
    *_line("azure", "mi300x", "Standard_ND", {8: "96isr"}, "_MI300X_v5"),
]

_GCP: Final = [
    *_line("gcp", "a100-sxm4-40gb", "a2-highgpu-", {1: "1g", 2: "2g", 4: "4g", 8: "8g"}),
    *_line("gcp", "a100-sxm4-40gb", "a2-megagpu-", {16: "16g"}),
    *_line("gcp", "a100-sxm4-80gb", "a2-ultragpu-", {1: "1g", 2: "2g", 4: "4g", 8: "8g"}),
    *_line("gcp", "h100-80gb-hbm3", "a3-highgpu-", {1: "1g", 2: "2g", 4: "4g", 8: "8g"}),
    *_line("gcp", "h100-80gb-hbm3", "a3-megagpu-", {8: "8g"}),
    *_line("gcp", "h100-80gb-hbm3", "a3-edgegpu-", {8: "8g"}),
    *_line("gcp", "h200", "a3-ultragpu-", {8: "8g"}),
    *_line("gcp", "b200", "a4-highgpu-", {8: "8g"}),
    *_line("gcp", "gb200", "a4x-highgpu-", {4: "4g"}),
    *_line("gcp", "l4", "g2-standard-", {1: "4 8 12 16 32", 2: "24", 4: "48", 8: "96"}),
    *_line("gcp", "rtx-pro-6000-blackwell-server-edition", "g4-standard-", {1: "48", 2: "96", 4: "192", 8: "384"}),
]

_SCALEWAY: Final = [
    *_line("scaleway", "l4", "L4-", {1: "1-24G", 2: "2-24G", 4: "4-24G", 8: "8-24G"}),
    *_line("scaleway", "l40s", "L40S-", {1: "1-48G", 2: "2-48G", 4: "4-48G", 8: "8-48G"}),
    *_line("scaleway", "h100-pcie", "H100-", {1: "1-80G", 2: "2-80G"}),
    *_line("scaleway", "h100-80gb-hbm3", "H100-SXM-", {2: "2-80G", 4: "4-80G", 8: "8-80G"}),
]

INSTANCE_TYPES: Final = (*_AWS, *_AZURE, *_GCP, *_SCALEWAY)
_BY_NAME: Final = {machine.name.lower(): machine for machine in INSTANCE_TYPES}


def find_instance_type(name: str) -> InstanceType | None:
    """The instance type of a `node.kubernetes.io/instance-type` label, None for one not in the table."""
    return _BY_NAME.get(name.strip().lower())
