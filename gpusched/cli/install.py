"""`gpusched install`: what to know before gpusched is installed on a cluster. Nothing here writes to it."""

from importlib import import_module
from typing import Final

import click
import msgspec

from gpusched.cli.access import Access, Wanted, access_options
from gpusched.cli.doctor import scene_of
from gpusched.cli.inputs import Inputs, apply_once
from gpusched.cli.install_text import preflight_text
from gpusched.cli.report import judge_standing
from gpusched.cli.selection import chosen_objects, label_selector
from gpusched.cli.session import Session, cluster_option, config_option, error_views, output_options
from gpusched.core.fields import Field
from gpusched.doctor.check import Severity
from gpusched.doctor.preflight import Preflight, Site, Surroundings
from gpusched.doctor.preflight_problems import preflight as look
from gpusched.simulate.result import ErrorView

_HOOKS: Final = frozenset({"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"})


class PreflightResult(Preflight, frozen=True):
    """The finding, and what could not be used of the input."""

    errors: tuple[ErrorView, ...]


@click.group()
def install() -> None:
    """Look at a cluster before gpusched is installed on it."""


@install.command()
@cluster_option
@config_option
@click.option("--policy", "policy", multiple=True, metavar="PATH", help="Namespaces with a proposed policy.")
@access_options
@output_options
def preflight(
    *, cluster: tuple[str, ...], config: str | None, policy: tuple[str, ...], access: Access, form: str, no_color: bool
) -> None:
    """Say what is on the cluster, what installing gpusched would change there, and what stands in the way.

    It only reads. Present workloads are judged by the configuration (--config) and the policies (--policy) to come;
    -n and -l choose among them. Exit code 1: something stands in the way, each with what to do about it.
    """
    session = Session(form, no_color=no_color)
    selector = label_selector(access.selector)
    inputs = session.read(policy, cluster, config, access=access, wanted=Wanted(workloads=True))
    apply_once(inputs)
    if inputs.live:
        # The client is loaded by now: no dump was given.
        with session.progress("asking", "questions"):
            around: Surroundings = import_module("gpusched.cli.install_live").surroundings(access)
    else:
        around = _of_dump(inputs)
    world = session.world(inputs)
    judged = judge_standing(inputs, chosen_objects(inputs, selector, access.namespace), world)
    found = look(Site(scene_of(inputs, world), around, judged))
    result = PreflightResult(**msgspec.structs.asdict(found), errors=error_views(inputs.errors))
    session.show(result, lambda: preflight_text(result, session.style))
    inputs.notes = [note for note in inputs.notes if not _told_elsewhere(note)]
    session.tell(inputs)
    session.end(inputs, problems=any(problem.severity is not Severity.INFO for problem in result.problems))


def _of_dump(inputs: Inputs) -> Surroundings:
    """What a dump can say of it: webhook configurations and CustomResourceDefinitions, where it holds any."""
    objects = import_module("gpusched.cli.install_objects")
    hooks = tuple(item.tree for item in inputs.others if item.kind in _HOOKS)
    definitions = [item.tree for item in inputs.others if item.kind == "CustomResourceDefinition"]
    groups = tuple(dict.fromkeys(Field(tree).get("spec").get("group").text() for tree in definitions))
    return Surroundings(
        overlays=objects.overlays(), shipped=objects.shipped_webhooks(), defined=groups, configurations=hooks or None
    )


def _told_elsewhere(note: str) -> bool:
    """What is a finding here, or goes without saying."""
    return note.startswith(("Namespace ", "Node ", "--cluster: skipped", "no ConfigMap "))
