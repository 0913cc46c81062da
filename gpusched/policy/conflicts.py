"""Conflicts: layers whose rules no GPU can satisfy together, with both sides named."""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from gpusched.core.constraints import MemoryBound
from gpusched.policy.compatible_products import compatible
from gpusched.policy.model import Group, Layer
from gpusched.policy.resolution import Conflict

_Word = TypeVar("_Word", bound=str)


def conflicts(layers: Sequence[Layer], present_products: frozenset[str]) -> tuple[Conflict, ...]:
    """At most one conflict per group: family, product, memory, sharing. Layers go from the outermost to the pod.

    The asker is the inner side. Where only several outer layers together exclude it, all of them are named, with
    what they have in common.
    """
    found = (
        _sets(Group.FAMILY, [(layer.name, layer.policy.families) for layer in layers]),
        _products([(layer.name, layer.policy.products) for layer in layers], present_products),
        _memory(layers),
        _sets(Group.SHARING, [(layer.name, layer.policy.sharing) for layer in layers]),
    )
    return tuple(conflict for conflict in found if conflict is not None)


def _sets(group: Group, sides: Iterable[tuple[str, tuple[_Word, ...] | None]]) -> Conflict | None:
    names: list[str] = []
    allowed: tuple[_Word, ...] = ()
    for name, words in sides:
        if words is None:
            continue
        common = tuple(word for word in words if word in allowed) if names else words
        if not common:
            return Conflict(group, name, ", ".join(words), " and ".join(names), ", ".join(allowed))
        # A layer that excludes nothing so far need not be named.
        if set(common) != set(allowed):
            names = [name] if set(common) == set(words) else [*names, name]
        allowed = common
    return None


def _products(sides: Iterable[tuple[str, tuple[str, ...] | None]], present_products: frozenset[str]) -> Conflict | None:
    outer: list[tuple[str, tuple[str, ...]]] = []
    for name, words in sides:
        if words is None:
            continue
        if outer and not compatible([*(allowed for _, allowed in outer), words], present_products):
            alone = [side for side in outer if not compatible([side[1], words], present_products)]
            blamed = alone[-1:] or outer
            allowers = " and ".join(allower for allower, _ in blamed)
            allowed = " with ".join(", ".join(allowed) for _, allowed in blamed)
            return Conflict(Group.PRODUCT, name, ", ".join(words), allowers, allowed)
        outer.append((name, words))
    return None


def _memory(layers: Sequence[Layer]) -> Conflict | None:
    low = _tightest(max, [(depth, layer.policy.min_memory) for depth, layer in enumerate(layers)])
    high = _tightest(min, [(depth, layer.policy.max_memory) for depth, layer in enumerate(layers)])
    if low is None or high is None or low[1].mib <= high[1].mib:
        return None
    sides = [(low[0], f"at least {low[1].text}"), (high[0], f"at most {high[1].text}")]
    (outer, allowed), (inner, asked) = sorted(sides)
    return Conflict(Group.MEMORY, layers[inner].name, asked, layers[outer].name, allowed)


def _tightest(
    choose: Callable[..., tuple[int, MemoryBound]], bounds: Iterable[tuple[int, MemoryBound | None]]
) -> tuple[int, MemoryBound] | None:
    given = [(depth, bound) for depth, bound in bounds if bound is not None]
    return choose(given, key=lambda pair: pair[1].mib) if given else None
