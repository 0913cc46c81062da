"""What stands in the way of installing gpusched: checks of doctor that hold before it, and a few of its own."""

from collections.abc import Iterator
from typing import Final

import msgspec

from gpusched.doctor.check import Problem, Severity, Sight
from gpusched.doctor.examine import CHECKS, examine
from gpusched.doctor.gpu_software import rewriting
from gpusched.doctor.installation import needed
from gpusched.doctor.preflight import Preflight, Site
from gpusched.doctor.preflight_changes import changes
from gpusched.doctor.preflight_facts import facts, version_of
from gpusched.doctor.preflight_overlay import fitting
from gpusched.doctor.scene import Installation

#: Checks of doctor about what is there before gpusched is.
REUSED: Final = frozenset(
    {
        "kubernetes-version",
        "other-gpu-webhook",
        "configuration",
        "other-scheduler",
        "node-without-allocatable",
        "facts-unknown",
        "labels-disagree",
        "mixed-models",
        "mig-invalid",
        "untolerated-taint",
        "over-claimed",
        "node-annotations",
        "policy-malformed",
        "policy-unknown-key",
        "policy-empty",
        "family-absent",
        "exempt-namespace",
        "runtime-class-missing",
        "runtime-class-superfluous",
        "pod-runtime-class",
    }
)

_NO_POLICIES: Final = Problem(
    "admission-policies-absent",
    Severity.ERROR,
    "the API server has no ValidatingAdmissionPolicies",
    "Anybody who may edit a Namespace or a pod could change GPU policy or a pod's claim.",
)
_REFUSED: Final = Problem(
    "workloads-refused",
    Severity.ERROR,
    "present workloads would be refused or find no node",
    "They run on; made again, after a drain or by a roll-out, they would not start.",
)
_NOT_EXAMINED: Final = Problem(
    "not-examined", Severity.INFO, "some things could not be examined", "Your rights do not reach."
)
#: Those that doctor has no check for, before anything is seen.
OWN: Final = (_NO_POLICIES, _REFUSED, _NOT_EXAMINED)


def preflight(site: Site) -> Preflight:
    """The whole finding."""
    overlay = fitting(site)
    return Preflight(
        there=facts(site),
        overlay=overlay,
        changes=changes(site, overlay),
        violations=site.judged.violations,
        counts=site.judged.counts,
        judged=site.judged.judged,
        problems=_problems(site),
    )


def _problems(site: Site) -> tuple[Problem, ...]:
    """Errors first, as doctor has them."""
    found = [*_by_doctor(site), *_own(site)]
    order = list(Severity)
    return tuple(sorted(found, key=lambda problem: order.index(problem.severity)))


def _by_doctor(site: Site) -> tuple[Problem, ...]:
    """With an installation of which nothing is there, so that what is around it is looked at."""
    around = site.around
    nothing = Installation(version=version_of(around.version), strangers=tuple(rewriting(around.configurations or ())))
    around_it = msgspec.structs.replace(site.scene, installation=nothing)
    # What a dump does not list need not be absent; what a live cluster does not list is.
    within = around_it if around.groups is not None else site.scene
    chosen = [check for check in CHECKS if check.name in REUSED]
    return (
        *examine(around_it, [check for check in chosen if check.live]),
        *examine(within, [check for check in chosen if not check.live]),
    )


def _own(site: Site) -> Iterator[Problem]:
    around = site.around
    if around.guards is False:
        yield msgspec.structs.replace(
            _NO_POLICIES,
            sights=(
                Sight("kube-apiserver", "does not serve them", f"upgrade the control plane: gpusched needs {needed()}"),
            ),
        )
    refused = tuple(
        Sight(
            f"{item.kind.lower()}/{item.namespace}/{item.name}",
            f"{item.code}: {item.message}",
            f"gpusched explain {item.code}  # what to change",
        )
        for item in site.judged.violations
        if item.refused
    )
    if refused:
        yield msgspec.structs.replace(_REFUSED, sights=refused)
    if around.unasked:
        sights = tuple(Sight(probe.name, probe.problem, "kubectl auth can-i --list") for probe in around.unasked)
        yield msgspec.structs.replace(_NOT_EXAMINED, sights=sights)
