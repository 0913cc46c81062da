"""Static rules one by one: each with its words, and with what GPUs have of the fact that it asks for."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import msgspec

from gpusched.core.codes import Reason
from gpusched.core.constraints import Constraints
from gpusched.core.pool import Pool
from gpusched.core.quantity import round_mib
from gpusched.core.version import format_cuda, format_driver
from gpusched.policy.intersection import intersect
from gpusched.policy.model import Group
from gpusched.policy.resolution import Resolution

#: Whose rules those of the pod's own annotations are.
POD: Final = "pod"

#: Values named in one sentence.
_NAMED: Final = 4


class Rule(msgspec.Struct, frozen=True):
    """One rule by the name of its annotation without prefix, the words it was given in, and the reason of a refusal.

    `fact` is the key of `gpusched.io/facts` that settles it, empty where there is none.
    """

    name: str
    value: str
    reason: Reason
    alone: Constraints
    fact: str = ""

    def against(self, pool: Pool, labels: Mapping[str, str]) -> Reason | None:
        """What the rule by itself says of a pool on a node with these labels."""
        return self.alone.reason_against(pool) or self.alone.reason_against_labels(labels)


class _Bound(NamedTuple):
    """The field of a pool that a bound is about, which of several values comes nearest to it, what that is called, and
    how it is written.
    """

    fact: str
    nearest: Callable[[list[int]], int]
    called: str
    text: Callable[[int], str]


_BOUNDS: Final = {
    "min-gpu-memory": _Bound("visible_memory_mib", max, "largest", round_mib),
    "max-gpu-memory": _Bound("visible_memory_mib", min, "smallest", round_mib),
    "min-cuda-version": _Bound("cuda_version", max, "highest", format_cuda),
    "min-driver-version": _Bound("driver_version", max, "highest", format_driver),
}
#: The group that must enforce for the rules of a layer to refuse nodes; node-selector has none.
_GROUPS: Final[Mapping[Reason, Group]] = {
    Reason.FAMILY: Group.FAMILY,
    Reason.PRODUCT: Group.PRODUCT,
    Reason.MEMORY: Group.MEMORY,
    Reason.SHARING: Group.SHARING,
    Reason.VERSION: Group.VERSION,
}


def rules_in_force(resolution: Resolution) -> Iterator[tuple[str, Rule]]:
    """The rules that refuse nodes to a pod, with whose they are: the pod's own first, then those of each layer."""
    for rule in rules_of(intersect([resolution.own.policy])):
        yield POD, rule
    for layer in resolution.layers:
        for rule in rules_of(intersect([layer.policy])):
            group = _GROUPS.get(rule.reason)
            if group is None or resolution.enforces(group):
                yield layer.name, rule


def rules_of(constraints: Constraints) -> Iterator[Rule]:
    """The rules that the constraints consist of, in the order in which they are judged."""
    given = constraints
    if given.families is not None:
        alone = Constraints(families=given.families)
        yield Rule("families", ", ".join(given.families), Reason.FAMILY, alone, "family")
    for side in given.products:
        yield Rule("products", ", ".join(side), Reason.PRODUCT, Constraints(products=(side,)), "product")
    if given.min_memory is not None:
        alone = Constraints(min_memory=given.min_memory)
        yield Rule("min-gpu-memory", given.min_memory.text, Reason.MEMORY, alone, "gpu-memory")
    if given.max_memory is not None:
        alone = Constraints(max_memory=given.max_memory)
        yield Rule("max-gpu-memory", given.max_memory.text, Reason.MEMORY, alone, "gpu-memory")
    if given.sharing is not None:
        alone = Constraints(sharing=given.sharing)
        yield Rule("sharing", ", ".join(sorted(given.sharing)), Reason.SHARING, alone, "sharing")
    if given.min_cuda is not None:
        alone = Constraints(min_cuda=given.min_cuda)
        yield Rule("min-cuda-version", format_cuda(given.min_cuda), Reason.VERSION, alone)
    if given.min_driver is not None:
        alone = Constraints(min_driver=given.min_driver)
        yield Rule("min-driver-version", format_driver(given.min_driver), Reason.VERSION, alone)
    for item in given.node_selector:
        yield Rule("node-selector", str(item), Reason.NODE_SELECTOR, Constraints(node_selector=(item,)))


def found(rule: Rule, pools: Iterable[Pool]) -> str:
    """What these pools have of the fact that the rule asks for: every value, or of a bound the one that is nearest to
    it. Empty where nothing is known, and for rules about labels.
    """
    bound = _BOUNDS.get(rule.name)
    if bound is not None:
        known = [value for pool in pools if (value := getattr(pool, bound.fact)) is not None]
        return bound.text(bound.nearest(known)) if known else ""
    values = {getattr(pool, rule.fact) for pool in pools} - {None} if rule.fact else set()
    return named(sorted(map(str, values)))


def here(rule: Rule, pools: Iterable[Pool], labels: Iterable[Mapping[str, str]]) -> str:
    """The same in words, such as `largest here: 15Gi`, also of labels; empty where nothing is known."""
    if rule.reason is Reason.NODE_SELECTOR:
        return label_values(rule.alone.node_selector[0].key, labels)
    have = found(rule, pools)
    called = f"{_BOUNDS[rule.name].called} here" if rule.name in _BOUNDS else "here"
    return f"{called}: {have}" if have else ""


def label_values(key: str, labels: Iterable[Mapping[str, str]]) -> str:
    """What nodes with these labels have under a key, such as `zone is a, b or not set`."""
    values = {own.get(key) for own in labels}
    present = named(sorted(value for value in values if value is not None))
    if not present:
        return f"{key} is not set"
    return f"{key} is {present}{' or not set' if None in values else ''}"


def named(values: Sequence[str]) -> str:
    """The values in one sentence; of many some."""
    more = f" and {len(values) - _NAMED} more" if len(values) > _NAMED else ""
    return ", ".join(values[:_NAMED]) + more
