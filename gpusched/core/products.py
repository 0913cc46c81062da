"""Product names of GPUs in one spelling, and the rule by which a wanted product matches one."""

import re
from functools import lru_cache
from typing import Final

#: What drivers, GPU Feature Discovery and clouds put round a model's name. The `-MIG-<profile>` and `-SHARED` suffixes
#: are those of k8s-device-plugin internal/lm/resource.go, in this order.
_SHARED: Final = re.compile(r"-shared$")
_MIG: Final = re.compile(r"-mig-(invalid|\d+(?:c\.\d+)?g\.\d+gb(?:[.+-][a-z0-9.+-]+)?)$")
_MAKERS: Final = ("nvidia-", "tesla-", "amd-", "instinct-", "intel-", "data-center-gpu-")
_SEPARATORS: Final = re.compile(r"[\s_/]+|-{2,}")


@lru_cache(maxsize=4096)
def normalise(raw: str) -> str:
    """The model in lower case, words joined by dashes, without maker, `-MIG-<profile>` and `-SHARED`.

    `NVIDIA-A100-SXM4-40GB-MIG-1g.5gb-SHARED` is `a100-sxm4-40gb`, GKE's `nvidia-tesla-t4` is `t4`. Empty when
    nothing is left.
    """
    text = _SEPARATORS.sub("-", raw.strip().lower()).strip("-")
    text = _MIG.sub("", _SHARED.sub("", text))
    stripped = True
    while stripped:
        stripped = False
        for maker in _MAKERS:
            if text.startswith(maker):
                text, stripped = text.removeprefix(maker), True
    return text


def mig_suffix(raw: str) -> str | None:
    """The profile, or `invalid`, in the `-MIG-` suffix of a product label; None when it has none."""
    found = _MIG.search(_SHARED.sub("", raw.strip().lower()))
    return found.group(1) if found else None


@lru_cache(maxsize=4096)
def tokens_of(product: str) -> tuple[str, ...]:
    """The dash-separated tokens of a product in any spelling."""
    return tuple(token for token in normalise(product).split("-") if token)


def in_order(wanted: tuple[str, ...], tokens: tuple[str, ...]) -> bool:
    """Whether all wanted tokens occur among `tokens` in this order, others between them or not."""
    rest = iter(tokens)
    return all(token in rest for token in wanted)


@lru_cache(maxsize=16384)
def product_matches(wanted: str, product: str) -> bool:
    """Whether a product is what a rule means: `a100` matches `a100-sxm4-40gb`, but neither `a10` nor `a10g` does.

    Both may be in any spelling. A wanted text without a token matches nothing.
    """
    tokens = tokens_of(wanted)
    return bool(tokens) and in_order(tokens, tokens_of(product))
