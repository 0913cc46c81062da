"""Containers that choose their GPUs by environment, round the device plugin.

NVIDIA container toolkit: NVIDIA_VISIBLE_DEVICES lists the GPUs to inject; `void`, `none` and the empty value inject
none.
"""

from typing import Final

from gpusched.admission.admission import Context
from gpusched.admission.messages import quoted
from gpusched.admission.rules.objection import Force, Objection
from gpusched.admission.visible_devices import VARIABLE
from gpusched.core.codes import Code
from gpusched.core.demand import Demand
from gpusched.core.pod import Container, Pod
from gpusched.policy.model import Group

_HARMLESS: Final = frozenset({"void", "none", ""})


def visible_devices(pod: Pod, demand: Demand, ctx: Context) -> tuple[Objection, ...]:
    """Object to NVIDIA_VISIBLE_DEVICES where policy warns or denies; under `void` only in pods without GPUs."""
    policy = ctx.resolution.visible_devices
    if policy == "allow" or (policy == "void" and demand.total):
        return ()
    force = Force.ADVICE if policy == "warn" else Force.POLICY
    return tuple(
        _objection(container, force, asks_gpu=bool(demand.total))
        for container in pod.spec.containers
        if _chooses(container)
    )


def _chooses(container: Container) -> bool:
    # The last entry of a name wins; a value from elsewhere may be anything.
    set_to = [value for name, value in container.env if name == VARIABLE]
    return bool(set_to) and set_to[-1] not in _HARMLESS


def _objection(container: Container, force: Force, *, asks_gpu: bool) -> Objection:
    value = dict(container.env)[VARIABLE]
    shown = "from a reference" if value is None else f"to {quoted(value)}"
    cure = "Remove it: the device plugin sets it." if asks_gpu else "Remove it and ask for GPUs under resources.limits."
    sets = f"container {quoted(container.name)} sets {VARIABLE}"
    return Objection(
        Code.VISIBLE_DEVICES,
        f"{sets} {shown}, which goes round the GPU count. {cure}",
        f"{sets}. Remove it.",
        force,
        Group.VISIBLE_DEVICES,
    )
