"""Other GPU resources of the same vendor that a pod could ask for: the image was built for that vendor's GPUs."""

from collections.abc import Iterator, Mapping
from typing import Final

from gpusched.core.catalogue import profile_gigabytes
from gpusched.core.names import PREFIX
from gpusched.core.pool import Pool
from gpusched.core.resources import mig_profile
from gpusched.simulate.admit import Candidate
from gpusched.simulate.remedies.change import Change, Loss
from gpusched.simulate.tree_edit import put, with_resource
from gpusched.simulate.world import World

_LEAST: Final = PREFIX + "min-gpu-memory"
#: A MIG instance has a little less than its name says: 1g.10gb is 9.5 to 9.8 GiB.
_PERCENT: Final = 92


def substitutes(tree: Mapping[str, object], candidate: Candidate, world: World) -> Iterator[Change]:
    """What is no worse in memory, the smallest first, then smaller MIG instances in place of one, the largest first.

    Where it is unknown how much memory was asked for, the largest comes first.
    """
    if candidate.request is None:
        return
    pools = world.cluster.facts.pools
    for container in candidate.request.demand.containers:
        for resource, slots in sorted(container.slots.items()):
            vendor = world.cluster.resources.vendor(resource)
            asked = _nominal(resource) or min(_known(resource, pools), default=None)
            names = {pool.resource for pool in pools if pool.vendor == vendor} - {resource}
            others = {name: _nominal(name) or max(_known(name, pools), default=None) for name in names}
            without = with_resource(tree, container.name, resource, None)
            for other, least in _in_order(resource, asked, others):
                text = f"ask for {other}: {slots} instead of {resource} in container {container.name}"
                changed = with_resource(without, container.name, other, str(slots))
                yield Change(text, changed, Loss.OTHER, other, least)
                if least and _LEAST not in candidate.pod.annotations:
                    # Without it the pod may come to a node of less.
                    bound = f"{-(-least * 100 // (1024 * _PERCENT))}Gi"
                    changed = put(changed, ("metadata", "annotations", _LEAST), bound)
                    yield Change(text, changed, Loss.OTHER, other, least, f" and set {_LEAST}: {bound}")


def slot_memory(pool: Pool) -> int | None:
    """MiB of a slot, of a MIG instance by its name where nothing else tells."""
    return pool.slot_memory_mib or _nominal(pool.resource)


def _in_order(resource: str, asked: int | None, others: Mapping[str, int | None]) -> Iterator[tuple[str, int]]:
    """The resources, by the memory of their largest slots, with the least that a slot must have."""
    by_size = sorted(others, key=lambda name: (others[name] or 0, name))
    if asked is None:
        yield from ((name, 0) for name in reversed(by_size))
        return
    yield from ((name, asked) for name in by_size if (others[name] or asked) >= asked)
    if mig_profile(resource) is not None:
        yield from ((name, 0) for name in reversed(by_size) if mig_profile(name) and (others[name] or asked) < asked)


def _known(resource: str, pools: tuple[Pool, ...]) -> list[int]:
    return [pool.slot_memory_mib for pool in pools if pool.resource == resource and pool.slot_memory_mib]


def _nominal(resource: str) -> int | None:
    gigabytes = profile_gigabytes(mig_profile(resource) or "")
    return gigabytes * 1024 * _PERCENT // 100 if gigabytes else None
