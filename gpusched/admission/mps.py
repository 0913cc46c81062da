"""The MPS limit of a memory claim, so that the driver itself keeps a container to its claim where MPS runs.

Source: NVIDIA Multi-Process Service guide, CUDA_MPS_PINNED_DEVICE_MEM_LIMIT: `device=value` pairs by comma, the device
an index among those that the process sees. A client can only lower the daemon's limit; without MPS it is ignored.
"""

import re
from typing import Final

from gpusched.admission.admission import Context
from gpusched.admission.messages import quoted
from gpusched.admission.patch import PatchBuilder, container_steps
from gpusched.admission.rules.objection import Objection, Outcome
from gpusched.core.codes import Code, Finding
from gpusched.core.demand import Demand, gpu_slots
from gpusched.core.pod import Container, Pod
from gpusched.core.quantity import format_mib
from gpusched.core.resources import NVIDIA

VARIABLE: Final = "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"
_ENTRY: Final = re.compile(r"[^=]+=\s*(\d{1,18})([KMGT])B?", re.ASCII | re.IGNORECASE)
#: No node has more; a request for a million slots must not make a long value.
_MOST_DEVICES: Final = 64
_UNIT_KIB: Final = {"K": 1, "M": 2**10, "G": 2**20, "T": 2**30}


def limit_memory(builder: PatchBuilder, pod: Pod, demand: Demand, ctx: Context) -> tuple[Finding, ...]:
    """Set the claim as limit in every container with NVIDIA slots that has none; warn of a user's limit above it."""
    claim = demand.claim_mib
    if claim is None:
        return ()
    warnings: list[Finding | None] = []
    for container in pod.spec.containers:
        count = _nvidia_slots(container, ctx)
        own = [value for name, value in container.env if name == VARIABLE]
        if not count:
            continue
        if not own:
            variable = {"name": VARIABLE, "value": limit_text(claim, count)}
            builder.append((*container_steps(container), "env"), variable)
        elif own[-1] is not None:
            warnings.append(_complaint(container, own[-1], claim))
    return tuple(warning for warning in warnings if warning is not None)


def limit_text(claim_mib: int, slots: int) -> str:
    """The value of the variable: the claim for each device that the container may see."""
    return ",".join(f"{device}={claim_mib}M" for device in range(min(slots, _MOST_DEVICES)))


def _nvidia_slots(container: Container, ctx: Context) -> int:
    slots = gpu_slots(container, ctx.resources)
    return sum(count for resource, count in slots.items() if ctx.resources.vendor(resource) == NVIDIA)


def _complaint(container: Container, value: str, claim: int) -> Finding | None:
    """What is wrong with a limit that the user set."""
    name = quoted(container.name)
    for entry in value.split(","):
        matched = _ENTRY.fullmatch(entry.strip())
        if matched is None:
            full = f'container {name} sets {VARIABLE} "{quoted(value)}", on which CUDA fails. Write 0={claim}M.'
            return _warning(full, f"container {name}: CUDA fails on MPS limit. Write 0={claim}M.")
        if int(matched[1]) * _UNIT_KIB[matched[2].upper()] > claim * 2**10:
            full = (
                f'container {name} sets {VARIABLE} "{quoted(value)}", above its claim of {format_mib(claim)}. Lower it.'
            )
            return _warning(full, f"container {name}: MPS limit above claim {format_mib(claim)}.")
    return None


def _warning(full: str, short: str) -> Finding:
    return Objection(Code.CLAIM, full, short).finding(Outcome.WARNING)
