"""NVIDIA GPU Operator's labels of state: MIG being changed, nodes whose GPUs are not for containers.

Source: gpu-operator controllers/state_manager.go and mig-parted's deployments; states pending and rebooting mean that
allocatable still shows the old devices.
"""

from collections.abc import Mapping
from typing import Final

from gpusched.core.codes import Reason
from gpusched.dialects.partial import Dialect, Partial, Rank, Reading
from gpusched.dialects.surface import Surface

NAME: Final = "gpu-operator"
MIG_STATE: Final = "nvidia.com/mig.config.state"
WORKLOAD: Final = "nvidia.com/gpu.workload.config"
PLUGIN: Final = "nvidia.com/gpu.deploy.device-plugin"
_DEPLOY: Final = "nvidia.com/gpu.deploy."
PRESENT: Final = "nvidia.com/gpu.present"

_CHANGING: Final = frozenset({"pending", "rebooting"})
_PAUSED: Final = "paused-for-mig-change"


def present(labels: Mapping[str, str]) -> bool:
    """Whether the operator manages the node."""
    return PRESENT in labels or any(key.startswith(_DEPLOY) for key in labels)


def read(surface: Surface) -> Reading:
    """Blocks the NVIDIA resources of a node whose GPUs are on their way to something else."""
    labels = surface.labels
    why = _change(labels)
    promises = frozenset({"nvidia"} if labels.get(PRESENT) == "true" and not _for_machines(labels) else ())
    notes = ("MIG manager failed to apply the MIG configuration",) if labels.get(MIG_STATE) == "failed" else ()
    if why is None:
        return Reading(notes=notes, promises=promises)
    blocked = Reason.NO_RESOURCE if _for_machines(labels) else Reason.RECONFIGURING
    partials = tuple(
        Partial(NAME, Rank.VENDOR, offer.resource, blocked=blocked, notes=(why,)) for offer in surface.of("nvidia")
    )
    return Reading(partials, promises=promises)


def _change(labels: Mapping[str, str]) -> str | None:
    if _for_machines(labels):
        return f"GPUs are meant for {labels[WORKLOAD]}, not for containers"
    state = labels.get(MIG_STATE, "")
    if state in _CHANGING:
        return f"MIG is being reconfigured: state {state}"
    if labels.get(PLUGIN) == _PAUSED:
        return "MIG is being reconfigured: the device plugin is paused"
    return None


def _for_machines(labels: Mapping[str, str]) -> bool:
    return labels.get(WORKLOAD, "container") not in ("container", "")


GPU_OPERATOR: Final = Dialect(NAME, present, read)
