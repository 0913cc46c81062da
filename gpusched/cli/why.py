"""`gpusched why`: why a pod waits, is refused, or is where it is."""

import os
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib import import_module
from typing import Final

import click
import msgspec

from gpusched.cli import watch as watching
from gpusched.cli.access import Absent, Access, Forbidden, Unavailable, Unconfigured, Wanted, access_options
from gpusched.cli.inputs import Inputs, apply_once, note_unknown_namespaces
from gpusched.cli.selection import chosen_objects, label_selector, matching_pods, one_name, within
from gpusched.cli.session import (
    TOKEN_VARIABLE,
    Session,
    cluster_option,
    config_option,
    error_views,
    files_option,
    list_options,
)
from gpusched.cli.why_groups import groups_text
from gpusched.cli.why_json import AnswerView, answer_view
from gpusched.cli.why_named import answers_about, nowhere
from gpusched.core.selector import Requirement, all_match
from gpusched.simulate.manifest import Manifest
from gpusched.simulate.outcome import Outcome
from gpusched.simulate.reasons.shortfall import Shortfalls, why_refused
from gpusched.simulate.reasons.waits import Waits
from gpusched.simulate.reasons.why import Why, parse_target, waits, why_planned, why_standing
from gpusched.simulate.result import ErrorView
from gpusched.simulate.run import Simulation
from gpusched.simulate.world import World

#: Options on the command line; a variable for all commands stands in nobody's way.
_GIVEN: Final = click.core.ParameterSource.COMMANDLINE


class Several(msgspec.Struct, frozen=True):
    """The answer when no name is given: every pod of the manifests."""

    pods: tuple[AnswerView, ...]
    errors: tuple[ErrorView, ...]


