"""Which extended resources are GPUs, of which vendor, and what a misspelt one was meant to be."""

import re
from collections.abc import Iterable, Mapping
from difflib import SequenceMatcher, get_close_matches
from functools import lru_cache
from typing import Final

NVIDIA: Final = "nvidia"
AMD: Final = "amd"
INTEL: Final = "intel"

#: Names that the stock device plugins register, with their vendor. Partitions have patterns of their own.
_KNOWN: Final = {
    "nvidia.com/gpu": NVIDIA,
    "nvidia.com/gpu.shared": NVIDIA,
    "amd.com/gpu": AMD,
    "gpu.intel.com/i915": INTEL,
    "gpu.intel.com/xe": INTEL,
    "gpu.intel.com/dxg": INTEL,
}
_MAIN: Final = {NVIDIA: "nvidia.com/gpu", AMD: "amd.com/gpu", INTEL: "gpu.intel.com/i915"}
# k8s-device-plugin, internal/rm: profile with `+` written as a dot, `.shared` under renameByDefault.
_MIG: Final = re.compile(r"nvidia\.com/mig-((?:\d+c\.)?\d+g\.\d+gb(?:\.(?!shared\b)[a-z]+|-me)*)(\.shared)?", re.ASCII)
# ROCm k8s-device-plugin, strategy mixed: compute partition, memory partition.
_AMD_PARTITION: Final = re.compile(r"amd\.com/[sdtqc]px_nps\d", re.ASCII)
_LOOSE_MIG: Final = re.compile(r"mig[-_.]?(\d+)g[-_. ]?(\d+)(?:gb?)?((?:[.+-][a-z]+)*)", re.ASCII)
_LOOSE_AMD: Final = re.compile(r"([sdtqc]px)[-_.]?(nps\d)", re.ASCII)

_DOMAINS: Final = {
    "nvidia": NVIDIA,
    "nvidia.com": NVIDIA,
    "gpu.nvidia.com": NVIDIA,
    "alpha.kubernetes.io": NVIDIA,
    "amd": AMD,
    "amd.com": AMD,
    "gpu.amd.com": AMD,
    "intel": INTEL,
    "intel.com": INTEL,
    "gpu.intel.com": INTEL,
}
_GENERIC: Final = frozenset({"gpu", "gpus"})
#: Of a qualified name (apimachinery validation.IsQualifiedName); what is longer is refused, whatever was meant.
_LONGEST_NAME: Final = 253 + 1 + 63
#: Items close to `gpu` that other products register: never a slip of the pen.
_OTHER_PRODUCTS: Final = frozenset({"vgpu", "pgpu", "igpu", "dgpu", "gpumem", "gpucores", "cpu", "npu", "ppu"})


def mig_profile(resource: str) -> str | None:
    """The MIG profile a resource hands out, such as `1g.5gb` or `1g.5gb.me`; None for other resources."""
    matched = _MIG.fullmatch(resource)
    return matched[1] if matched else None


def is_shared_name(resource: str) -> bool:
    """Whether the name itself says that its slots are shared (`renameByDefault` of the NVIDIA device plugin)."""
    matched = _MIG.fullmatch(resource)
    return matched[2] is not None if matched else resource == "nvidia.com/gpu.shared"


