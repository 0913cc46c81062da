"""Changes of a pod's own annotations that keep nodes away: another value that some GPU here meets, or none."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from gpusched.core.catalogue import NOMINAL_GIB
from gpusched.core.names import PREFIX
from gpusched.core.pool import Pool
from gpusched.core.version import format_cuda, format_driver
from gpusched.policy.malformed import Malformed
from gpusched.policy.memory_text import parse_maximum, parse_minimum
from gpusched.policy.model import Policy
from gpusched.simulate.admit import Candidate
from gpusched.simulate.remedies.change import Change, Loss
from gpusched.simulate.tree_edit import drop, put
from gpusched.simulate.world import World

#: Values tried of one annotation, the nearest to the pod's own first.
_VALUES: Final = 8
#: Annotations that choose the GPU itself.
_OF_GPUS: Final = frozenset({"families", "products", "sharing", "min-gpu-memory", "max-gpu-memory"})
_Values = Callable[[Policy, Iterable[Pool]], list[str]]


def annotation_changes(tree: Mapping[str, object], candidate: Candidate, world: World) -> Iterator[Change]:
    """Other values of each annotation, then its removal."""
    if candidate.request is None:
        return
    own, pools = candidate.request.resolution.own.policy, world.cluster.facts.pools
    for name, values in _BOUNDS.items():
        key = PREFIX + name
        if key not in candidate.pod.annotations:
            continue
        path = ("metadata", "annotations", key)
        loss = Loss.KIND if name in _OF_GPUS else Loss.WISH
        for value in values(own, pools)[:_VALUES]:
            yield Change(f"set {key}: {_as_yaml(value)}", put(tree, path, value), loss)
        yield Change(f"remove {key}", drop(tree, path), loss)


def _as_yaml(value: str) -> str:
    """The value as it must stand in a manifest: an annotation that YAML reads as a number is refused."""
    return f'"{value}"' if value.replace(".", "", 1).isdecimal() else value


def _drivers(own: Policy, pools: Iterable[Pool]) -> list[str]:
    return [format_driver(version) for version in _below(own.min_driver, (pool.driver_version for pool in pools))]


def _cudas(own: Policy, pools: Iterable[Pool]) -> list[str]:
    return [format_cuda(version) for version in _below(own.min_cuda, (pool.cuda_version for pool in pools))]


def _minima(own: Policy, pools: Iterable[Pool]) -> list[str]:
    bound = own.min_memory.mib if own.min_memory is not None else None
    return _distinct(_least_text(mib) for mib in _below(bound, (pool.visible_memory_mib for pool in pools)))


def _maxima(own: Policy, pools: Iterable[Pool]) -> list[str]:
    bound = own.max_memory.mib if own.max_memory is not None else 0
    more = {pool.visible_memory_mib for pool in pools if (pool.visible_memory_mib or 0) > bound}
    return _distinct(_most_text(mib) for mib in sorted(mib for mib in more if mib is not None))


def _below(bound: int | None, found: Iterable[int | None]) -> list[int]:
    """The values less than the bound, the largest first."""
    return sorted({value for value in found if value and bound is not None and value < bound}, reverse=True)


def _least_text(mib: int) -> str:
    """The largest amount as people write it that so much memory meets."""
    for size in sorted(NOMINAL_GIB, reverse=True):
        bound = parse_minimum(f"{size}Gi")
        if not isinstance(bound, Malformed) and bound.mib <= mib <= size * 1024 * 108 // 100:
            return f"{size}Gi"
    return f"{mib // 1024}Gi" if mib >= 1024 else f"{mib}Mi"


def _most_text(mib: int) -> str:
    """The smallest amount as people write it that so much memory does not exceed."""
    for size in sorted(NOMINAL_GIB):
        bound = parse_maximum(f"{size}Gi")
        if not isinstance(bound, Malformed) and mib <= bound.mib:
            return f"{size}Gi"
    return f"{-(-mib // 1024)}Gi"


def _distinct(texts: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(texts))


def _products(_own: Policy, pools: Iterable[Pool]) -> list[str]:
    return sorted({pool.product for pool in pools if pool.product})


def _families(_own: Policy, pools: Iterable[Pool]) -> list[str]:
    return sorted({pool.family for pool in pools if pool.family})


def _none(_own: Policy, _pools: Iterable[Pool]) -> list[str]:
    return []


#: The pod's own annotations that keep nodes away, in the order in which giving them up is suggested.
_BOUNDS: Final[Mapping[str, _Values]] = {
    "min-driver-version": _drivers,
    "min-cuda-version": _cudas,
    "max-gpu-memory": _maxima,
    "min-gpu-memory": _minima,
    "products": _products,
    "sharing": _none,
    "families": _families,
    "node-selector": _none,
}
