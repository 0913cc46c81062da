"""`gpusched demo`: the sample workloads on a real control plane, or, where none can be had, simulated."""

import os
import sys
import time
from pathlib import Path
from typing import Final, NoReturn

import click

from gpusched.cli.demo_forecast import surprises
from gpusched.cli.demo_text import answers_text, fates_text, opening_text, summary_text, waiting_text
from gpusched.cli.nodes_table import nodes_table
from gpusched.cli.output import write
from gpusched.cli.session import BAD_INPUT, PROBLEMS, Session
from gpusched.cli.simulate import simulated
from gpusched.cli.simulate_table import simulate_table
from gpusched.cli.why_text import why_text
from gpusched.local import binaries as finder
from gpusched.local.binaries import Binaries
from gpusched.local.demo import DemoCluster, Fate, read_samples, world_of
from gpusched.local.errors import BuildError, LocalError, ToolchainError
from gpusched.local.folders import cache_folder
from gpusched.local.installed import manifests_folder
from gpusched.local.versions import VERSIONS, Version, select
from gpusched.simulate.manifest import Manifest
from gpusched.simulate.reasons.why import Target, find_standing, why_standing

#: The same as of every command that cannot reach its cluster.
_UNREACHABLE: Final = 3
_CHECK_SECONDS: Final = 0.5
_DUMPED: Final = "nodes,namespaces,runtimeclasses,pods"
_KNOWN: Final = ", ".join(version.name for version in VERSIONS)


@click.command()
@click.option("--keep", is_flag=True, help="Leave it up until Ctrl-C, and say how to reach it.")
@click.option("--offline", is_flag=True, help="Start nothing: simulate the same workloads on the same nodes.")
@click.option("--version", "asked", metavar="VERSION", help=f"Kubernetes: {_KNOWN}; the first unless given.")
@click.option("--no-color", is_flag=True, help="No colour, even on a terminal.")
def demo(asked: str | None, *, keep: bool, offline: bool, no_color: bool) -> None:
    """Show gpusched at work: Kubernetes on this machine, fake GPU nodes, policies, and workloads applied to it.

    The first run builds Kubernetes with Go, about five minutes on two cores; later ones take seconds. Nothing of it is
    left afterwards but the programs in the cache. Exit codes: 0 everything came as `simulate` foresees it, 1 something
    did not, 3 the control plane did not work.
    """
    if keep and offline:
        raise click.UsageError("--offline starts nothing that --keep could leave up")
    session = Session("table", no_color=no_color)
    if offline:
        _simulate(session, "--offline")
    try:
        version = select(asked)
    except LocalError as error:
        raise click.UsageError(str(error)) from error
    try:
        binaries = _binaries(session, version)
    except (ToolchainError, BuildError) as error:
        reason = f"Kubernetes {version.release} cannot be built here: {_in_one_line(error)}"
        if keep:
            _fail(session, reason)
        _tell(session, f"{reason}; simulating instead")
        _simulate(session, "it cannot be built here")
    except LocalError as error:
        raise click.UsageError(str(error)) from error
    try:
        sys.exit(_live(session, binaries, keep=keep))
    except LocalError as error:
        _fail(session, str(error))


def _binaries(session: Session, version: Version) -> Binaries:
    if not finder.ready(version):
        _tell(session, f"first run: building Kubernetes {version.release}, about five minutes on two cores")
    try:
        return finder.resolve(version, progress=lambda line: _tell(session, line))
    except OSError as error:
        raise BuildError(
            f"its programs cannot be kept in {cache_folder()} ({error}): name another folder with XDG_CACHE_HOME"
        ) from error


