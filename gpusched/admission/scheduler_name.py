"""Which scheduler a GPU pod goes to, where gpusched is the extender of a second one."""

from gpusched.admission.admission import Context
from gpusched.admission.patch import PatchBuilder
from gpusched.core.names import DEFAULT_SCHEDULER
from gpusched.core.pod import Pod
from gpusched.policy.model import Config


def set_scheduler(builder: PatchBuilder, pod: Pod, ctx: Context) -> None:
    """Send the pod to the second scheduler, in place of the default one alone.

    So in every mode, and for a DaemonSet's pods as well: free slots and claims hold in each, and two schedulers that
    give out the same GPUs would promise them twice. A pod with spec.nodeName has no need of a scheduler.
    """
    if ctx.config.second_scheduler and pod.spec.scheduler_name == DEFAULT_SCHEDULER and not pod.spec.node_name:
        builder.set(("spec", "schedulerName"), ctx.config.second_scheduler)


def calls_gpusched(name: str, config: Config) -> bool:
    """Whether this scheduler asks gpusched about GPU pods, or the pod is taken from it for one that does."""
    return name in (DEFAULT_SCHEDULER, config.second_scheduler)
