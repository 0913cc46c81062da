"""Changes of a pod that might make it fit, smallest first. Whether they do is for `remedy` to find out."""

from collections.abc import Iterator, Mapping
from typing import Final

from gpusched.core.claims import largest_possible_claim
from gpusched.core.codes import Reason
from gpusched.core.names import PREFIX
from gpusched.core.node import Taint
from gpusched.core.quantity import format_mib
from gpusched.native.taints import untolerated
from gpusched.simulate.admit import Candidate
from gpusched.simulate.change import Change
from gpusched.simulate.selector_changes import selector_changes
from gpusched.simulate.tree_edit import drop, put, tolerate, with_resource
from gpusched.simulate.world import World
from gpusched.state.node_state import NodeState

_CLAIM: Final = PREFIX + "gpu-memory"
#: The pod's own annotations that keep nodes away, in the order in which giving them up is suggested.
_BOUNDS: Final = (
    "min-driver-version",
    "min-cuda-version",
    "max-gpu-memory",
    "min-gpu-memory",
    "products",
    "sharing",
    "families",
    "node-selector",
)
#: A CUDA context alone takes about this much (524 MiB on an H200): a smaller claim helps nobody.
_LEAST_CLAIM_MIB: Final = 512
#: Taints by which Kubernetes and clouds keep pods from nodes that are not meant for them, or not well.
_SYSTEM_TAINTS: Final = ("node.kubernetes.io/", "node-role.kubernetes.io/", "node.cloudprovider.kubernetes.io/")
#: Slots tried of a resource that stands in no node's allocatable, as where DRA serves it: the GPUs of a large machine.
_DRA_SLOTS: Final = 16
#: What a node offers is a number that its device plugin made up; no machine has as many GPUs, however they are shared.
_MOST_SLOTS: Final = 1024
_Tree = Mapping[str, object]


def pod_changes(
    tree: _Tree, candidate: Candidate, by_reason: Mapping[Reason, list[NodeState]], world: World
) -> Iterator[Change]:
    """Every single change worth trying."""
    yield from _claims(tree, candidate, by_reason, world)
    yield from _tolerations(tree, candidate, by_reason, world)
    yield from _fewer_slots(tree, candidate, by_reason)
    yield from _annotations(tree, candidate, world)
    yield from selector_changes(tree, candidate)
    yield from _amounts(tree, candidate, by_reason, world)
    yield from _rules(tree, candidate)
    yield from _other_resources(tree, candidate, world)


def renamed(tree: _Tree, candidate: Candidate, world: World) -> Iterator[Change]:
    """The names that misspelt GPU resources were most likely meant to be: without them no other change helps."""
    resources, present = world.cluster.resources, world.cluster.facts.resources
    containers = candidate.plain.containers
    for container in containers:
        where = f" in container {container.name}" if len(containers) > 1 else ""
        for resource, amount in sorted({**container.requests, **container.limits}.items()):
            meant = resources.nearest(resource, present) if resources.vendor(resource) is None else None
            if meant is not None:
                without = with_resource(tree, container.name, resource, None)
                yield Change(
                    f"ask for {meant}: {amount} instead of {resource}{where}",
                    with_resource(without, container.name, meant, str(amount)),
                )


def _claims(
    tree: _Tree, candidate: Candidate, by_reason: Mapping[Reason, list[NodeState]], world: World
) -> Iterator[Change]:
    request = candidate.request
    if request is None or request.demand.claim_mib is None:
        return
    config = world.cluster.config
    possible = [
        largest_possible_claim(pool, state.use(resource), slots, config.claim_reserve, config.claim_above_slot)
        for state in by_reason.get(Reason.MEMORY_CLAIM, ())
        for resource, slots in request.demand.slots.items()
        if (pool := state.node.pool(resource)) is not None
    ]
    best = max((amount for amount in possible if amount), default=0)
    if best >= _LEAST_CLAIM_MIB:
        text = format_mib(best)
        yield Change(f"set {_CLAIM}: {text}", put(tree, ("metadata", "annotations", _CLAIM), text))
    yield Change(f"remove {_CLAIM}", drop(tree, ("metadata", "annotations", _CLAIM)))


def _fewer_slots(tree: _Tree, candidate: Candidate, by_reason: Mapping[Reason, list[NodeState]]) -> Iterator[Change]:
    if candidate.request is None:
        return
    for container in candidate.request.demand.containers:
        for resource, slots in sorted(container.slots.items()):
            for fewer in range(min(slots - 1, _most(resource, by_reason)), 0, -1):
                yield Change(
                    f"ask for {resource}: {fewer} in container {container.name}",
                    with_resource(tree, container.name, resource, str(fewer)),
                    radical=2 * fewer < slots,
                )


