"""`gpusched doctor`: problems of a cluster and of gpusched on it, each with the command that fixes it."""

from collections.abc import Callable
from datetime import UTC, datetime
from importlib import import_module
from typing import TYPE_CHECKING

import click
import msgspec

from gpusched.cli.access import Access, Wanted, access_options
from gpusched.cli.inputs import Inputs
from gpusched.cli.paragraphs import paragraph
from gpusched.cli.session import Session, cluster_option, config_option, error_views, output_options
from gpusched.cli.style import Colour, Style
from gpusched.cli.text_width import counted, printable
from gpusched.core.read_pod import read_pod
from gpusched.doctor.check import Problem, Severity
from gpusched.doctor.examine import CHECKS, examine
from gpusched.doctor.scene import Scene
from gpusched.simulate.result import ErrorView
from gpusched.simulate.world import World

if TYPE_CHECKING:
    from gpusched.doctor.scene import Installation

_COLOURS = {Severity.ERROR: Colour.BAD, Severity.WARNING: Colour.WARNING, Severity.INFO: Colour.FAINT}
#: Objects named of those with one problem in common, unless all are asked for.
_SHOWN = 5


class Diagnosis(msgspec.Struct, frozen=True):
    """The whole answer of `doctor`. `checks` are the names of all that was looked for."""

    problems: tuple[Problem, ...]
    checks: tuple[str, ...]
    errors: tuple[ErrorView, ...]


@click.command()
@cluster_option
@config_option
@click.option("--all", "everything", is_flag=True, help="Name every object, however many have the same problem.")
@access_options
@output_options
def doctor(
    *, cluster: tuple[str, ...], config: str | None, everything: bool, access: Access, form: str, no_color: bool
) -> None:
    """Look for problems of a cluster's GPUs, policies and pods, and of gpusched itself.

    Live the webhook is tried with a pod that must be refused (a dry run: nothing is created). -n shows problems of one
    namespace alone. Exit code 1: there are problems that are more than information.
    """
    session = Session(form, no_color=no_color)
    wanted = Wanted(workloads=True, failures=True)
    inputs = session.read(cluster=cluster, config=config, access=access, wanted=wanted)
    installation: Installation | None = None
    if inputs.live:
        # The client is loaded by now: no dump was given.
        with session.progress("asking", "questions"):
            installation = import_module("gpusched.cli.doctor_live").installation(access, inputs)
    world = session.world(inputs)
    scene = scene_of(inputs, world, installation)
    problems = _within(examine(scene), access.namespace)
    looked = tuple(check.name for check in CHECKS if inputs.live or not check.live)
    result = Diagnosis(problems, looked, error_views(inputs.errors))
    session.show(result, lambda: _text(result, session.style, everything=everything))
    _quiet(inputs)
    session.tell(inputs)
    session.end(inputs, problems=any(problem.severity is not Severity.INFO for problem in problems))


def scene_of(inputs: Inputs, world: World, installation: "Installation | None" = None) -> Scene:
    """What the checks look at, now."""
    return Scene(
        world=world,
        standing=inputs.standing,
        pods=[
            (read_pod(item.tree, []), item.tree) for item in inputs.standing if (item.group, item.kind) == ("", "Pod")
        ],
        config_faults=inputs.config_faults,
        age=_age_at(datetime.now(UTC)),
        installation=installation,
        failures=inputs.failures,
    )


def _age_at(now: datetime) -> Callable[[str], float | None]:
    def age(stamp: str) -> float | None:
        try:
            return (now - datetime.fromisoformat(stamp)).total_seconds()
        except (ValueError, TypeError):
            return None

    return age


def _within(problems: tuple[Problem, ...], namespace: str | None) -> tuple[Problem, ...]:
    """Problems of one namespace and what stands in it; all where none is named."""
    if namespace is None:
        return problems
    own = []
    for problem in problems:
        sights = tuple(
            sight
            for sight in problem.sights
            if sight.subject == f"namespace/{namespace}" or sight.subject.split("/")[1:-1] == [namespace]
        )
        if sights:
            own.append(msgspec.structs.replace(problem, sights=sights))
    return tuple(own)


def _quiet(inputs: Inputs) -> None:
    """Without notes about annotations and the configuration: they are findings here."""
    inputs.notes = [
        note
        for note in inputs.notes
        if not note.startswith(("Namespace ", "Node ")) and "what can be read of the configuration" not in note
    ]


def _text(result: Diagnosis, style: Style, *, everything: bool) -> str:
    if not result.problems:
        return f"{counted(len(result.checks), 'check')}, no problem found\n"
    parts = [problem_text(problem, style, everything=everything) for problem in result.problems]
    counts = [
        counted(number, severity.value) if severity is not Severity.INFO else f"{number} for information"
        for severity in Severity
        if (number := sum(problem.severity is severity for problem in result.problems))
    ]
    return "\n".join([*parts, f"{counted(len(result.checks), 'check')}: {', '.join(counts)}\n"])


def problem_text(problem: Problem, style: Style, *, everything: bool) -> str:
    """Severity and title, why it matters, and what was seen where."""
    severity = style.paint(problem.severity.upper(), _COLOURS[problem.severity])
    lines = [f"{severity}  {problem.title}  ({problem.check})"]
    lines += paragraph("  Why      ", problem.matters)
    shown = problem.sights if everything else problem.sights[:_SHOWN]
    for sight in shown:
        lines += paragraph("  Seen     ", f"{sight.subject}: {sight.seen}")
        # One line, however long: it is there to be copied.
        lines.append(f"  Fix      {printable(sight.fix)}")
    if len(shown) < len(problem.sights):
        lines.append(f"           and {len(problem.sights) - len(shown)} more: --all names them")
    return "\n".join(lines) + "\n"
