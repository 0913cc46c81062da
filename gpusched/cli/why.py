"""`gpusched why`: why a pod waits, is refused, or is where it is."""

from datetime import UTC, datetime
from difflib import get_close_matches
from importlib import import_module
from typing import Final

import click
import msgspec

from gpusched.cli import watch as watching
from gpusched.cli.access import Access, Forbidden, Wanted, access_options
from gpusched.cli.inputs import Inputs, apply_once, note_unknown_namespaces, world_of
from gpusched.cli.selection import label_selector, matching_pods, targets, within
from gpusched.cli.session import Session, cluster_option, config_option, error_views, files_option, list_options
from gpusched.cli.why_text import why_text
from gpusched.core.selector import Requirement
from gpusched.simulate.refused_pods import refusal_of
from gpusched.simulate.result import ErrorView, PodView
from gpusched.simulate.run import Simulation
from gpusched.simulate.why import (
    Target,
    Why,
    find_planned,
    find_standing,
    find_workloads,
    parse_target,
    waits,
    why_planned,
    why_standing,
    why_workload,
    with_note,
)
from gpusched.simulate.world import World

#: How alike a misspelt name must be, of 1.
_ALIKE: Final = 0.8


class Several(msgspec.Struct, frozen=True):
    """The answer when no name is given: every pod of the manifests."""

    pods: tuple[PodView, ...]
    errors: tuple[ErrorView, ...]


@click.command()
@click.argument("name", required=False)
@files_option
@cluster_option
@config_option
@click.option(
    "--server",
    metavar="URL",
    envvar="GPUSCHED_SERVER",
    help="gpusched's admin port: it answers users who may not list nodes.",
)
@access_options
@list_options
def why(  # noqa: PLR0913 - one parameter an option
    name: str | None,
    *,
    files: tuple[str, ...],
    cluster: tuple[str, ...],
    config: str | None,
    server: str | None,
    access: Access,
    form: str,
    no_color: bool,
    watch: bool,
    interval: float,
) -> None:
    """Say why a pod is refused, gated, pending, or where it is, and the smallest change that would fit.

    NAME is a pod, namespace/name, or TYPE/name of a workload, in the manifests (-f), the cluster or its dump. Without
    one: every pod of the manifests, pods with the labels of -l, or all GPU pods that wait. Exit code 0: it is on a
    node; 1: it is on none, or has finished; 2: it is not there, or some input could not be used.
    """
    session = Session(form, no_color=no_color)
    selector = label_selector(access.selector)

    def once() -> int:
        try:
            inputs = session.read(files, cluster, config, access=access, wanted=_wanted(name))
        except Forbidden as refused:
            if name is None or files:
                raise
            # Imported by now: a live cluster was asked.
            answer: Why = import_module("gpusched.cli.service_why").ask_service(
                access, server, parse_target(name), refused
            )
            _show(session, [answer], Inputs(), single=True)
            return session.code(Inputs(), problems=answer.view.placement is None)
        apply_once(inputs)
        note_unknown_namespaces(inputs)
        world = world_of(inputs)
        simulation = Simulation(world)
        with session.progress("simulating", "pods") as progress:
            simulation.run(inputs.manifests, progress.update)
        if name is not None:
            answers = _named(name, access, inputs, simulation)
        elif files:
            answers = [why_planned(outcome, simulation) for outcome in simulation.outcomes]
        else:
            answers = _chosen(access, selector, inputs, world)
        inputs.errors.extend(simulation.faults)
        inputs.notes.extend(simulation.remarks)
        if name is not None and not answers:
            session.tell(inputs)
            raise click.UsageError(_nowhere(name, access, inputs))
        one = name is not None or (bool(files) and len(answers) == 1)
        _show(session, answers, inputs, single=one, where=within(access, inputs))
        session.tell(inputs)
        return session.code(inputs, problems=any(answer.view.placement is None for answer in answers))

    watching.run(session, once, watch=watch, interval=interval)


