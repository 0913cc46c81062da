"""Resource names that are not, or not quite, GPU resources.

Rules: kubernetes pkg/apis/core/validation, ValidateContainerResourceName and validatePodResources.
"""

from collections.abc import Iterator, Mapping
from itertools import chain, islice
from typing import Final

from gpusched.admission.admission import Context
from gpusched.admission.messages import quoted
from gpusched.admission.rules.objection import Force, Objection
from gpusched.core.codes import Code
from gpusched.core.demand import Demand
from gpusched.core.misspelt import names_of, near_misses
from gpusched.core.pod import Container, Pod
from gpusched.core.quantity import parse
from gpusched.core.resources import mig_profile
from gpusched.policy.label_syntax import is_extended_resource, is_key

#: Objections to names: a pod may have thousands, and while they are judged nobody else is.
_MOST: Final = 200


def gpu_resource_names(pod: Pod, _demand: Demand, ctx: Context) -> tuple[Objection, ...]:
    """Object to misspelt GPU resources, profiles that no node offers, and GPUs asked for the pod as a whole."""
    meant = slips(pod, ctx)
    found = (
        objection
        for container in pod.spec.containers
        for resource in sorted({*container.limits, *container.requests})
        if (objection := _misspelt(container, resource, meant) or _absent_profile(container, resource, ctx))
    )
    return tuple(islice(chain(_pod_level(pod, ctx), found), _MOST))


def slips(pod: Pod, ctx: Context) -> dict[str, str]:
    """Misspelt GPU resources that a pod names, with the right name of each."""
    return near_misses(names_of(pod), ctx.resources, ctx.facts.resources)


def mentions_gpu_name(pod: Pod, ctx: Context) -> bool:
    """Whether the pod names a GPU resource, or something that was meant to be one, whatever the amount."""
    return any(ctx.resources.vendor(name) is not None for name in names_of(pod)) or bool(slips(pod, ctx))


def _misspelt(container: Container, resource: str, slips: Mapping[str, str]) -> Objection | None:
    meant = slips.get(resource)
    if meant is None:
        return None
    amount = container.limits.get(resource, container.requests.get(resource, "1"))
    asks = f"container {quoted(container.name)} asks {quoted(resource)}: {quoted(amount)}"
    if not _accepted(resource):
        full = f"{asks}, which is no resource name. Write {meant}: {quoted(amount)}."
        return Objection(Code.UNKNOWN_RESOURCE, full, force=Force.NATIVE)
    if not parse(amount):
        return None
    return Objection(
        Code.UNKNOWN_RESOURCE,
        f"{asks}, which no device plugin serves. Did you mean {meant}?",
        f"{quoted(resource)} is no known GPU resource. Did you mean {meant}?",
        Force.ADVICE,
    )


def _accepted(resource: str) -> bool:
    """Whether the API server lets a container ask for a resource it does not know itself."""
    native = "kubernetes.io/" in resource
    return is_key(resource) if native else is_extended_resource(resource)


def _absent_profile(container: Container, resource: str, ctx: Context) -> Objection | None:
    facts = ctx.facts
    if not facts.known or mig_profile(resource) is None or not parse(container.limits.get(resource, "0")):
        return None
    if resource in facts.resources or resource in facts.dra_resources:
        return None
    meant = ctx.resources.nearest(resource, facts.resources)
    hint = f"The nearest offered is {meant}." if meant else "No MIG profile is offered at all."
    return Objection(Code.UNKNOWN_RESOURCE, f"no present node offers {resource}. {hint}", force=Force.ADVICE)


def _pod_level(pod: Pod, ctx: Context) -> Iterator[Objection]:
    for resource in sorted({*pod.spec.pod_limits, *pod.spec.pod_requests}):
        if ctx.resources.vendor(resource) is not None:
            yield Objection(
                Code.UNKNOWN_RESOURCE,
                f"spec.resources cannot hold {quoted(resource)}; put it under a container's resources.limits.",
                force=Force.NATIVE,
            )
