"""What stands for itself besides the codes of refusals and reasons: reasons of events, and checks of doctor."""

from collections.abc import Mapping
from typing import Final

from gpusched.core.code_help import Help
from gpusched.doctor.examine import CHECKS
from gpusched.doctor.preflight_problems import OWN
from gpusched.serve.telling.told import EventReason

EVENT_HELP: Final[Mapping[EventReason, Help]] = {
    EventReason.UNSCHEDULABLE: Help(
        "No node takes the pod; the event says why, and which change would help.",
        "Do what the event says; `gpusched why` has all reasons.",
        "gpusched why -n team-a my-pod",
    ),
    EventReason.QUOTA_WAIT: Help(
        "The pod waits behind the quota gate, since its namespace has used up its quota.",
        "Wait for a pod of the namespace to end, or have the quota raised.",
        "gpusched quota -n team-a",
    ),
    EventReason.POLICY_STALE: Help(
        "The pod was created under an older policy of its namespace, which it still carries.",
        "Create it anew.",
        "kubectl rollout restart -n team-a deployment/web",
    ),
    EventReason.POLICY_INVALID: Help(
        "The policy of the namespace cannot be read, and its GPU pods are refused.",
        "Write the annotation as the event says.",
        "kubectl annotate namespace team-a --overwrite gpusched.io/min-gpu-memory=20Gi",
    ),
    EventReason.NODE_UNUSABLE: Help(
        "The node has GPUs that no pod is put on, or none of a namespace whose policy is about a fact that is not known"
        " of them.",
        "Mend what the event names, or write the fact on the node.",
        'kubectl annotate node gpu-07 gpusched.io/facts="family=ampere, gpu-memory=40960Mi"',
    ),
    EventReason.CONFIG_INVALID: Help(
        "The configuration of gpusched has errors; the one before stays in use.",
        "Correct the ConfigMap as the event says, after a check.",
        "gpusched config check gpusched.yaml",
    ),
}

#: Checks of doctor and of install preflight, by name.
CHECK_HELP: Final[Mapping[str, Help]] = {
    name: Help(
        f"{title[:1].upper()}{title[1:]}. {matters}",
        f"`{command}` names each object with the command that mends it.",
        command,
    )
    for command, name, title, matters in (
        *(("gpusched doctor", check.name, check.title, check.matters) for check in CHECKS),
        *(("gpusched install preflight", problem.check, problem.title, problem.matters) for problem in OWN),
    )
}
