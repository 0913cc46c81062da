"""Pods that name their node and so go round the scheduler."""

from gpusched.admission.admission import Context
from gpusched.admission.messages import quoted
from gpusched.admission.rules.objection import Objection
from gpusched.core.codes import Code
from gpusched.core.demand import Demand
from gpusched.core.pod import Pod
from gpusched.policy.model import Group


def preset_node(pod: Pod, demand: Demand, ctx: Context) -> tuple[Objection, ...]:
    """Object to a GPU pod created with spec.nodeName; DaemonSets pin their pods to nodes by trade."""
    name = pod.spec.node_name
    if not name or not demand.total or ctx.controller == "DaemonSet":
        return ()
    return (
        Objection(
            Code.NODE_NAME,
            f"spec.nodeName {quoted(name)} skips the scheduler. "
            f"Use nodeSelector kubernetes.io/hostname: {quoted(name)} instead.",
            f"spec.nodeName {quoted(name)} skips the scheduler. Use a nodeSelector instead.",
            group=Group.NODE_NAME,
        ),
    )
