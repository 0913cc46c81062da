"""GPU models as clouds spell them in label values, each with the product it stands for.

A name that is of several sizes stands there once for each, so that no card is refused that could be right.
"""

from typing import Final

#: Karpenter and EKS Auto Mode: EC2's GPU name in lower case with dashes (Karpenter documentation, instance types).
EC2_GPUS: Final = (
    ("k80", "k80"),
    ("m60", "m60"),
    ("v100", "v100-16gb"),
    ("v100", "v100-32gb"),
    ("t4", "t4"),
    ("t4g", "t4g"),
    ("a10g", "a10g"),
    ("a100", "a100-40gb"),
    ("a100", "a100-80gb"),
    ("l4", "l4"),
    ("l40s", "l40s"),
    ("h100", "h100-80gb"),
    ("h200", "h200"),
    ("b200", "b200"),
    ("b300", "b300"),
    ("gb200", "gb200"),
    ("rtx-pro-server-6000", "rtx-pro-server-6000"),
)

#: cluster-autoscaler on AWS: values its documentation and eksctl use.
EKS_ACCELERATORS: Final = (
    ("nvidia-tesla-k80", "k80"),
    ("nvidia-tesla-m60", "m60"),
    ("nvidia-tesla-v100", "v100-16gb"),
    ("nvidia-tesla-v100", "v100-32gb"),
    ("nvidia-tesla-t4", "t4"),
    ("nvidia-a10g", "a10g"),
    ("nvidia-tesla-a100", "a100-40gb"),
    ("nvidia-tesla-a100", "a100-80gb"),
    ("nvidia-a100", "a100-40gb"),
    ("nvidia-a100", "a100-80gb"),
    ("nvidia-l4", "l4"),
    ("nvidia-l40s", "l40s"),
    ("nvidia-h100", "h100-80gb"),
    ("nvidia-h200", "h200"),
    ("nvidia-b200", "b200"),
)

#: Azure node auto-provisioning: the accelerator in the name of the virtual machine size.
NAP_GPUS: Final = (
    ("V100", "v100-16gb"),
    ("V100", "v100-32gb"),
    ("T4", "t4"),
    ("A10", "a10"),
    ("A100", "a100-40gb"),
    ("A100", "a100-80gb"),
    ("H100", "h100-80gb"),
    ("H100", "h100-nvl"),
    ("H200", "h200"),
    ("MI300X", "mi300x"),
)

#: CoreWeave's classes, of its current and of its first generation of clusters.
COREWEAVE_CLASSES: Final = (
    ("A40", "a40"),
    ("A100", "a100-40gb"),
    ("A100", "a100-80gb"),
    ("A100_PCIE_40GB", "a100-40gb"),
    ("A100_PCIE_80GB", "a100-80gb"),
    ("A100_NVLINK", "a100-40gb"),
    ("A100_NVLINK_80GB", "a100-80gb"),
    ("H100", "h100-80gb"),
    ("H100_PCIE", "h100-80gb"),
    ("H100_NVLINK_80GB", "h100-80gb"),
    ("H200", "h200"),
    ("L40", "l40"),
    ("L40S", "l40s"),
    ("RTX_A4000", "rtx-a4000"),
    ("RTX_A5000", "rtx-a5000"),
    ("RTX_A6000", "rtx-a6000"),
    ("Quadro_RTX_4000", "quadro-rtx-4000"),
    ("Quadro_RTX_5000", "quadro-rtx-5000"),
    ("Tesla_V100_NVLINK", "v100-16gb"),
    ("B200", "b200"),
    ("B300", "b300"),
    ("GB200", "gb200"),
    ("GB300", "gb300"),
)
