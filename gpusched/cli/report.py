"""`gpusched report`: what a policy would refuse among what stands in a cluster."""

from collections.abc import Sequence
from typing import Final

import click
import msgspec

from gpusched.cli.access import Access, Wanted, access_options
from gpusched.cli.inputs import Inputs, absent_namespace, apply_once
from gpusched.cli.paragraphs import PAGE
from gpusched.cli.selection import chosen_objects, label_selector
from gpusched.cli.session import Session, cluster_option, config_option, error_views, form_options
from gpusched.cli.style import Style
from gpusched.cli.tables import Cell, render
from gpusched.cli.text_width import counted
from gpusched.simulate.manifest import InputFault, Manifest
from gpusched.simulate.namespaces import Namespaces
from gpusched.simulate.report import Count, Report, Violation, since
from gpusched.simulate.report import report as report_on
from gpusched.simulate.result import ErrorView
from gpusched.simulate.world import World

#: Columns of a page of wide output.
_WIDE: Final = 240


class ReportResult(msgspec.Struct, frozen=True):
    """The whole answer of `report`."""

    violations: tuple[Violation, ...]
    counts: tuple[Count, ...]
    errors: tuple[ErrorView, ...]
    judged: int


@click.command()
@cluster_option
@config_option
@click.option("--policy", "policy", multiple=True, metavar="PATH", help="Namespaces with a proposed policy.")
@access_options
@form_options
def report(
    *, cluster: tuple[str, ...], config: str | None, policy: tuple[str, ...], access: Access, form: str, no_color: bool
) -> None:
    """Say what the policy, or a proposed one, would refuse of what runs now, and what would not come back.

    Every GPU pod and workload of the cluster, or of a dump, is judged as if it were created again; -n and -l choose
    among them. With --policy, ALREADY says what is so without it. Exit code 1: something would be refused or find no
    node.
    """
    session = Session(form, no_color=no_color)
    selector = label_selector(access.selector)
    inputs = session.read(policy, cluster, config, access=access, wanted=Wanted(workloads=True))
    apply_once(inputs)
    if policy:
        _note_proposed(inputs)
    found = judge_standing(inputs, chosen_objects(inputs, selector, access.namespace), session.world(inputs))
    result = ReportResult(found.violations, found.counts, error_views(inputs.errors), found.judged)
    names = list(dict.fromkeys(f"{item.kind.lower()}/{item.name}" for item in found.violations))
    width = _WIDE if form == "wide" else PAGE

    def text() -> str:
        if not found.violations:
            return _nothing_against(found, inputs)
        return _table(found, session.style, width=width, proposed=bool(_proposed(inputs)))

    session.show(result, text, names)
    session.tell(inputs)
    session.end(inputs, problems=bool(found.violations))


def judge_standing(inputs: Inputs, chosen: Sequence[Manifest], world: World) -> Report:
    """What is said of the chosen objects under the Namespaces among the manifests, which are in force in the world
    afterwards. What is wrong with those joins the errors of the inputs.
    """
    faults: list[InputFault] = []
    before = report_on(chosen, world, []) if _proposed(inputs) else None
    namespaces = Namespaces(world)
    namespaces.take(inputs.manifests, faults)
    found = report_on(chosen, world, faults)
    inputs.errors.extend(faults)
    _refused_policies(namespaces, inputs)
    return found if before is None else since(found, before)


def _proposed(inputs: Inputs) -> list[str]:
    """Names of the Namespaces with a proposed policy."""
    return [item.name for item in inputs.manifests if (item.group, item.kind) == ("", "Namespace")]


def _note_proposed(inputs: Inputs) -> None:
    """Say where a proposal proposes nothing: no Namespace in it that could be read, or one that nothing stands in."""
    proposed = _proposed(inputs)
    if not proposed and not inputs.errors:
        inputs.notes.append(
            "--policy: no Namespace in it, so nothing is proposed: the policy judged is the present one"
        )
    inputs.notes.extend(absent for name in proposed if (absent := absent_namespace(name, inputs.standing)))


def _refused_policies(namespaces: Namespaces, inputs: Inputs) -> None:
    """A proposed policy that would itself be refused proposes nothing."""
    sources = {manifest.name: manifest.source for manifest in inputs.manifests}
    faults = [
        InputFault(
            sources.get(view.name, ""), "metadata.annotations", f"Namespace {view.name}: {view.admission.message}"
        )
        for view in namespaces.views
        if not view.admission.allowed
    ]
    inputs.errors.extend(faults)


def _nothing_against(found: Report, inputs: Inputs) -> str:
    """Nothing is approved by a policy of which a part could not be read."""
    judged = f"{counted(found.judged, 'object')} with GPUs judged"
    if inputs.errors:
        return f"{judged}: no verdict, since some input could not be used\n"
    return f"{judged}: the {'proposed' if _proposed(inputs) else 'present'} policy speaks against none\n"


def _table(found: Report, style: Style, *, width: int, proposed: bool) -> str:
    """What is found, and the numbers; where a policy is proposed, with what was so already."""
    already = ("ALREADY",) if proposed else ()
    rows: list[list[str | Cell]] = [
        [
            item.namespace,
            f"{item.kind.lower()}/{item.name}",
            item.node or "-",
            item.code,
            "yes" if item.refused else "if enforced",
            *(("yes" if item.already else "no",) if proposed else ()),
            item.message,
        ]
        for item in found.violations
    ]
    columns = ("NAMESPACE", "OBJECT", "NODE", "CODE", "NOW", *already, "MESSAGE")
    table = render(columns, rows, sentences=True, style=style, width=width)
    counts: list[list[str | Cell]] = [
        [item.namespace, item.code, str(item.objects), str(item.refused), *((str(item.already),) if proposed else ())]
        for item in found.counts
    ]
    summary = render(("NAMESPACE", "CODE", "OBJECTS", "NOW", *already), counts, style=style)
    return f"{table}\n{summary}\n{counted(found.judged, 'object')} with GPUs judged\n"
