"""Rules in short, for annotations and messages: `families=hopper memory>=20Gi`."""

from collections.abc import Iterable

from gpusched.core.constraints import MemoryBound
from gpusched.core.quantity import format_mib
from gpusched.core.selector import Requirement
from gpusched.core.version import format_cuda, format_driver
from gpusched.policy.layers import said, without
from gpusched.policy.mode_text import format_modes
from gpusched.policy.model import Layer, Policy
from gpusched.policy.quota_text import format_quota
from gpusched.policy.selector_text import format_selector

#: The fields that become constraints on nodes.
_STATIC = frozenset(
    {"families", "products", "min_memory", "max_memory", "sharing", "min_cuda", "min_driver", "node_selector"}
)


def describe(policy: Policy) -> str:
    """Everything a policy says, words separated by blanks; empty when it says nothing."""
    return " ".join(word for word in (*_static(policy), *_limits(policy)) if word)


def describe_static(layers: Iterable[Layer]) -> str:
    """The rules of the layers that bear on nodes, each layer named: `families=hopper (namespace team-a)`."""
    texts = ((layer.name, describe(without(layer.policy, said(layer.policy) - _STATIC))) for layer in layers)
    return "; ".join(f"{text} ({name})" for name, text in texts if text)


def _static(policy: Policy) -> tuple[str, ...]:
    return (
        _words("families", policy.families),
        _words("products", policy.products),
        _bound("memory>=", policy.min_memory),
        _bound("memory<=", policy.max_memory),
        _words("sharing", policy.sharing),
        "" if policy.min_cuda is None else f"cuda>={format_cuda(policy.min_cuda)}",
        "" if policy.min_driver is None else f"driver>={format_driver(policy.min_driver)}",
        _selector(policy.node_selector),
    )


def _limits(policy: Policy) -> tuple[str, ...]:
    quota, memory = policy.quota, policy.quota_memory_mib
    return (
        "" if policy.max_gpus is None else f"max-gpus-per-pod={policy.max_gpus}",
        "" if quota is None else f"quota={format_quota(quota).replace(' ', '')}",
        "" if memory is None else f"quota-gpu-memory={format_mib(memory)}",
        "" if policy.placement is None else f"placement={policy.placement}",
        "" if policy.runtime_class is None else f"runtime-class={policy.runtime_class}",
        "" if policy.visible_devices is None else f"visible-devices={policy.visible_devices}",
        "" if policy.mode is None else f"mode={format_modes(policy.mode)}",
    )


def _words(name: str, words: tuple[str, ...] | None) -> str:
    return "" if words is None else f"{name}={','.join(words)}"


def _bound(name: str, bound: MemoryBound | None) -> str:
    return "" if bound is None else f"{name}{bound.text}"


def _selector(requirements: tuple[Requirement, ...] | None) -> str:
    return "" if requirements is None else f"node-selector={format_selector(requirements)}"