@click.command()
@click.argument("name", nargs=-1, metavar="[[TYPE] NAME]", callback=one_name)
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

    NAME is a pod, namespace/name, or TYPE/name of a workload, in the manifests (-f), the cluster or its dump; of a
    workload all its pods that have no node are told. A name of several objects is an error that lists them. Without
    one: every pod of the manifests, pods with the labels of -l, or all GPU pods that wait, and workloads that lack pods
    which were refused. Pods of one workload of which the same is said are one group; at most 20 groups are printed,
    -o wide prints all. Exit code 0: it is on a node; 1: it is on none, lacks pods, or has finished; 2: it is not there,
    or some input could not be used.
    """
    if server and (files or cluster) and click.get_current_context().get_parameter_source("server") is _GIVEN:
        raise click.UsageError(
            "--server answers about pods of its cluster: create the pod and name it, or leave --server out to have"
            " manifests (-f) judged by the cluster of the kubeconfig or by a dump (--cluster)"
        )
    session = Session(form, no_color=no_color)
    selector = label_selector(access.selector)

    def once() -> int:
        try:
            inputs = session.read(files, cluster, config, access=access, wanted=_wanted(name))
        except Unavailable as refused:
            if files or not _left_to_service(refused, server):
                raise
            return _ask_service(session, access, server, name, refused)
        apply_once(inputs)
        note_unknown_namespaces(inputs)
        world = session.world(inputs)
        simulation = Simulation(world)
        with session.progress("simulating", "pods") as progress:
            simulation.run(inputs.manifests, progress.update)
        if name is not None:
            answers = answers_about(name, access, inputs, simulation)
        else:
            chosen = simulation.outcomes if files else _chosen(access, selector, inputs, world)
            lacking = [] if files else _refused(access, selector, inputs, world)
            answers = lacking + _explained(session, chosen, simulation)
        inputs.errors.extend(simulation.faults)
        inputs.notes.extend(simulation.remarks)
        if name is not None and not answers:
            session.tell(inputs)
            raise Absent(nowhere(name, access, inputs))
        one = name is not None or (bool(files) and len(answers) == 1)
        nothing = "no pod has these labels\n" if selector else _nothing(inputs, within(access, inputs))
        _show(session, answers, inputs, single=one, nothing=nothing)
        session.tell(inputs)
        return session.code(inputs, problems=any(_lacks_node(answer) for answer in answers))

    watching.run(session, once, watch=watch, interval=interval)


def _ask_service(session: Session, access: Access, server: str | None, name: str | None, refused: Unavailable) -> int:
    """The same from gpusched itself; the exit code."""
    meant = parse_target(name) if name is not None else ()
    # Imported by now: a live cluster was asked.
    told = import_module("gpusched.cli.service_why").ask_service(access, server, meant, refused)
    answers: list[Why] = told.answers
    inputs = Inputs(notes=told.notes)
    where = None if access.all_namespaces else access.namespace
    _show(session, answers, inputs, single=name is not None, nothing=_nothing(inputs, where))
    session.tell(inputs)
    return session.code(inputs, problems=any(_lacks_node(answer) for answer in answers))


def _lacks_node(answer: Why) -> bool:
    """Whether a pod is on none: one that nobody wants lacks none, unless it would be refused."""
    return answer.view.placement is None and not (answer.dormant and answer.view.admission.allowed)


def _left_to_service(refused: Unavailable, server: str | None) -> bool:
    """Whether gpusched itself can be asked in place of the API server, which needs a kubeconfig that is good."""
    if isinstance(refused, Forbidden):
        return True
    return server is not None and (isinstance(refused, Unconfigured) or TOKEN_VARIABLE in os.environ)


def _wanted(name: str | None) -> Wanted:
    """Claims; workloads and what became of their pods, unless the question is about pods alone."""
    workloads = name is None or parse_target(name)[0].kind != "pod"
    return Wanted(workloads=workloads, failures=workloads, claims=True)


def _explained(session: Session, chosen: Sequence[Outcome | Manifest], simulation: Simulation) -> list[Why]:
    """Every pod of the manifests, or every pod chosen of the cluster."""
    answers, shared = [], Waits(simulation.world)
    with session.progress("explaining", "pods") as progress:
        for done, item in enumerate(chosen, start=1):
            if isinstance(item, Manifest):
                answers.append(why_standing(item, simulation.world, shared))
            else:
                answers.append(why_planned(item, simulation, shared))
            progress.update(done, len(chosen))
    return answers


def _chosen(access: Access, selector: tuple[Requirement, ...], inputs: Inputs, world: World) -> list[Manifest]:
    """Pods with these labels; without labels the GPU pods that wait."""
    pods = matching_pods(inputs, selector, within(access, inputs))
    return pods if selector else [item for item in pods if waits(item, world)]


def _refused(access: Access, selector: tuple[Requirement, ...], inputs: Inputs, world: World) -> list[Why]:
    """Workloads that lack pods which were refused; with labels those whose pods would have them."""
    shortfalls = Shortfalls(inputs.standing, inputs.failures, world)
    found = shortfalls.all(chosen_objects(inputs, (), within(access, inputs)))
    return [why_refused(lack, world) for lack in found if all_match(selector, lack.labels)]


def _show(session: Session, answers: list[Why], inputs: Inputs, *, single: bool, nothing: str = "") -> None:
    now = datetime.now(UTC)
    names = [_typed_name(answer) for answer in answers]

    def text() -> str:
        return groups_text(answers, session.style, now, everything=session.form == "wide") or nothing

    if single:
        session.show(answer_view(*answers), text, names)
    else:
        session.show(Several(tuple(map(answer_view, answers)), error_views(inputs.errors)), text, names)


def _typed_name(answer: Why) -> str:
    """As kubectl takes it: a pod, or the workload that lacks one."""
    kind, slash, name = (answer.view.owner or "").partition("/")
    return f"{kind.lower()}{slash}{name}" if answer.lacks else f"pod/{answer.view.name}"


def _nothing(inputs: Inputs, where: str | None) -> str:
    """What is said where there is no pod to speak of."""
    if inputs.manifests:
        return "no pods in the manifests\n"
    return f"no GPU pod waits in namespace {where} (-A looks in all)\n" if where else "no GPU pod waits\n"
