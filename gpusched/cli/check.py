"""`gpusched check`: admission alone, for pipelines."""

import click

from gpusched.cli.inputs import read_inputs, world_of
from gpusched.cli.session import Session, cluster_option, config_option, error_views, files_option, output_options
from gpusched.cli.style import Colour, Style
from gpusched.cli.tables import Cell, render
from gpusched.simulate.check import Check
from gpusched.simulate.result import CheckResult, CheckSummary


@click.command()
@files_option
@cluster_option
@config_option
@output_options
def check(files: tuple[str, ...], cluster: tuple[str, ...], config: str | None, form: str, *, no_color: bool) -> None:
    """Judge manifests as the admission webhook would, one verdict per object.

    With --cluster, policies of its namespaces hold and warnings name what its nodes lack. Exit code 1: something is
    refused; 2: some input could not be used.
    """
    if not files:
        raise click.UsageError("name manifests with -f")
    session = Session(form, no_color=no_color)
    inputs = read_inputs(files, cluster, config, stdin=session.stdin)
    if inputs.config_broken:
        session.tell(inputs)
        session.end(inputs, problems=True)
    judged = Check(world_of(inputs, known=bool(cluster)))
    judged.run(inputs.manifests)
    inputs.errors.extend(judged.faults)
    denied = sum(not view.admission.allowed for view in judged.views)
    result = CheckResult(
        pods=tuple(judged.views),
        namespaces=judged.namespaces,
        errors=error_views(inputs.errors),
        summary=CheckSummary(pods=len(judged.views), denied=denied),
    )
    session.show(result, lambda: _table(result, session.style))
    session.tell(inputs)
    refused = any(not view.admission.allowed for view in result.namespaces)
    session.end(inputs, problems=bool(denied) or refused)


def _table(result: CheckResult, style: Style) -> str:
    rows: list[list[str | Cell]] = []
    for space in result.namespaces:
        rows.append(["", f"namespace/{space.name}", *_verdict(space.admission.allowed), space.admission.message or ""])
        rows.extend(["", "", "", Cell("warning", Colour.WARNING), item.message] for item in space.admission.warnings)
    for view in result.pods:
        admission = view.admission
        message = f"{admission.code}: {admission.message}" if admission.code else ""
        rows.append([view.namespace, f"{view.kind.lower()}/{view.name}", *_verdict(admission.allowed), message])
        rows.extend(
            ["", "", Cell("warning", Colour.WARNING), f"{item.code}: {item.message}"] for item in admission.warnings
        )
    if not rows:
        return "nothing to judge in the manifests\n"
    table = render(("NAMESPACE", "OBJECT", "RESULT", "MESSAGE"), rows, style=style)
    return f"{table}\n{len(result.pods)} objects judged, {result.summary.denied} refused\n"


def _verdict(allowed: bool) -> list[Cell]:
    return [Cell("allowed", Colour.GOOD) if allowed else Cell("refused", Colour.BAD)]
