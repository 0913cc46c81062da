"""The table of checks of gpusched itself, as it is installed."""

from typing import Final

from gpusched.doctor import installation
from gpusched.doctor.check import Check, Severity

_ERROR, _WARNING, _INFO = Severity.ERROR, Severity.WARNING, Severity.INFO

INSTALLATION_CHECKS: Final[tuple[Check, ...]] = (
    Check(
        "gpusched-absent",
        _ERROR,
        "gpusched is not installed",
        "GPU pods are neither mended nor judged, and nothing guards memory claims.",
        installation.absent,
        live=True,
    ),
    Check(
        "webhook-unreachable",
        _ERROR,
        "the webhook does not judge GPU pods",
        "Creating a GPU pod fails, or passes without rules and without what it needs.",
        installation.reachable,
        live=True,
    ),
    Check(
        "webhook-drift",
        _ERROR,
        "webhook configurations differ from those of this version",
        "Pods may pass round the rules, or pods without a GPU may wait for gpusched.",
        installation.registration,
        live=True,
    ),
    Check(
        "policy-guard-missing",
        _ERROR,
        "an admission policy is missing",
        "Anybody who may edit a Namespace or a pod can change GPU policy or a pod's claim.",
        installation.policies,
        live=True,
    ),
    Check(
        "ca-bundle",
        _ERROR,
        "a CA bundle does not fit the certificate that is served",
        "The API server cannot call the webhook: every GPU pod is refused.",
        installation.bundles,
        live=True,
    ),
    Check(
        "certificate-expiry",
        _WARNING,
        "a certificate ends soon",
        "Afterwards the API server cannot call the webhook.",
        installation.expiry,
        live=True,
    ),
    Check(
        "leader",
        _ERROR,
        "no replica leads",
        "The extender answers no scheduling request, quota gates stay and labels of nodes age.",
        installation.leader,
        live=True,
    ),
    Check(
        "replica-not-ready",
        _ERROR,
        "a replica is not ready",
        "It answers nothing; with the last one gone GPU pods wait.",
        installation.replicas,
        live=True,
    ),
    Check(
        "clock-skew",
        _WARNING,
        "a replica's clock is wrong",
        "Certificates and the Lease are judged by it.",
        installation.clocks,
        live=True,
    ),
    Check(
        "scheduler-configuration",
        _ERROR,
        "kube-scheduler does not call gpusched",
        "Pods are placed without memory claims, quotas and live policy.",
        installation.scheduler,
        live=True,
    ),
    Check(
        "kubernetes-version",
        _ERROR,
        "Kubernetes is too old",
        "matchConditions of webhooks are missing, so that every pod would wait for gpusched.",
        installation.version,
        live=True,
    ),
    Check(
        "other-gpu-webhook",
        _WARNING,
        "another webhook changes GPU pods",
        "Two products that rewrite the same pods undo each other's work.",
        installation.strangers,
        live=True,
    ),
    Check(
        "not-examined",
        _INFO,
        "some things could not be examined",
        "Your rights do not reach.",
        installation.unasked,
        live=True,
    ),
)
