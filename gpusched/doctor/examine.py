"""The run through the tables of checks."""

from collections.abc import Sequence
from typing import Final

from gpusched.doctor.check import Check, Problem, Severity
from gpusched.doctor.cluster_checks import CLUSTER_CHECKS
from gpusched.doctor.installation_checks import INSTALLATION_CHECKS
from gpusched.doctor.scene import Scene

CHECKS: Final[tuple[Check, ...]] = (*INSTALLATION_CHECKS, *CLUSTER_CHECKS)


def examine(scene: Scene, checks: Sequence[Check] = CHECKS) -> tuple[Problem, ...]:
    """What the checks see, errors first; those that need a live cluster are left out on a dump."""
    order = list(Severity)
    problems = []
    for check in checks:
        sights = tuple(check.look(scene)) if scene.installation is not None or not check.live else ()
        if sights:
            problems.append(Problem(check.name, check.severity, check.title, check.matters, sights))
    return tuple(sorted(problems, key=lambda problem: order.index(problem.severity)))