def _wanted(name: str | None) -> Wanted:
    """Workloads and what became of their pods, unless the question is about pods alone."""
    workloads = name is not None and parse_target(name)[0].kind != "pod"
    return Wanted(workloads=workloads, failures=workloads)


def _named(name: str, access: Access, inputs: Inputs, simulation: Simulation) -> list[Why]:
    """One answer: about a pod that is not placed before others of its workload."""
    meant = targets(name, access, inputs)
    for target in meant:
        outcomes = find_planned(simulation, target)
        if outcomes:
            return [why_planned(outcomes[0], simulation)]
        standing = [why_standing(item, simulation.world) for item in find_standing(inputs.standing, target)]
        if standing:
            return [_told(min(standing, key=_at_rest), target, inputs)]
    for target in meant:
        for manifest in find_workloads(inputs.standing, target):
            answer = why_workload(manifest, simulation)
            if answer is not None:
                return [_told(answer, target, inputs)]
    return []


def _told(answer: Why, target: Target, inputs: Inputs) -> Why:
    """With what the controller of a workload was told, where the question was about the workload."""
    for manifest in find_workloads(inputs.standing, target) if target.kind != "pod" else ():
        refusal = refusal_of(manifest, inputs.standing, inputs.failures)
        if refusal:
            return with_note(answer, f"its controller could not create pods: {refusal}")
    return answer


def _chosen(access: Access, selector: tuple[Requirement, ...], inputs: Inputs, world: World) -> list[Why]:
    """Pods with these labels; without labels the GPU pods that wait."""
    pods = matching_pods(inputs, selector, within(access, inputs))
    if not selector:
        pods = [item for item in pods if waits(item, world)]
    return [why_standing(item, world) for item in pods]


def _at_rest(answer: Why) -> tuple[bool, bool]:
    """Pods that wait before those that run, and those before finished ones."""
    return bool(answer.finished), answer.view.placement is not None


def _nowhere(name: str, access: Access, inputs: Inputs) -> str:
    place = ("the manifests or " if inputs.manifests else "") + ("the cluster" if inputs.live else "the dump")
    where = f" in namespace {access.namespace}" if access.namespace else ""
    elsewhere = sorted(
        {
            f"{item.namespace}/{item.name}"
            for target in parse_target(name)
            for item in find_standing(inputs.standing, target)
        }
    )
    if elsewhere:
        hint = f"; there is {', '.join(elsewhere[:3])}"
    else:
        known = {f"{item.namespace}/{item.name}": item for item in inputs.standing if item.namespace}
        last = {full.rpartition("/")[2]: full for full in sorted(known, reverse=True)}
        near = get_close_matches(name, known, 1) or [
            last[short] for short in get_close_matches(name.rpartition("/")[2], last, 1, _ALIKE)
        ]
        hint = f"; did you mean {near[0]}?" if near else ""
    return f"no pod or workload {name}{where} in {place}{hint}"


def _show(session: Session, answers: list[Why], inputs: Inputs, *, single: bool, where: str | None = None) -> None:
    now = datetime.now(UTC)
    names = [f"pod/{answer.view.name}" for answer in answers]
    if single:
        session.show(answers[0].view, lambda: why_text(answers[0], session.style, now), names)
        return
    several = Several(pods=tuple(answer.view for answer in answers), errors=error_views(inputs.errors))
    texts = [why_text(answer, session.style, now) for answer in answers] or [_nothing(inputs, where)]
    session.show(several, lambda: "\n".join(texts), names)


def _nothing(inputs: Inputs, where: str | None) -> str:
    """What is said where there is no pod to speak of; nothing where no input could be read, which the errors say."""
    if inputs.manifests:
        return "no pods in the manifests\n"
    if not inputs.standing:
        return ""
    return f"no GPU pod waits in namespace {where} (-A looks in all)\n" if where else "no GPU pod waits\n"
