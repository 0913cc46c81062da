"""The quota gate: GPU pods of a namespace with a quota wait, gated, until the quota has room."""

from gpusched.admission.admission import Context
from gpusched.admission.patch import PatchBuilder
from gpusched.core.names import QUOTA_GATE
from gpusched.core.pod import Pod
from gpusched.policy.model import Group
from gpusched.policy.resolution import Resolution


def add_gate(builder: PatchBuilder, pod: Pod, ctx: Context) -> None:
    """Append the scheduling gate where the namespace enforces a quota.

    A pod with spec.nodeName keeps no gate: the API server refuses the two together (core validation, ValidatePodSpec).
    """
    if has_quota(ctx.resolution) and not pod.spec.node_name and QUOTA_GATE not in pod.spec.gates:
        builder.append(("spec", "schedulingGates"), {"name": QUOTA_GATE})


def has_quota(resolution: Resolution) -> bool:
    """Whether a quota of slots or of memory is enforced."""
    stated = resolution.quota is not None or resolution.quota_memory_mib is not None
    return stated and resolution.enforces(Group.QUOTA)
