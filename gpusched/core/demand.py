"""Demand of a pod: effective GPU slots, slots per container, the claim per slot, and its native resource requests.

Rule for effective amounts: component-helpers resource/helpers.go, PodRequests.
"""

from collections.abc import Iterable, Mapping

import msgspec

from gpusched.core import quantity
from gpusched.core.pod import Container, ContainerKind, Pod
from gpusched.core.resources import GpuResources


class ContainerDemand(msgspec.Struct, frozen=True, gc=False):
    """GPU slots that one container asks for, per resource; zero quantities are left out."""

    name: str
    kind: ContainerKind
    slots: Mapping[str, int]


class Demand(msgspec.Struct, frozen=True, gc=False):
    """What the scheduler must find on one node.

    `slots` is effective (init containers and sidecars counted as Kubernetes does), without zeros. `claim_mib` is the
    claim per requested slot, None when the pod makes none.
    """

    slots: Mapping[str, int]
    containers: tuple[ContainerDemand, ...] = ()
    claim_mib: int | None = None

    @property
    def total(self) -> int:
        """Slots over all GPU resources."""
        return sum(self.slots.values())

    def largest_container(self, resource: str) -> int:
        """The most slots of a resource that a single container asks for."""
        return max((container.slots.get(resource, 0) for container in self.containers), default=0)


def demand(pod: Pod, resources: GpuResources, claim_mib: int | None) -> Demand:
    """The GPU demand of a pod: per container the larger of limit and request.

    Amounts that do not parse or are negative count 0, fractions count as the next whole slot: the API server refuses
    both, and admission judges the text itself.
    """
    per_container = [gpu_slots(container, resources) for container in pod.spec.containers]
    return Demand(
        slots=_effective(pod.spec.containers, per_container),
        containers=tuple(
            ContainerDemand(container.name, container.kind, slots)
            for container, slots in zip(pod.spec.containers, per_container, strict=True)
            if slots
        ),
        claim_mib=claim_mib,
    )


def gpu_slots(container: Container, resources: GpuResources) -> dict[str, int]:
    """GPU slots that one container asks for, per resource, without zeros: the larger of limit and request."""
    slots: dict[str, int] = {}
    for stated in (container.limits, container.requests):
        for name, text in stated.items():
            amount = _amount(name, text) if resources.vendor(name) is not None else 0
            if amount > slots.get(name, 0):
                slots[name] = amount
    return slots


def mentions_gpu(pod: Pod, resources: GpuResources) -> bool:
    """Whether the pod names a GPU resource with a quantity that is not zero; one that does not parse counts."""
    amounts = [pod.spec.pod_requests, pod.spec.pod_limits]
    for container in pod.spec.containers:
        amounts += [container.requests, container.limits]
    return any(
        resources.vendor(name) is not None and quantity.parse(text) != 0
        for stated in amounts
        for name, text in stated.items()
    )


def native_requests(pod: Pod) -> dict[str, int]:
    """Effective requests of every resource as the scheduler sums them: cpu in milli-cores, others in whole units.

    Limits stand in for requests that are missing, as the API server's defaults do for pods (not for templates);
    pod-level requests replace the containers' sum, pod-level limits only where no container asks; overhead is added.
    Amounts that do not parse or are negative count 0. Zeros are left out.
    """
    containers = pod.spec.containers
    effective = _effective(containers, [_requests(container) for container in containers])
    for name, text in pod.spec.pod_limits.items():
        effective.setdefault(name, _amount(name, text))
    for name, text in pod.spec.pod_requests.items():
        effective[name] = _amount(name, text)
    for name, text in pod.spec.overhead.items():
        effective[name] = effective.get(name, 0) + _amount(name, text)
    return {name: amount for name, amount in effective.items() if amount}


def _requests(container: Container) -> dict[str, int]:
    stated = {**container.limits, **container.requests}
    return {name: _amount(name, text) for name, text in stated.items()}


def _amount(name: str, text: str) -> int:
    amount = quantity.milli(text) if name == "cpu" else quantity.whole(text)
    return max(amount or 0, 0)


def _effective(containers: Iterable[Container], amounts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """Per resource max(apps + sidecars, max over init containers of itself + the sidecars declared before it)."""
    lasting: dict[str, int] = {}
    sidecars: dict[str, int] = {}
    peak: dict[str, int] = {}
    for container, amount in zip(containers, amounts, strict=True):
        for name, count in amount.items():
            if container.kind is ContainerKind.INIT:
                peak[name] = max(peak.get(name, 0), sidecars.get(name, 0) + count)
                continue
            lasting[name] = lasting.get(name, 0) + count
            if container.kind is ContainerKind.SIDECAR:
                sidecars[name] = sidecars.get(name, 0) + count
    return {name: max(lasting.get(name, 0), peak.get(name, 0)) for name in sorted(lasting.keys() | peak.keys())}
