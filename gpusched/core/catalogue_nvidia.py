"""NVIDIA's cards: nominal memory, compute capability and MIG profiles of each model.

Compute capabilities are those of NVIDIA's "CUDA GPU Compute Capability" page; profiles and their counts those of
the MIG User Guide ("Supported MIG Profiles") and of mig-parted's config-default.yaml; memory is from the source named.
"""

from collections.abc import Mapping
from typing import Final

from gpusched.core.card import Card


def _seven_slices(one: int, two: int, four: int, whole: int) -> dict[str, int]:
    """Profiles of cards with seven compute and eight memory slices, named by GB of 1, 2, 4 and 8 memory slices."""
    return {
        f"1g.{one}gb": 7,
        f"1g.{one}gb.me": 1,
        f"1g.{two}gb": 4,
        f"2g.{two}gb": 3,
        f"3g.{four}gb": 2,
        f"4g.{four}gb": 1,
        f"7g.{whole}gb": 1,
    }


_MIG_40: Final = _seven_slices(5, 10, 20, 40)
_MIG_80: Final = _seven_slices(10, 20, 40, 80)
_MIG_94: Final = _seven_slices(12, 24, 47, 94)
_MIG_96: Final = _seven_slices(12, 24, 48, 96)
_MIG_141: Final = _seven_slices(18, 35, 71, 141)
_MIG_144: Final = _seven_slices(18, 36, 72, 144)
_MIG_180: Final = _seven_slices(23, 45, 90, 180)
_MIG_GB200: Final = _seven_slices(23, 47, 93, 186) | {"3g.95gb": 2, "4g.95gb": 1, "7g.189gb": 1}
_MIG_B300: Final = _seven_slices(34, 67, 135, 269)
_MIG_GB300: Final = _seven_slices(35, 70, 139, 278)
_MIG_A30: Final = {"1g.6gb": 4, "1g.6gb.me": 1, "2g.12gb": 2, "2g.12gb.me": 1, "4g.24gb": 1}
_MIG_RTX_PRO: Final = {
    "1g.24gb": 4,
    "1g.24gb.gfx": 4,
    "1g.24gb.me": 1,
    "1g.24gb.me.all": 1,
    "1g.24gb-me": 4,
    "2g.48gb": 2,
    "2g.48gb.gfx": 2,
    "2g.48gb.me.all": 1,
    "2g.48gb-me": 2,
    "4g.96gb": 1,
    "4g.96gb.gfx": 1,
}
#: Usable memory of A100-40 instances as Kubernetes KEP-4815 lists them.
_MIB_40: Final = {
    "1g.5gb": 4864,
    "1g.5gb.me": 4864,
    "1g.10gb": 9856,
    "2g.10gb": 9856,
    "3g.20gb": 19968,
    "4g.20gb": 19968,
    "7g.40gb": 40192,
}


def _card(
    name: str,
    family: str,
    gigabytes: int | None,
    compute: tuple[int, int],
    source: str,
    mig: Mapping[str, int] | None = None,
    mig_mib: Mapping[str, int] | None = None,
) -> Card:
    memory = None if gigabytes is None else gigabytes * 1024
    return Card(name, "nvidia", family, memory, source, compute, mig or {}, mig_mib or {})


_OLD: Final = (
    _card("k80", "kepler", 12, (3, 7), "Tesla K80 board specification (per GPU of two)"),
    _card("k40m", "kepler", 12, (3, 5), "Tesla K40 board specification"),
    _card("m10", "maxwell", 8, (5, 0), "NVIDIA M10 datasheet (per GPU of four)"),
    _card("m40", "maxwell", 12, (5, 2), "Tesla M40 datasheet"),
    _card("m40-24gb", "maxwell", 24, (5, 2), "Tesla M40 24GB datasheet"),
    _card("m60", "maxwell", 8, (5, 2), "Tesla M60 product brief (per GPU of two)"),
    _card("p4", "pascal", 8, (6, 1), "Tesla P4 datasheet"),
    _card("p6", "pascal", 16, (6, 1), "Tesla P6 product brief"),
    _card("p40", "pascal", 24, (6, 1), "Tesla P40 datasheet"),
    _card("p100", "pascal", 16, (6, 0), "Tesla P100 datasheet"),
    _card("p100-12gb", "pascal", 12, (6, 0), "Tesla P100 datasheet"),
    _card("titan-v", "volta", 12, (7, 0), "NVIDIA TITAN V product page"),
    _card("v100", "volta", 16, (7, 0), "NVIDIA V100 datasheet"),
    _card("v100-16gb", "volta", 16, (7, 0), "NVIDIA V100 datasheet"),
    _card("v100-32gb", "volta", 32, (7, 0), "NVIDIA V100 datasheet"),
    _card("v100s", "volta", 32, (7, 0), "NVIDIA V100 datasheet"),
)

