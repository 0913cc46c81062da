"""CUDA and driver versions as integers, so that node affinity's Gt and Lt can compare them."""

import re
from typing import Final

_CUDA: Final = re.compile(r"(\d{1,3})\.(\d{1,2})", re.ASCII)
_DRIVER: Final = re.compile(r"(\d{1,4})\.(\d{1,3})(?:\.(\d{1,3}))?", re.ASCII)


def encode_cuda(text: str) -> int | None:
    """`12.4` as 12040, the number that cuDriverGetVersion returns; None when it is not major.minor."""
    matched = _CUDA.fullmatch(text.strip())
    return int(matched[1]) * 1000 + int(matched[2]) * 10 if matched else None


def format_cuda(version: int) -> str:
    """12040 as `12.4`."""
    return f"{version // 1000}.{version % 1000 // 10}"


def encode_driver(text: str) -> int | None:
    """`550.107.02` as 550107002, `550.54` as 550054000; None when it is neither form."""
    matched = _DRIVER.fullmatch(text.strip())
    if matched is None:
        return None
    return int(matched[1]) * 1_000_000 + int(matched[2]) * 1000 + int(matched[3] or 0)


def format_driver(version: int) -> str:
    """550107002 as `550.107.02`; a revision of 0 is left out."""
    major, rest = divmod(version, 1_000_000)
    minor, revision = divmod(rest, 1000)
    return f"{major}.{minor:02d}.{revision:02d}" if revision else f"{major}.{minor:02d}"