def _live(session: Session, binaries: Binaries, *, keep: bool) -> int:
    folder = _samples()
    samples = read_samples(folder)
    style = session.style
    with DemoCluster(binaries, samples, lambda line: _tell(session, line)) as cluster:
        _tell(session, f"applying {len(samples.workloads)} workloads, each when the one before has come to rest")
        applied = [cluster.apply(tree) for tree in samples.workloads]
        standing = cluster.standing()
        fates = cluster.fates(applied, standing)
        dump = cluster.write_dump(standing)
        _say(session, opening_text(binaries.version, samples))
        _say(session, answers_text(_shown(folder / "workloads.yaml"), applied))
        _say(session, fates_text(fates, style))
        events = {pod.uid: cluster.event(pod) for fate in fates for pod in fate.pods if pod.waits and not pod.gates}
        _say(session, waiting_text(fates, events))
        _say(session, f"\n$ kubectl get {_DUMPED} -A -o json > dump.json\n")
        for title, answer in _whys(session, fates, standing):
            _say(session, f"$ gpusched why --cluster dump.json {title}\n{answer}\n")
        _say(session, f"$ gpusched nodes --cluster dump.json\n{_nodes(session, standing)}")
        foreseen, _ = simulated(session, session.read(*_inputs(folder)))
        unforeseen = surprises(foreseen.pods, fates)
        _say(session, summary_text(fates, unforeseen, cluster.gpusched.metric))
        if keep:
            _keep(session, cluster, dump)
        else:
            _say(session, "\nTry --keep to look around in it, or --offline for the simulation alone.\n")
    return PROBLEMS if unforeseen else 0


def _whys(session: Session, fates: list[Fate], standing: list[Manifest]) -> list[tuple[str, str]]:
    """Names of the waiting pods, and what `why` says about each on the dump."""
    world = world_of(standing)
    answers = []
    for pod in (pod for fate in fates for pod in fate.pods if pod.waits):
        (manifest,) = find_standing(standing, Target("pod", pod.namespace, pod.name))
        answers.append((f"{pod.namespace}/{pod.name}", why_text(why_standing(manifest, world), session.style)))
    return answers


def _nodes(session: Session, standing: list[Manifest]) -> str:
    cluster = world_of(standing).cluster
    states = [state for state in cluster.nodes.values() if state.node.pools or state.node.notes]
    return nodes_table(states, cluster, session.style)


def _keep(session: Session, cluster: DemoCluster, dump: Path) -> None:
    _say(
        session,
        "\nIt stays up until Ctrl-C. In another shell:\n"
        f"  export KUBECONFIG={cluster.plane.kubeconfig()}\n"
        "  gpusched why    # .venv/bin/gpusched in a checkout; or nodes, quota, top, doctor, and kubectl\n"
        f"  curl {cluster.gpusched.admin_url}/metrics    # and /readyz, /healthz\n"
        f"The page with every GPU: {cluster.gpusched.admin_url}/\n"
        f"The cluster as a dump, for --cluster: {dump}\n",
    )
    try:
        while True:
            cluster.plane.check()
            time.sleep(_CHECK_SECONDS)
    except KeyboardInterrupt:
        _tell(session, "stopping")


def _simulate(session: Session, reason: str) -> NoReturn:
    """The same workloads on the same cluster without a control plane; ends the command."""
    folder = _samples()
    files, cluster = _inputs(folder)
    inputs = session.read(files, cluster)
    result, simulation = simulated(session, inputs)
    _say(session, f"Simulated: no control plane was started ({reason}).\n")
    _say(session, f"\n$ gpusched simulate -f {files[0]} --cluster {cluster[0]} --explain\n")
    _say(session, simulate_table(result, simulation, session.style, explain=True))
    session.tell(inputs)
    sys.exit(BAD_INPUT if inputs.errors else 0)


def _in_one_line(error: LocalError) -> str:
    """What failed, and the last that the program said about it; go's own output is among lists of packages."""
    first, *lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    reasons = [line for line in lines if ": " in line] or lines
    return ": ".join((first.rstrip(":"), *reasons[-1:]))


def _samples() -> Path:
    return manifests_folder() / "samples"


def _inputs(folder: Path) -> tuple[list[str], list[str]]:
    return [_shown(folder / "workloads.yaml")], [_shown(folder / "cluster.yaml")]


def _shown(path: Path) -> str:
    """The path as a user would type it here."""
    near = os.path.relpath(path)
    return str(path) if near.startswith(os.pardir) else near


def _say(session: Session, text: str) -> None:
    write(text, session.out)


def _tell(session: Session, line: str) -> None:
    write(f"{line}\n", session.err)


def _fail(session: Session, message: str) -> NoReturn:
    _tell(session, f"error: {message}")
    sys.exit(_UNREACHABLE)
