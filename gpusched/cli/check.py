"""`gpusched check`: admission alone, for pipelines."""

import click

from gpusched.admission.messages import listed
from gpusched.cli.inputs import Inputs, note_unknown_namespaces, world_of
from gpusched.cli.session import Session, config_option, dump_option, error_views, files_option, output_options
from gpusched.cli.style import Colour, Style
from gpusched.cli.tables import Cell, render
from gpusched.cli.text_width import counted
from gpusched.simulate.check import Check
from gpusched.simulate.result import AdmissionView, CheckResult, Summary


@click.command()
@files_option
@dump_option
@config_option
@output_options
def check(files: tuple[str, ...], cluster: tuple[str, ...], config: str | None, form: str, *, no_color: bool) -> None:
    """Judge manifests as the admission webhook would, one verdict per object.

    Policies hold of Namespaces among the manifests. With --cluster, those of its namespaces hold too and warnings name
    what its nodes lack; `gpusched simulate` asks the cluster of the kubeconfig for both. Exit code 1: something is
    refused; 2: some input could not be used.
    """
    if not files:
        raise click.UsageError("name manifests with -f")
    session = Session(form, no_color=no_color)
    inputs = session.read(files, cluster, config)
    judged = Check(world_of(inputs, known=bool(cluster)))
    judged.run(inputs.manifests)
    if cluster:
        note_unknown_namespaces(inputs)
    else:
        _note_unknown_policies(judged, inputs)
    inputs.errors.extend(judged.faults)
    denied = sum(not view.admission.allowed for view in judged.views)
    result = CheckResult(
        pods=tuple(judged.views),
        namespaces=judged.namespaces,
        errors=error_views(inputs.errors),
        summary=Summary(pods=len(judged.views), denied=denied),
    )
    session.show(result, lambda: _table(result, session.style))
    session.tell(inputs)
    refused = any(not view.admission.allowed for view in result.namespaces)
    session.end(inputs, problems=bool(denied) or refused)


def _note_unknown_policies(judged: Check, inputs: Inputs) -> None:
    """Say where `allowed` rests on no policy at all: what is refused anyhow stays refused under any."""
    given = {view.name for view in judged.namespaces}
    allowed = {view.namespace for view in judged.views if view.admission.allowed}
    if allowed - given:
        names = listed(sorted(allowed - given))
        inputs.notes.append(f"judged without a cluster: no namespace policy known for {names}")


def _table(result: CheckResult, style: Style) -> str:
    rows: list[list[str | Cell]] = []
    for space in result.namespaces:
        rows += _rows("", f"namespace/{space.name}", space.admission)
    for view in result.pods:
        rows += _rows(view.namespace, f"{view.kind.lower()}/{view.name}", view.admission)
    if not rows:
        return "" if result.errors else "nothing to judge in the manifests\n"
    table = render(("NAMESPACE", "OBJECT", "RESULT", "MESSAGE"), rows, sentences=True, style=style)
    judged = len(result.pods) + len(result.namespaces)
    refused = result.summary.denied + sum(not space.admission.allowed for space in result.namespaces)
    return f"{table}\n{counted(judged, 'object')} judged, {refused} refused\n"


def _rows(namespace: str, name: str, admission: AdmissionView) -> list[list[str | Cell]]:
    message = f"{admission.code}: {admission.message}" if admission.code else ""
    rows: list[list[str | Cell]] = [[namespace, name, _verdict(allowed=admission.allowed), message]]
    rows.extend(
        [" ", " ", " ", Cell(f"warning {warning.code}: {warning.message}", Colour.WARNING)]
        for warning in admission.warnings
    )
    return rows


def _verdict(*, allowed: bool) -> Cell:
    return Cell("allowed", Colour.GOOD) if allowed else Cell("refused", Colour.BAD)
