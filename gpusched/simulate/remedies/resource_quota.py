"""Pods that a ResourceQuota of Kubernetes keeps from being created, as the API server's refusal tells."""

import re
from collections.abc import Iterator
from typing import Final

import msgspec

from gpusched.core.quantity import whole
from gpusched.simulate.admit import admit
from gpusched.simulate.expand import expand
from gpusched.simulate.manifest import Manifest
from gpusched.simulate.remedies.remedy import recreated_fits
from gpusched.simulate.tree_edit import with_resource
from gpusched.simulate.world import World

#: Source: k8s.io/apiserver pkg/admission/plugin/resourcequota, controller.go, checkRequest and prettyPrint.
_EXCEEDED: Final = re.compile(r"exceeded quota: ([^\s,]+), requested: (\S+), used: (\S+), limited: (\S+)")


class Exceeded(msgspec.Struct, frozen=True):
    """A quota by name, with what was requested, is used and is the limit, each by resource as it was written."""

    name: str
    requested: dict[str, str]
    used: dict[str, str]
    limited: dict[str, str]

    @property
    def cause(self) -> str:
        """What is used up, such as `ResourceQuota gpus is used up: 3 of 4 requests.nvidia.com/gpu, 2 requested`."""
        parts = [
            f"{self.used.get(resource, '0')} of {self.limited.get(resource, '0')} {resource}, {amount} requested"
            for resource, amount in self.requested.items()
        ]
        return f"ResourceQuota {self.name} is used up: {'; '.join(parts)}"

    @property
    def left(self) -> int:
        """How much is left of the one resource that it is about; 0 where it is about several."""
        if len(self.requested) != 1:
            return 0
        ((resource, _),) = self.requested.items()
        return max(0, (whole(self.limited.get(resource, "")) or 0) - (whole(self.used.get(resource, "")) or 0))


def exceeded(refusal: str) -> Exceeded | None:
    """The quota of which a refusal speaks; None where it is about something else."""
    found = _EXCEEDED.search(refusal)
    return None if found is None else Exceeded(found[1], *map(_amounts, found.groups()[1:]))


def _amounts(text: str) -> dict[str, str]:
    return {name: amount for name, _, amount in (part.partition("=") for part in text.split(","))}


def quota_suggestion(quota: Exceeded, workload: Manifest, world: World) -> str:
    """What to do about the quota; asking for less too where something is left and some node takes the pod then."""
    less = next(_less(quota, workload, world), "")
    text = f"Free some of ResourceQuota {quota.name}, or let an admin raise it"
    return f"{text}; or {less}" if less else text


def _less(quota: Exceeded, workload: Manifest, world: World) -> Iterator[str]:
    if not quota.left:
        return
    ((resource, _),) = quota.requested.items()
    name = resource.removeprefix("requests.")
    for planned in expand([workload], [])[:1]:
        candidate = admit(planned, world).candidate
        asking = candidate.request.demand.containers if candidate is not None and candidate.request is not None else ()
        if candidate is None or len(asking) != 1 or name not in asking[0].slots:
            return
        changed = with_resource(planned.tree, asking[0].name, name, str(quota.left))
        if recreated_fits(msgspec.structs.replace(planned, tree=changed), candidate, world):
            yield f"ask for {name}: {quota.left} in container {asking[0].name}"
