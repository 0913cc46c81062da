"""`gpusched why`: why a pod waits, is refused, or is where it is."""

import click
import msgspec

from gpusched.cli.inputs import Inputs, apply_once, note_unknown_namespaces, world_of
from gpusched.cli.session import Session, cluster_option, config_option, error_views, files_option, output_options
from gpusched.cli.why_text import why_text
from gpusched.simulate.result import ErrorView, PodView
from gpusched.simulate.run import Simulation
from gpusched.simulate.why import (
    Why,
    find_planned,
    find_standing,
    find_workloads,
    parse_target,
    why_planned,
    why_standing,
    why_workload,
)
from gpusched.simulate.world import World


class Several(msgspec.Struct, frozen=True):
    """The answer when no name is given: every pod of the manifests."""

    pods: tuple[PodView, ...]
    errors: tuple[ErrorView, ...]


@click.command()
@click.argument("name", required=False)
@files_option
@cluster_option
@config_option
@output_options
def why(
    name: str | None,
    files: tuple[str, ...],
    cluster: tuple[str, ...],
    config: str | None,
    form: str,
    *,
    no_color: bool,
) -> None:
    """Say why a pod is refused, gated, pending, or where it is, and the smallest change that would fit.

    NAME is a pod, namespace/name, or TYPE/name of a workload, in the manifests (-f) or in the dump. Exit code 0: it
    is on a node; 1: it is on none, or has finished; 2: it is not there, or some input could not be used.
    """
    if not cluster or not (name or files):
        raise click.UsageError("name a pod or manifests (-f), and a dump of the cluster with --cluster")
    session = Session(form, no_color=no_color)
    inputs = session.read(files, cluster, config)
    apply_once(inputs)
    note_unknown_namespaces(inputs)
    world = world_of(inputs)
    simulation = Simulation(world)
    with session.progress("simulating", "pods") as progress:
        simulation.run(inputs.manifests, progress.update)
    answers = _answers(name, inputs, simulation, world)
    inputs.errors.extend(simulation.faults)
    inputs.notes.extend(simulation.remarks)
    if name is not None and not answers:
        session.tell(inputs)
        raise click.UsageError(f"no pod or workload {name} in the manifests or the dump")
    _show(session, answers, inputs, single=name is not None or len(answers) == 1)
    session.tell(inputs)
    session.end(inputs, problems=any(answer.view.placement is None for answer in answers))


def _answers(name: str | None, inputs: Inputs, simulation: Simulation, world: World) -> list[Why]:
    """One answer for a name (a pod that is not placed before others of its workload), all of the manifests without."""
    if name is None:
        return [why_planned(outcome, simulation) for outcome in simulation.outcomes]
    for target in parse_target(name):
        outcomes = find_planned(simulation, target)
        if outcomes:
            return [why_planned(outcomes[0], simulation)]
        standing = [why_standing(manifest, world) for manifest in find_standing(inputs.standing, target)]
        if standing:
            return [min(standing, key=_at_rest)]
    planned = (
        why_workload(manifest, simulation)
        for target in parse_target(name)
        for manifest in find_workloads(inputs.standing, target)
    )
    return [answer for answer in planned if answer is not None][:1]


def _at_rest(answer: Why) -> tuple[bool, bool]:
    """Pods that wait before those that run, and those before finished ones."""
    return bool(answer.finished), answer.view.placement is not None


def _show(session: Session, answers: list[Why], inputs: Inputs, *, single: bool) -> None:
    if single:
        session.show(answers[0].view, lambda: why_text(answers[0], session.style))
        return
    several = Several(pods=tuple(answer.view for answer in answers), errors=error_views(inputs.errors))
    texts = [why_text(answer, session.style) for answer in answers] or ["no pods in the manifests\n"]
    session.show(several, lambda: "\n".join(texts))
