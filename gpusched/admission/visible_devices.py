"""NVIDIA_VISIBLE_DEVICES=void for pods without a GPU, which else see every GPU of a node whose runtime obeys images.

Source: README of NVIDIA/k8s-device-plugin and the CUDA base images, which set the variable to `all`.
"""

from typing import Final

from gpusched.admission.admission import Context
from gpusched.admission.patch import PatchBuilder, container_steps
from gpusched.core.pod import Pod
from gpusched.policy.model import Group

VARIABLE: Final = "NVIDIA_VISIBLE_DEVICES"
_VOID: Final = "void"


def hide_devices(builder: PatchBuilder, pod: Pod, ctx: Context) -> None:
    """Where the policy says `void`, set the variable in each container of a GPU-less pod that does not set it."""
    resolution = ctx.resolution
    if resolution.visible_devices != _VOID or not resolution.enforces(Group.VISIBLE_DEVICES):
        return
    for container in pod.spec.containers:
        if all(name != VARIABLE for name, _ in container.env):
            builder.append((*container_steps(container), "env"), {"name": VARIABLE, "value": _VOID})
