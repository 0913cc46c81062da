"""The annotation keys: which objects carry them, and how their values are read into a policy."""

from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from gpusched.core.fault import Fault
from gpusched.core.selector import Requirement
from gpusched.policy.malformed import Malformed, oversized
from gpusched.policy.memory_text import parse_maximum, parse_minimum, parse_total
from gpusched.policy.mode_text import parse_modes
from gpusched.policy.model import Policy
from gpusched.policy.quota_text import parse_quota
from gpusched.policy.selector_text import parse_selector
from gpusched.policy.values import (
    parse_cuda,
    parse_driver,
    parse_families,
    parse_max_gpus,
    parse_placement,
    parse_products,
    parse_runtime_class,
    parse_sharing,
    parse_visible_devices,
)


class Key(msgspec.Struct, frozen=True):
    """A policy key: the field of `Policy` it fills, its parser, and whether pods may carry it too."""

    field: str
    parse: Callable[[str], object]
    on_pods: bool = False


def _node_selector(text: str) -> tuple[Requirement, ...] | Malformed:
    parsed = parse_selector(text)
    return Malformed(parsed) if isinstance(parsed, str) else parsed


#: By key without prefix, in the order of the documentation. A parser answers the field's value or `Malformed`.
KEYS: Final[Mapping[str, Key]] = {
    "mode": Key("mode", parse_modes),
    "families": Key("families", parse_families, on_pods=True),
    "products": Key("products", parse_products, on_pods=True),
    "min-gpu-memory": Key("min_memory", parse_minimum, on_pods=True),
    "max-gpu-memory": Key("max_memory", parse_maximum, on_pods=True),
    "min-cuda-version": Key("min_cuda", parse_cuda, on_pods=True),
    "min-driver-version": Key("min_driver", parse_driver, on_pods=True),
    "node-selector": Key("node_selector", _node_selector, on_pods=True),
    "sharing": Key("sharing", parse_sharing, on_pods=True),
    "max-gpus-per-pod": Key("max_gpus", parse_max_gpus),
    "quota": Key("quota", parse_quota),
    "quota-gpu-memory": Key("quota_memory_mib", parse_total),
    "placement": Key("placement", parse_placement, on_pods=True),
    "runtime-class": Key("runtime_class", parse_runtime_class, on_pods=True),
    "visible-devices": Key("visible_devices", parse_visible_devices),
}
#: The claim of a pod: no policy, and only on pods.
CLAIM: Final = "gpu-memory"
#: The word of an administrator about a node's GPUs: only on Nodes.
FACTS: Final = "facts"
#: Keys that do not by themselves make a namespace enforce: they refuse nothing.
SOFT_KEYS: Final = frozenset({"mode", "placement", "runtime-class"})


def read_policy(texts: Mapping[str, tuple[str, str]]) -> tuple[Policy, tuple[Fault, ...]]:
    """The policy of one object from known keys, each with its path and text; faults sorted by path.

    Bounds that contradict each other are a fault of the object that carries both, and neither is kept.
    """
    values: dict[str, object] = {}
    faults: list[Fault] = []
    for name, (path, text) in sorted(texts.items()):
        value = oversized(text) or KEYS[name].parse(text)
        if isinstance(value, Malformed):
            faults.append(Fault(path, value.sentence))
        else:
            values[KEYS[name].field] = value
    policy = msgspec.structs.replace(Policy(), **values)
    low, high = policy.min_memory, policy.max_memory
    if low is not None and high is not None and low.mib > high.mib:
        sentence = f'"{low.text}" is above max-gpu-memory "{high.text}"; write at most {high.text}'
        faults.append(Fault(texts["min-gpu-memory"][0], sentence))
        policy = msgspec.structs.replace(policy, min_memory=None, max_memory=None)
    return policy, tuple(faults)