def _most(resource: str, by_reason: Mapping[Reason, list[NodeState]]) -> int:
    """More slots than this no node gives, however many a pod asks for: `nvidia.com/gpu: 8Gi` is a number too."""
    offered = [state.node.object.allocatable.get(resource, 0) for states in by_reason.values() for state in states]
    return min(max(offered, default=0) or _DRA_SLOTS, _MOST_SLOTS)


def _annotations(tree: _Tree, candidate: Candidate, world: World) -> Iterator[Change]:
    if candidate.request is None:
        return
    present = [key for key in _BOUNDS if PREFIX + key in candidate.pod.annotations]
    if "families" in present:
        for family in sorted({pool.family for pool in world.cluster.facts.pools if pool.family}):
            key = PREFIX + "families"
            yield Change(f"set {key}: {family}", put(tree, ("metadata", "annotations", key), family))
    for name in present:
        yield Change(f"remove {PREFIX}{name}", drop(tree, ("metadata", "annotations", PREFIX + name)))


def _tolerations(
    tree: _Tree, candidate: Candidate, by_reason: Mapping[Reason, list[NodeState]], world: World
) -> Iterator[Change]:
    taints: dict[Taint, None] = {}
    for state in by_reason.get(Reason.NATIVE_TAINT, ()):
        taint = untolerated(candidate.pod.spec.tolerations, state.node.object.taints)
        if taint is not None and not _is_meant(taint, candidate, world):
            taints[taint] = None
    for taint in sorted(taints, key=lambda taint: (taint.key, taint.value, taint.effect)):
        value = f"={taint.value}" if taint.value else ""
        yield Change(f"tolerate {taint.key}{value}:{taint.effect}", tolerate(tree, taint))


def _is_meant(taint: Taint, candidate: Candidate, world: World) -> bool:
    """Whether the taint is there to keep just such pods away: off GPU nodes those that ask for none."""
    guards_gpus = world.cluster.resources.vendor(taint.key) is not None
    return taint.key.startswith(_SYSTEM_TAINTS) or (guards_gpus and candidate.request is None)


def _amounts(
    tree: _Tree, candidate: Candidate, by_reason: Mapping[Reason, list[NodeState]], world: World
) -> Iterator[Change]:
    containers = candidate.plain.containers
    if len(containers) != 1:
        return
    for resource in ("cpu", "memory", "ephemeral-storage"):
        wanted = candidate.requests.get(resource, 0)
        free = [
            world.ledger.node(state.node.name).free.get(resource, 0)
            for state in by_reason.get(Reason.NATIVE_RESOURCES, ())
        ]
        best = max(free, default=0)
        if 0 < best < wanted:
            text = f"{best}m" if resource == "cpu" else f"{best // 2**20}Mi"
            yield Change(
                f"ask for {resource}: {text} in container {containers[0].name}",
                with_resource(tree, containers[0].name, resource, text),
            )


def _rules(tree: _Tree, candidate: Candidate) -> Iterator[Change]:
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    if candidate.pod.spec.pod_anti_affinity:
        yield Change(
            "remove the required pod anti-affinity", drop(tree, ("spec", "affinity", "podAntiAffinity", required))
        )
    if candidate.pod.spec.pod_affinity:
        yield Change("remove the required pod affinity", drop(tree, ("spec", "affinity", "podAffinity", required)))
    if candidate.pod.spec.spread:
        yield Change("remove spec.topologySpreadConstraints", drop(tree, ("spec", "topologySpreadConstraints")))


def _other_resources(tree: _Tree, candidate: Candidate, world: World) -> Iterator[Change]:
    """Other resources of the same vendor, such as a MIG profile: the image was built for that vendor's GPUs."""
    if candidate.request is None:
        return
    offered = {pool.resource: pool.vendor for pool in world.cluster.facts.pools}
    for container in candidate.request.demand.containers:
        for resource, slots in sorted(container.slots.items()):
            vendor = world.cluster.resources.vendor(resource)
            for other in sorted(name for name, owner in offered.items() if owner == vendor and name != resource):
                without = with_resource(tree, container.name, resource, None)
                yield Change(
                    f"ask for {other}: {slots} instead of {resource} in container {container.name}",
                    with_resource(without, container.name, other, str(slots)),
                    radical=True,
                )