_TURING: Final = (
    _card("t4", "turing", 16, (7, 5), "NVIDIA T4 datasheet"),
    _card("t4g", "turing", 16, (7, 5), "Amazon EC2 G5g instances page"),
    _card("quadro-rtx-4000", "turing", 8, (7, 5), "Quadro RTX 4000 datasheet"),
    _card("quadro-rtx-5000", "turing", 16, (7, 5), "Quadro RTX 5000 datasheet"),
    _card("quadro-rtx-6000", "turing", 24, (7, 5), "Quadro RTX 6000 datasheet"),
    _card("quadro-rtx-8000", "turing", 48, (7, 5), "Quadro RTX 8000 datasheet"),
    _card("titan-rtx", "turing", 24, (7, 5), "NVIDIA TITAN RTX product page"),
    _card("rtx-2080-ti", "turing", 11, (7, 5), "GeForce RTX 2080 Ti product page"),
)

_AMPERE: Final = (
    _card("a2", "ampere", 16, (8, 6), "NVIDIA A2 datasheet"),
    _card("a10", "ampere", 24, (8, 6), "NVIDIA A10 datasheet"),
    _card("a10g", "ampere", 24, (8, 6), "Amazon EC2 G5 instances page"),
    _card("a10m", "ampere", 20, (8, 6), "NVIDIA A10M product brief"),
    _card("a16", "ampere", 16, (8, 6), "NVIDIA A16 datasheet (per GPU of four)"),
    _card("a30", "ampere", 24, (8, 0), "NVIDIA A30 datasheet", _MIG_A30),
    _card("a40", "ampere", 48, (8, 6), "NVIDIA A40 datasheet"),
    _card("a100", "ampere", 40, (8, 0), "NVIDIA A100 datasheet", _MIG_40, _MIB_40),
    _card("a100-40gb", "ampere", 40, (8, 0), "NVIDIA A100 datasheet", _MIG_40, _MIB_40),
    _card("a100-64gb", "ampere", 64, (8, 0), "CINECA Leonardo system description"),
    _card("a100-80gb", "ampere", 80, (8, 0), "NVIDIA A100 80GB datasheet", _MIG_80),
    _card("a800", "ampere", 80, (8, 0), "NVIDIA A800 specifications", _MIG_80),
    _card("a800-40gb", "ampere", 40, (8, 0), "NVIDIA A800 40GB Active datasheet", _MIG_40, _MIB_40),
    _card("rtx-a2000", "ampere", 6, (8, 6), "NVIDIA RTX A2000 datasheet"),
    _card("rtx-a2000-12gb", "ampere", 12, (8, 6), "NVIDIA RTX A2000 12GB datasheet"),
    _card("rtx-a4000", "ampere", 16, (8, 6), "NVIDIA RTX A4000 datasheet"),
    _card("rtx-a4500", "ampere", 20, (8, 6), "NVIDIA RTX A4500 datasheet"),
    _card("rtx-a5000", "ampere", 24, (8, 6), "NVIDIA RTX A5000 datasheet"),
    _card("rtx-a5500", "ampere", 24, (8, 6), "NVIDIA RTX A5500 datasheet"),
    _card("rtx-a6000", "ampere", 48, (8, 6), "NVIDIA RTX A6000 datasheet"),
    _card("rtx-3080-ti", "ampere", 12, (8, 6), "GeForce RTX 3080 Ti product page"),
    _card("rtx-3090", "ampere", 24, (8, 6), "GeForce RTX 3090 product page"),
)

