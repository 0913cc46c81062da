"""The table of all checks, and the run through it."""

from collections.abc import Sequence
from typing import Final

from gpusched.doctor import installation, nodes, pods, policies
from gpusched.doctor.check import Check, Problem, Severity
from gpusched.doctor.scene import Scene

_ERROR, _WARNING, _INFO = Severity.ERROR, Severity.WARNING, Severity.INFO

CHECKS: Final[tuple[Check, ...]] = (
    Check("gpusched-absent", _ERROR, "gpusched is not installed",
          "GPU pods are neither mended nor judged, and nothing guards memory claims.", installation.absent, live=True),
    Check("webhook-unreachable", _ERROR, "the webhook does not judge GPU pods",
          "Creating a GPU pod fails, or passes without rules and without what it needs.", installation.reachable,
          live=True),
    Check("webhook-drift", _ERROR, "webhook configurations differ from those of this version",
          "Pods may pass round the rules, or pods without a GPU may wait for gpusched.", installation.registration,
          live=True),
    Check("policy-guard-missing", _ERROR, "an admission policy is missing",
          "Anybody who may edit a Namespace or a pod can change GPU policy or a pod's claim.", installation.policies,
          live=True),
    Check("ca-bundle", _ERROR, "a CA bundle does not fit the certificate that is served",
          "The API server cannot call the webhook: every GPU pod is refused.", installation.bundles, live=True),
    Check("certificate-expiry", _WARNING, "a certificate ends soon",
          "Afterwards the API server cannot call the webhook.", installation.expiry, live=True),
    Check("leader", _ERROR, "no replica leads",
          "The extender answers no scheduling request, quota gates stay and labels of nodes age.", installation.leader,
          live=True),
    Check("replica-not-ready", _ERROR, "a replica is not ready",
          "It answers nothing; with the last one gone GPU pods wait.", installation.replicas, live=True),
    Check("clock-skew", _WARNING, "a replica's clock is wrong",
          "Certificates and the Lease are judged by it.", installation.clocks, live=True),
    Check("scheduler-configuration", _ERROR, "kube-scheduler does not call gpusched",
          "Pods are placed without memory claims, quotas and live policy.", installation.scheduler, live=True),
    Check("kubernetes-version", _ERROR, "Kubernetes is too old",
          "matchConditions of webhooks are missing, so that every pod would wait for gpusched.", installation.version,
          live=True),
    Check("other-gpu-webhook", _WARNING, "another webhook changes GPU pods",
          "Two products that rewrite the same pods undo each other's work.", installation.strangers, live=True),
    Check("configuration", _ERROR, "the configuration has errors",
          "A running service keeps the configuration before; a new one does not start.", policies.configuration),
    Check("nothing-bound", _WARNING, "gpusched has bound none of the running GPU pods",
          "Without the extender nothing guards claims and quotas.", pods.nothing_bound),
    Check("bound-elsewhere", _WARNING, "pods were bound without gpusched",
          "They are counted, but nobody has checked that they fit beside the claims of others.", pods.bound_elsewhere),
    Check("other-scheduler", _WARNING, "GPU pods name another scheduler",
          "That scheduler does not ask gpusched unless it is configured to.", pods.other_schedulers),
    Check("node-without-allocatable", _ERROR, "GPU nodes offer no GPU",
          "No pod can use these GPUs: the device plugin is away or all devices are unhealthy.",
          nodes.without_allocatable),
    Check("unhealthy-devices", _WARNING, "GPUs are unhealthy",
          "They are paid for and take no pod.", nodes.unhealthy_devices),
    Check("facts-unknown", _WARNING, "what the GPUs are is not known",
          "Pods with rules on family or memory are never put there.", nodes.facts_unknown),
    Check("labels-disagree", _WARNING, "sources disagree about GPUs",
          "The strongest word counts; where it is wrong, pods meet other GPUs than they asked for.",
          nodes.disagreements),
    Check("mixed-models", _WARNING, "different cards share a node",
          "GPU Feature Discovery describes one of them, and which one may change at a restart.", nodes.mixed_models),
    Check("mig-invalid", _ERROR, "a MIG configuration is invalid",
          "No pod is put there until it is mended.", nodes.invalid_mig),
    Check("reconfiguring", _INFO, "GPUs are being reconfigured",
          "No pod is put there meanwhile; it should take minutes.", nodes.reconfiguring),
    Check("untolerated-taint", _WARNING, "taints keep GPU pods from GPU nodes",
          "gpusched adds tolerations for taints named after GPU resources and for configured ones alone.",
          nodes.untolerated_taints),
    Check("over-claimed", _ERROR, "more is held than there is",
          "Processes run out of GPU memory, and nothing new with a claim is put there until it fits again.",
          nodes.over_claimed),
    Check("out-of-service", _INFO, "GPU nodes take no pods", "Their GPUs are idle or about to be.",
          nodes.out_of_service),
    Check("node-annotations", _WARNING, "annotations of nodes cannot be read",
          "What was written there holds for nobody.", nodes.unread_facts),
    Check("policy-malformed", _ERROR, "policies cannot be read",
          "GPU pods of the namespace are refused where it enforces.", policies.malformed),
    Check("policy-unknown-key", _WARNING, "policies have unknown keys",
          "What was meant by them does not hold.", policies.unknown_keys),
    Check("policy-empty", _ERROR, "rules leave nothing", "Every GPU pod of the namespace is refused.",
          policies.empty_policies),
    Check("family-absent", _ERROR, "policies allow only GPUs that are not there",
          "Every GPU pod of the namespace waits for ever.", policies.absent_families),
    Check("family-unused", _INFO, "policies name GPUs that are not there",
          "It may be a slip of the pen.", policies.unused_families),
    Check("quota-exceeded", _WARNING, "quotas are exceeded",
          "Running pods stay, new ones of the namespace wait.", policies.exceeded_quotas),
    Check("exempt-namespace", _WARNING, "namespaces of the GPU stack are not exempt",
          "gpusched judges pods of the device plugin and of operators, which must start before it.",
          policies.exemptions),
    Check("runtime-class-missing", _WARNING, "RuntimeClasses are missing",
          "The class is not set, and containers may start without a GPU.", policies.missing_policy_classes),
    Check("runtime-class-superfluous", _INFO, "a RuntimeClass is forced that is not needed",
          "The GPU Operator injects devices by itself; the class may vanish with its next version.",
          policies.superfluous_classes),
    Check("pod-runtime-class", _ERROR, "pods name RuntimeClasses that are not there",
          "Created anew the API server refuses them.", pods.missing_classes),
    Check("unexpected-admission-error", _WARNING, "the kubelet refused pods",
          "A device was gone, or taken by a pod that nobody counted.", pods.unadmitted),
    Check("stale-gate", _ERROR, "pods wait behind a gate that should be gone",
          "The leader lifts gates at once; it is away or stuck.", pods.late_gates),
    Check("stale-policy", _WARNING, "pods wait under an older policy",
          "Their affinity stays as it was, whatever the policy says today.", pods.stale_policy),
    Check("affinity-matches-nothing", _WARNING, "pods select nodes that are not there",
          "They wait for ever, unless an autoscaler brings such a node.", pods.affinity_without_nodes),
    Check("resource-absent", _WARNING, "pods ask for GPU resources that no node offers",
          "They wait for ever, unless an autoscaler brings such a node.", pods.absent_resources),
    Check("not-examined", _INFO, "some things could not be examined", "Your rights do not reach.", installation.unasked,
          live=True),
)  # fmt: skip


def examine(scene: Scene, checks: Sequence[Check] = CHECKS) -> tuple[Problem, ...]:
    """What the checks see, errors first; those that need a live cluster are left out on a dump."""
    order = list(Severity)
    problems = []
    for check in checks:
        sights = tuple(check.look(scene)) if scene.installation is not None or not check.live else ()
        if sights:
            problems.append(Problem(check.name, check.severity, check.title, check.matters, sights))
    return tuple(sorted(problems, key=lambda problem: order.index(problem.severity)))
