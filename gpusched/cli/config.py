"""`gpusched config`: check a configuration, print the scheduler's stanza."""

import click

from gpusched.cli.documents import read_documents
from gpusched.cli.inputs import Inputs, world_of
from gpusched.cli.lazy import LazyGroup
from gpusched.cli.output import as_json, as_yaml, write
from gpusched.cli.session import Session, config_option, dump_option
from gpusched.core.resources import GpuResources
from gpusched.simulate.manifest import InputFault
from gpusched.wire.scheduler_config import Endpoint, extender_stanza, managed_resources, merge, scheduler_config


@click.group(cls=LazyGroup)
def config() -> None:
    """Check the configuration of gpusched, print the configuration of kube-scheduler."""


@config.command()
@click.argument("file")
def check(file: str) -> None:
    """Report every error of a configuration file with its path. Exit code 2: there are errors."""
    session = Session("table")
    inputs = session.read(config=file)
    inputs.notes.clear()
    session.tell(inputs)
    if not inputs.errors:
        write(f"{file}: the configuration is valid\n", session.out)
    session.end(inputs, problems=False)


@config.command()
@config_option
@dump_option
@click.option("--url", default=Endpoint().url, show_default=True, help="Where kube-scheduler reaches the extender.")
@click.option(
    "--tls-directory",
    default=Endpoint().tls_directory,
    show_default=True,
    help="Directory on kube-scheduler's host with tls.crt, tls.key and ca.crt.",
)
@click.option(
    "--server-name",
    default="",
    metavar="NAME",
    help="Name in the extender's certificate, where the URL has an address: gpusched.gpusched-system.svc.",
)
@click.option(
    "--merge", "existing", metavar="FILE", help="Print this KubeSchedulerConfiguration with the extender in it."
)
@click.option(
    "--break-glass", is_flag=True, help="The form for an emergency: pods are scheduled while gpusched is down."
)
@click.option("-o", "--output", "form", type=click.Choice(["yaml", "json"]), default="yaml", show_default=True)
def scheduler(
    config: str | None,
    cluster: tuple[str, ...],
    url: str,
    tls_directory: str,
    server_name: str,
    existing: str | None,
    form: str,
    *,
    break_glass: bool,
) -> None:
    """Print the KubeSchedulerConfiguration that makes kube-scheduler call gpusched.

    managedResources names every known and configured GPU resource; with --cluster also those that its nodes offer.
    Where the configuration has a secondScheduler, what is printed is for that one; the default one stays as it is.
    """
    session = Session(form)
    inputs = session.read((), cluster, config, existing)
    if inputs.config_broken:
        inputs.notes.clear()
        session.tell(inputs)
        session.end(inputs, problems=True)
    present = world_of(inputs).cluster.facts.resources
    resources = GpuResources({item.name: item.vendor for item in inputs.config.resources})
    names = managed_resources(resources, present)
    endpoint = Endpoint(url, tls_directory, server_name)
    stanza = extender_stanza(inputs.config, endpoint, names, break_glass=break_glass)
    second = inputs.config.second_scheduler
    result = scheduler_config(stanza, second) if existing is None else _merged(existing, stanza, inputs, session)
    if result is not None:
        write((as_json if form == "json" else as_yaml)(result), session.out)
    session.tell(inputs)
    session.end(inputs, problems=False)


def _merged(path: str, stanza: dict[str, object], inputs: Inputs, session: Session) -> dict[str, object] | None:
    documents, errors = read_documents([path], stdin=session.stdin)
    inputs.errors.extend(errors)
    if len(documents) != 1:
        if not errors:
            inputs.errors.append(InputFault(path, "", f"expected one document, not {len(documents)}"))
        return None
    result = merge(documents[0].tree, stanza, inputs.config.second_scheduler)
    if isinstance(result, str):
        inputs.errors.append(InputFault(documents[0].source, "", result))
        return None
    return result
