"""Families (architectures) of GPUs: their names, the spellings accepted for them, and what decides an NVIDIA family."""

import difflib
import re
from typing import Final

#: In order of age, as GPU Feature Discovery spells them (k8s-device-plugin internal/lm/resource.go).
NVIDIA_FAMILIES: Final = (
    "tesla",
    "fermi",
    "kepler",
    "maxwell",
    "pascal",
    "volta",
    "turing",
    "ampere",
    "ada-lovelace",
    "hopper",
    "blackwell",
    "rubin",
)
AMD_FAMILIES: Final = ("cdna", "cdna2", "cdna3", "cdna4", "rdna2", "rdna3", "rdna4")
INTEL_FAMILIES: Final = ("flex", "max", "arc")

FAMILIES: Final = NVIDIA_FAMILIES + AMD_FAMILIES + INTEL_FAMILIES

_VENDOR_OF: Final = {
    **dict.fromkeys(NVIDIA_FAMILIES, "nvidia"),
    **dict.fromkeys(AMD_FAMILIES, "amd"),
    **dict.fromkeys(INTEL_FAMILIES, "intel"),
}

#: Spellings people use, already lower case and joined by dashes.
_ALIASES: Final = {
    "ada": "ada-lovelace",
    "lovelace": "ada-lovelace",
    "adalovelace": "ada-lovelace",
    "grace-hopper": "hopper",
    "grace-blackwell": "blackwell",
    "blackwell-ultra": "blackwell",
    "cdna1": "cdna",
    "flex-series": "flex",
    "max-series": "max",
    "ponte-vecchio": "max",
}
#: As their vendors write them, where that is not the name with a capital letter.
_TITLES: Final = {
    "ada-lovelace": "Ada Lovelace",
    "cdna": "CDNA",
    "cdna2": "CDNA 2",
    "cdna3": "CDNA 3",
    "cdna4": "CDNA 4",
    "rdna2": "RDNA 2",
    "rdna3": "RDNA 3",
    "rdna4": "RDNA 4",
    "flex": "Flex Series",
    "max": "Max Series",
}
_DASHES: Final = re.compile(r"[\s_-]+")
_NUMBERED: Final = re.compile(r"^([cr]dna)-(\d)$")


def _plain(text: str) -> str:
    return _NUMBERED.sub(r"\1\2", _DASHES.sub("-", text.strip().lower()).strip("-"))


def canonical_family(text: str) -> str | None:
    """The family's name in output, None for an unknown one. Case, blanks and common aliases (`ada`) do not matter."""
    plain = _plain(text)
    name = _ALIASES.get(plain, plain)
    return name if name in _VENDOR_OF else None


def family_title(family: str) -> str:
    """A canonical name, or `unknown`, as people read it in a heading; policy is written with the name itself."""
    return _TITLES.get(family, family.capitalize())


def nearest_family(text: str) -> str | None:
    """The known family, or alias of one, closest to a misspelt word; None when nothing is close."""
    close = difflib.get_close_matches(_plain(text), (*FAMILIES, *_ALIASES), n=1, cutoff=0.6)
    return _ALIASES.get(close[0], close[0]) if close else None


def family_vendor(family: str) -> str | None:
    """The vendor of a canonical family name: `nvidia`, `amd` or `intel`."""
    return _VENDOR_OF.get(family)


def family_of_compute(major: int, minor: int) -> str | None:
    """The NVIDIA family of a CUDA compute capability, None where no family is known (11.x, and from 14.0 on).

    Source: getFamily in k8s-device-plugin internal/lm/resource.go from v0.20.0. Earlier ones say `ampere` for 8.9 and
    `undefined` for Blackwell, which is why the label is not asked first.
    """
    if major == 7:
        return "turing" if minor >= 5 else "volta"
    if major == 8:
        return "ada-lovelace" if minor >= 9 else "ampere"
    return {
        1: "tesla",
        2: "fermi",
        3: "kepler",
        5: "maxwell",
        6: "pascal",
        9: "hopper",
        10: "blackwell",
        12: "blackwell",
        13: "rubin",
    }.get(major)