_ADA: Final = (
    _card("l2", "ada-lovelace", 24, (8, 9), "NVIDIA L2 product brief"),
    _card("l4", "ada-lovelace", 24, (8, 9), "NVIDIA L4 datasheet"),
    _card("l20", "ada-lovelace", 48, (8, 9), "NVIDIA L20 product brief"),
    _card("l40", "ada-lovelace", 48, (8, 9), "NVIDIA L40 datasheet"),
    _card("l40g", "ada-lovelace", 24, (8, 9), "NVIDIA L40G product brief"),
    _card("l40s", "ada-lovelace", 48, (8, 9), "NVIDIA L40S datasheet"),
    _card("rtx-2000-ada", "ada-lovelace", 16, (8, 9), "NVIDIA RTX 2000 Ada Generation datasheet"),
    _card("rtx-4000-ada", "ada-lovelace", 20, (8, 9), "NVIDIA RTX 4000 Ada Generation datasheet"),
    _card("rtx-4000-sff-ada", "ada-lovelace", 20, (8, 9), "NVIDIA RTX 4000 SFF Ada Generation datasheet"),
    _card("rtx-4500-ada", "ada-lovelace", 24, (8, 9), "NVIDIA RTX 4500 Ada Generation datasheet"),
    _card("rtx-5000-ada", "ada-lovelace", 32, (8, 9), "NVIDIA RTX 5000 Ada Generation datasheet"),
    _card("rtx-5880-ada", "ada-lovelace", 48, (8, 9), "NVIDIA RTX 5880 Ada Generation datasheet"),
    _card("rtx-6000-ada", "ada-lovelace", 48, (8, 9), "NVIDIA RTX 6000 Ada Generation datasheet"),
    _card("rtx-4080", "ada-lovelace", 16, (8, 9), "GeForce RTX 4080 product page"),
    _card("rtx-4090", "ada-lovelace", 24, (8, 9), "GeForce RTX 4090 product page"),
)

_HOPPER: Final = (
    _card("h100", "hopper", 80, (9, 0), "NVIDIA H100 datasheet", _MIG_80),
    _card("h100-64gb", "hopper", 64, (9, 0), "BSC MareNostrum 5 system description"),
    _card("h100-80gb", "hopper", 80, (9, 0), "NVIDIA H100 datasheet", _MIG_80),
    _card("h100-96gb", "hopper", 96, (9, 0), "NVIDIA MIG User Guide (H100 96GB)", _MIG_96),
    _card("h100-nvl", "hopper", 94, (9, 0), "NVIDIA H100 NVL datasheet", _MIG_94),
    _card("h800", "hopper", 80, (9, 0), "NVIDIA H800 specifications", _MIG_80),
    _card("h20", "hopper", 96, (9, 0), "NVIDIA H20 specifications", _MIG_96),
    _card("h20-3e", "hopper", 141, (9, 0), "NVIDIA H20-3e specifications", _MIG_141),
    _card("h20-141gb", "hopper", 141, (9, 0), "NVIDIA H20-3e specifications", _MIG_141),
    _card("h200", "hopper", 141, (9, 0), "NVIDIA H200 datasheet", _MIG_141),
    _card("h200-nvl", "hopper", 141, (9, 0), "NVIDIA H200 NVL datasheet", _MIG_141),
    _card("gh200", "hopper", 96, (9, 0), "NVIDIA GH200 datasheet", _MIG_96),
    _card("gh200-480gb", "hopper", 96, (9, 0), "NVIDIA GH200 datasheet (480 GB are the CPU's)", _MIG_96),
    _card("gh200-144g", "hopper", 144, (9, 0), "NVIDIA GH200 datasheet", _MIG_144),
    _card("gh200-144gb", "hopper", 144, (9, 0), "NVIDIA GH200 datasheet", _MIG_144),
)

_BLACKWELL: Final = (
    _card("b200", "blackwell", 180, (10, 0), "NVIDIA HGX B200 datasheet", _MIG_180),
    _card("gb200", "blackwell", 186, (10, 0), "NVIDIA GB200 NVL72 datasheet", _MIG_GB200),
    _card("b300", "blackwell", 270, (10, 3), "NVIDIA HGX B300 specifications", _MIG_B300),
    _card("gb300", "blackwell", 279, (10, 3), "NVIDIA GB300 NVL72 datasheet", _MIG_GB300),
    _card("rtx-pro-4000", "blackwell", 24, (12, 0), "NVIDIA RTX PRO 4000 Blackwell datasheet"),
    _card("rtx-pro-4500", "blackwell", 32, (12, 0), "NVIDIA RTX PRO 4500 Blackwell datasheet"),
    _card("rtx-pro-5000", "blackwell", 48, (12, 0), "NVIDIA RTX PRO 5000 Blackwell datasheet"),
    _card("rtx-pro-6000", "blackwell", 96, (12, 0), "NVIDIA RTX PRO 6000 Blackwell datasheet", _MIG_RTX_PRO),
    _card("rtx-pro-server-6000", "blackwell", 96, (12, 0), "Amazon EC2 G7e instances page", _MIG_RTX_PRO),
    _card("rtx-5080", "blackwell", 16, (12, 0), "GeForce RTX 5080 product page"),
    _card("rtx-5090", "blackwell", 32, (12, 0), "GeForce RTX 5090 product page"),
    _card("gb10", "blackwell", None, (12, 1), "NVIDIA DGX Spark datasheet (memory is the system's)"),
)

NVIDIA_CARDS: Final = (*_OLD, *_TURING, *_AMPERE, *_ADA, *_HOPPER, *_BLACKWELL)
