"""AMD's and Intel's cards: nominal memory and family of each model, and AMD's PCI device ids.

Memory is that of one device as Kubernetes counts it: a GCD of an MI250, one of a Flex 140's two GPUs.
"""

from typing import Final

from gpusched.core.card import Card


def _amd(name: str, family: str, gigabytes: int, source: str) -> Card:
    return Card(name, "amd", family, gigabytes * 1024, source)


def _intel(name: str, family: str, gigabytes: int, source: str) -> Card:
    return Card(name, "intel", family, gigabytes * 1024, source)


AMD_CARDS: Final = (
    _amd("mi100", "cdna", 32, "AMD Instinct MI100 product page"),
    _amd("mi210", "cdna2", 64, "AMD Instinct MI210 product page"),
    _amd("mi250", "cdna2", 64, "AMD Instinct MI250 product page (128 GB on two GCDs)"),
    _amd("mi250x", "cdna2", 64, "AMD Instinct MI250X product page (128 GB on two GCDs)"),
    _amd("mi300a", "cdna3", 128, "AMD Instinct MI300A product page"),
    _amd("mi300x", "cdna3", 192, "AMD Instinct MI300X product page"),
    _amd("mi308x", "cdna3", 192, "AMD Instinct MI308X data in ROCm documentation"),
    _amd("mi325x", "cdna3", 256, "AMD Instinct MI325X product page"),
    _amd("mi350x", "cdna4", 288, "AMD Instinct MI350X product page"),
    _amd("mi355x", "cdna4", 288, "AMD Instinct MI355X product page"),
    _amd("v620", "rdna2", 32, "AMD Radeon PRO V620 product page"),
    _amd("w6800", "rdna2", 32, "AMD Radeon PRO W6800 product page"),
    _amd("v710", "rdna3", 28, "AMD Radeon PRO V710 product page"),
    _amd("w7800", "rdna3", 32, "AMD Radeon PRO W7800 product page"),
    _amd("w7900", "rdna3", 48, "AMD Radeon PRO W7900 product page"),
    _amd("7900-xtx", "rdna3", 24, "AMD Radeon RX 7900 XTX product page"),
    _amd("r9700", "rdna4", 32, "AMD Radeon AI PRO R9700 product page"),
    _amd("9070-xt", "rdna4", 16, "AMD Radeon RX 9070 XT product page"),
)

INTEL_CARDS: Final = (
    _intel("flex-140", "flex", 6, "Intel Data Center GPU Flex 140 product page (12 GB on two GPUs)"),
    _intel("flex-170", "flex", 16, "Intel Data Center GPU Flex 170 product page"),
    _intel("max-1100", "max", 48, "Intel Data Center GPU Max 1100 product page"),
    _intel("max-1550", "max", 128, "Intel Data Center GPU Max 1550 product page"),
    _intel("arc-a380", "arc", 6, "Intel Arc A380 product page"),
    _intel("arc-a750", "arc", 8, "Intel Arc A750 product page"),
    _intel("arc-a770", "arc", 16, "Intel Arc A770 product page"),
    _intel("arc-b570", "arc", 10, "Intel Arc B570 product page"),
    _intel("arc-b580", "arc", 12, "Intel Arc B580 product page"),
    _intel("arc-pro-b50", "arc", 16, "Intel Arc Pro B50 product page"),
    _intel("arc-pro-b60", "arc", 24, "Intel Arc Pro B60 product page"),
)

#: PCI device ids, as the pci.ids database and AMD's k8s-node-labeller documentation give them. `-vf` are virtual
#: functions; ids that several unlike cards share are left out.
AMD_DEVICE_IDS: Final = {
    "738c": "mi100",
    "740f": "mi210",
    "7410": "mi210-vf",
    "7408": "mi250x",
    "740c": "mi250x",
    "74a0": "mi300a",
    "74a1": "mi300x",
    "74a2": "mi308x",
    "74a5": "mi325x",
    "74a8": "mi308x-hf",
    "74a9": "mi300x-hf",
    "74b5": "mi300x-vf",
    "74b6": "mi308x-vf",
    "74b9": "mi325x-vf",
    "74bd": "mi300x-hf",
    "75a0": "mi350x",
    "75a3": "mi355x",
    "75b0": "mi350x-vf",
    "75b3": "mi355x-vf",
    "73a1": "radeon-pro-v620",
    "73a3": "radeon-pro-w6800",
    "7448": "radeon-pro-w7900",
    "745e": "radeon-pro-w7800",
}
