"""Changes of a pod that might make it fit, smallest first. Whether they do is for `remedy` to find out."""

from collections.abc import Iterator, Mapping
from typing import Final

from gpusched.core.names import PREFIX
from gpusched.core.node import Taint
from gpusched.core.quantity import format_mib
from gpusched.simulate.admit import Candidate
from gpusched.simulate.remedies.amount_changes import amount_changes
from gpusched.simulate.remedies.annotation_changes import annotation_changes
from gpusched.simulate.remedies.change import Change, Loss
from gpusched.simulate.remedies.offer import Offer
from gpusched.simulate.remedies.selector_changes import selector_changes
from gpusched.simulate.remedies.substitutes import substitutes
from gpusched.simulate.tree_edit import drop, put, tolerate, with_resource
from gpusched.simulate.world import World

_CLAIM: Final = PREFIX + "gpu-memory"
#: A CUDA context alone takes about this much (524 MiB on an H200): a smaller claim helps nobody.
_LEAST_CLAIM_MIB: Final = 512
#: Taints by which Kubernetes and clouds keep pods from nodes that are not meant for them, or not well.
_SYSTEM_TAINTS: Final = ("node.kubernetes.io/", "node-role.kubernetes.io/", "node.cloudprovider.kubernetes.io/")
#: Slots tried of a resource that stands in no node's allocatable, as where DRA serves it: the GPUs of a large machine.
_DRA_SLOTS: Final = 16
#: What a node offers is a number that its device plugin made up; no machine has as many GPUs, however they are shared.
_MOST_SLOTS: Final = 1024
_Tree = Mapping[str, object]


def pod_changes(tree: _Tree, candidate: Candidate, offer: Offer, world: World) -> Iterator[Change]:
    """Every single change worth trying."""
    yield from _claims(tree, candidate, offer)
    yield from _tolerations(tree, candidate, offer, world)
    yield from _fewer_slots(tree, candidate, offer)
    yield from annotation_changes(tree, candidate, world)
    yield from selector_changes(tree, candidate)
    yield from amount_changes(tree, candidate, offer)
    yield from _rules(tree, candidate)
    yield from substitutes(tree, candidate, world)


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
                    Loss.NOTHING,
                )


def _claims(tree: _Tree, candidate: Candidate, offer: Offer) -> Iterator[Change]:
    request = candidate.request
    if request is None or request.demand.claim_mib is None:
        return
    for amount in dict.fromkeys((offer.claim_mib, offer.claim_empty_mib)):
        if not _LEAST_CLAIM_MIB <= amount < request.demand.claim_mib:
            continue
        text = format_mib(amount)
        loss = Loss.CLAIM if 2 * amount >= request.demand.claim_mib else Loss.LESS
        yield Change(f"set {_CLAIM}: {text}", put(tree, ("metadata", "annotations", _CLAIM), text), loss)
    yield Change(f"remove {_CLAIM}", drop(tree, ("metadata", "annotations", _CLAIM)), Loss.LESS)


def _fewer_slots(tree: _Tree, candidate: Candidate, offer: Offer) -> Iterator[Change]:
    if candidate.request is None:
        return
    for container in candidate.request.demand.containers:
        for resource, slots in sorted(container.slots.items()):
            for fewer in range(min(slots - 1, _most(resource, offer)), 0, -1):
                yield Change(
                    f"ask for {resource}: {fewer} in container {container.name}",
                    with_resource(tree, container.name, resource, str(fewer)),
                    Loss.OTHER if 2 * fewer < slots else Loss.LESS,
                    resource,
                )


def _most(resource: str, offer: Offer) -> int:
    """More slots than this no node gives, however many a pod asks for: `nvidia.com/gpu: 8Gi` is a number too."""
    return min(offer.slots.get(resource, 0) or _DRA_SLOTS, _MOST_SLOTS)


def _tolerations(tree: _Tree, candidate: Candidate, offer: Offer, world: World) -> Iterator[Change]:
    for taint in offer.taints:
        if is_meant(taint, candidate, world):
            continue
        value = f"={taint.value}" if taint.value else ""
        yield Change(f"tolerate {taint.key}{value}:{taint.effect}", tolerate(tree, taint), Loss.NOTHING)


def is_meant(taint: Taint, candidate: Candidate, world: World) -> bool:
    """Whether the taint is there to keep just such pods away: off GPU nodes those that ask for none."""
    guards_gpus = world.cluster.resources.vendor(taint.key) is not None
    return taint.key.startswith(_SYSTEM_TAINTS) or (guards_gpus and candidate.request is None)


def _rules(tree: _Tree, candidate: Candidate) -> Iterator[Change]:
    required, spec = "requiredDuringSchedulingIgnoredDuringExecution", candidate.pod.spec
    for present, name, path in (
        (spec.pod_anti_affinity, "the required pod anti-affinity", ("affinity", "podAntiAffinity", required)),
        (spec.pod_affinity, "the required pod affinity", ("affinity", "podAffinity", required)),
        (spec.spread, "spec.topologySpreadConstraints", ("topologySpreadConstraints",)),
    ):
        if present:
            changed = drop(tree, ("spec", *path))
            yield Change(f"remove {name}", changed, Loss.WISH, shared=present is spec.pod_anti_affinity)