class GpuResources:
    """The GPU resource names of one cluster: the known ones and those that its configuration adds.

    `extra` maps further names, such as `nvidia.com/gpu-10gb`, to a vendor.
    """

    __slots__ = ("_extra", "_vendors", "known")

    def __init__(self, extra: Mapping[str, str] | None = None) -> None:
        self._extra = dict(extra or {})
        self._vendors = _KNOWN | self._extra
        #: Every name that is not a partition's, configured ones last.
        self.known: tuple[str, ...] = (*_KNOWN, *sorted(self._extra.keys() - _KNOWN.keys()))

    def vendor(self, resource: str) -> str | None:
        """The vendor of a GPU resource; None for every other resource, `…/monitoring` and `gpumem` included."""
        found = self._vendors.get(resource)
        return found if found is not None else _partition_vendor(resource)

    def main(self, vendor: str) -> str:
        """The resource that taints and examples of a vendor use."""
        configured = sorted(name for name, owner in self._extra.items() if owner == vendor)
        return _MAIN.get(vendor) or next(iter(configured), f"{vendor}.com/gpu")

    def nearest(self, resource: str, present: frozenset[str]) -> str | None:
        """The name that a misspelt GPU resource was meant to be; None when it is none, or does not look like a slip.

        `present` are the extended resources that nodes of the cluster offer; they are preferred. A MIG profile that no
        node offers is a near miss of the nearest one offered.
        """
        if resource in present or len(resource) > _LONGEST_NAME:
            return None
        if self.vendor(resource) is not None:
            return self._offered_profile(resource, present) if mig_profile(resource) else None
        domain, item = _split(resource)
        if item in _OTHER_PRODUCTS or item.startswith("monitoring"):
            return None
        if not domain:
            return self._nearest_generic(present) if item in _GENERIC else None
        vendor = _domain_vendor(domain)
        return None if vendor is None else self._nearest_of(vendor, domain, item, present)

    def _nearest_generic(self, present: frozenset[str]) -> str:
        vendors = [vendor for vendor in (NVIDIA, AMD, INTEL) if self._offered(vendor, present)] or [NVIDIA]
        vendors.sort(key=lambda vendor: self.main(vendor) not in present)
        return self._preferring(self.main(vendors[0]), self._offered(vendors[0], present))

    def _nearest_of(self, vendor: str, domain: str, item: str, present: frozenset[str]) -> str | None:
        offered = self._offered(vendor, present)
        partition = _partition(item, vendor)
        if partition is not None:
            rivals = [name for name in offered if _same_kind(name, partition)]
            return partition if partition in rivals else _closest(partition, rivals) or partition
        known = [name for name in self.known if self.vendor(name) == vendor]
        meant = _closest_item(_alias(item, vendor, domain), known)
        return None if meant is None else self._preferring(meant, offered)

    def _preferring(self, meant: str, offered: list[str]) -> str:
        """The name meant, or the closest one offered that is no partition."""
        if meant in offered:
            return meant
        return _closest(meant, [name for name in offered if name in self.known]) or meant

    def _offered_profile(self, resource: str, present: frozenset[str]) -> str | None:
        return _closest(resource, [name for name in self._offered(NVIDIA, present) if mig_profile(name)])

    def _offered(self, vendor: str, present: Iterable[str]) -> list[str]:
        return sorted(name for name in present if self.vendor(name) == vendor)


def _partition_vendor(resource: str) -> str | None:
    if len(resource) > _LONGEST_NAME:
        return None
    if resource.startswith("nvidia.com/mig-"):
        return NVIDIA if _MIG.fullmatch(resource) else None
    return AMD if resource.startswith("amd.com/") and _AMD_PARTITION.fullmatch(resource) else None


@lru_cache(maxsize=1024)
def _split(resource: str) -> tuple[str, str]:
    """Domain and item of a name as it may have been meant: `nvidia.com.gpu` and `nvidia-gpu` have a domain too."""
    text = resource.strip().lower().replace(".com.", ".com/")
    for prefix in ("requests.", "limits."):
        text = text.removeprefix(prefix)
    domain, slash, item = text.rpartition("/")
    if not slash:
        for vendor in (NVIDIA, AMD, INTEL):
            matched = re.fullmatch(rf"{vendor}[-._:]?(gpus?)", item)
            if matched:
                return vendor, matched[1]
    return domain, item


@lru_cache(maxsize=1024)
def _domain_vendor(domain: str) -> str | None:
    vendor = _DOMAINS.get(domain)
    if vendor is None and max(_ratio(domain, "nvidia.com"), _ratio(domain, "nvidia")) >= 0.8:
        return NVIDIA
    return vendor


def _alias(item: str, vendor: str, domain: str) -> str:
    if domain == "alpha.kubernetes.io":
        return "gpu" if item == "nvidia-gpu" else ""
    if vendor == INTEL and item in _GENERIC:
        return "i915"
    return item.replace("_", ".").replace("-shared", ".shared")


def _partition(item: str, vendor: str) -> str | None:
    if vendor == NVIDIA and (matched := _LOOSE_MIG.fullmatch(item)):
        return f"nvidia.com/mig-{matched[1]}g.{matched[2]}gb{matched[3].replace('+', '.')}"
    if vendor == AMD and (matched := _LOOSE_AMD.fullmatch(item)):
        return f"amd.com/{matched[1]}_{matched[2]}"
    return None


def _same_kind(name: str, partition: str) -> bool:
    return (mig_profile(name) is None) == (mig_profile(partition) is None) and name not in _KNOWN


def _closest(name: str, choices: list[str]) -> str | None:
    return next(iter(get_close_matches(name, choices, n=1, cutoff=0.0)), None)


def _closest_item(item: str, names: list[str]) -> str | None:
    best, best_ratio = None, 0.74
    for name in names:
        known = name.rpartition("/")[2]
        ratio = 1.0 if sorted(known) == sorted(item) else _ratio(item, known)
        if ratio > best_ratio:
            best, best_ratio = name, ratio
    return best


def _ratio(left: str, right: str) -> float:
    return SequenceMatcher(None, left, right, autojunk=False).ratio()
