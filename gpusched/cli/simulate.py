"""`gpusched simulate`: manifests against a cluster, live or its dump."""

from collections.abc import Sequence

import click

from gpusched.admission.messages import listed
from gpusched.cli.access import Access, connection_options
from gpusched.cli.inputs import Inputs, apply_once, note_unknown_namespaces
from gpusched.cli.session import Session, cluster_option, config_option, error_views, files_option, output_options
from gpusched.cli.simulate_table import simulate_table
from gpusched.simulate.owners import owners_of
from gpusched.simulate.result import PodView, SimulateResult, Summary, node_views
from gpusched.simulate.run import Simulation


@click.command()
@files_option
@cluster_option
@config_option
@connection_options
@click.option("--explain", is_flag=True, help="Reasons and warnings per pod, and the GPUs of the cluster afterwards.")
@output_options
def simulate(
    *,
    files: tuple[str, ...],
    cluster: tuple[str, ...],
    config: str | None,
    access: Access,
    form: str,
    explain: bool,
    no_color: bool,
) -> None:
    """Say what happens to the pods of manifests on a cluster, without touching it.

    The cluster is a dump (--cluster), or else the live one. Admission and scheduling are those of gpusched with
    kube-scheduler; workloads are expanded by their replicas.
    Exit code 1: some pod is refused or not placed; 2: some input could not be used.
    """
    if not files:
        raise click.UsageError("name manifests with -f")
    session = Session(form, no_color=no_color)
    inputs = session.read(files, cluster, config, access=access)
    result, simulation = simulated(session, inputs)
    session.show(result, lambda: simulate_table(result, simulation, session.style, explain=explain))
    session.tell(inputs)
    refused = any(not view.admission.allowed for view in result.namespaces)
    session.end(inputs, problems=refused or result.summary.placed < result.summary.pods)


def simulated(session: Session, inputs: Inputs) -> tuple[SimulateResult, Simulation]:
    """Run the inputs, with progress; errors and notes join those of the inputs."""
    apply_once(inputs)
    note_unknown_namespaces(inputs)
    _note_present(inputs)
    simulation = Simulation(session.world(inputs))
    with session.progress("simulating", "pods") as progress:
        simulation.run(inputs.manifests, progress.update)
    with session.progress("explaining", "pods") as progress:
        pods = simulation.views(progress=progress.update)
    inputs.errors.extend(simulation.faults)
    inputs.notes.extend(simulation.remarks)
    result = SimulateResult(
        pods=pods,
        namespaces=tuple(simulation.namespaces.views),
        nodes=node_views(simulation.world.cluster.nodes.values(), simulation.world.cluster),
        errors=error_views(inputs.errors),
        summary=summarise(pods),
    )
    return result, simulation


def _note_present(inputs: Inputs) -> None:
    """Say which manifests run already: applying them again makes no more pods, simulating them does."""
    standing = owners_of(inputs.standing) if inputs.manifests else frozenset()
    asked = [(item.kind, item.namespace, item.name) for item in inputs.manifests]
    present = [
        f"{kind.lower()} {namespace}/{name}" for kind, namespace, name in asked if (kind, namespace, name) in standing
    ]
    if present:
        inputs.notes.append(
            f"in the cluster already: {listed(present)}: what is simulated is as many pods beside those that are there"
        )


def summarise(pods: Sequence[PodView]) -> Summary:
    """Count each pod once."""
    return Summary(
        pods=len(pods),
        placed=sum(pod.placement is not None for pod in pods),
        denied=sum(not pod.admission.allowed for pod in pods),
        unschedulable=sum(pod.unschedulable is not None for pod in pods),
        gated=sum(pod.gated is not None for pod in pods),
    )
