"""`gpusched top`: all GPUs, who holds them and what waits, on one screen that keeps itself current."""

import shutil
from datetime import UTC, datetime
from pathlib import Path

import click
import msgspec

from gpusched.cli import watch as watching
from gpusched.cli.access import Access, access_options
from gpusched.cli.families import chosen_family, family_option
from gpusched.cli.selection import label_selector, matching_nodes
from gpusched.cli.service import Service, authorization
from gpusched.cli.session import TOKEN_VARIABLE, Session, cluster_option, config_option, output_options
from gpusched.cli.style import is_terminal
from gpusched.cli.top_source import TopView, look_at_service, look_at_world
from gpusched.cli.top_text import top_text


@click.command()
@click.option("--server", metavar="URL", help="A running gpusched's admin port, such as http://127.0.0.1:8080.")
@click.option(
    "--token-file",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help=f"Token for --server; ${TOKEN_VARIABLE}, or else that of the kubeconfig's user, unless given.",
)
@cluster_option
@config_option
@family_option
@click.option("--once", is_flag=True, help="Print one screen and end.")
@click.option("--all", "everything", is_flag=True, help="All nodes, however many lines that takes.")
@click.option(
    "--interval",
    type=click.FloatRange(min=0.5),
    default=5.0,
    show_default=True,
    metavar="SECONDS",
    help="Time between two looks.",
)
@access_options
@output_options
def top(  # noqa: PLR0913 - one parameter an option
    *,
    server: str | None,
    token_file: Path | None,
    cluster: tuple[str, ...],
    config: str | None,
    family: str | None,
    access: Access,
    once: bool,
    everything: bool,
    interval: float,
    form: str,
    no_color: bool,
) -> None:
    """Show every GPU with its holders, waiting pods with what would help, and what was refused.

    The figures come from a running gpusched with --server, else from the cluster of the kubeconfig or a dump.
    """
    if server is not None and (cluster or config):
        raise click.UsageError("--server has its own cluster and configuration: leave --cluster and --config out")
    if server is not None and access.selector:
        raise click.UsageError("--server knows no labels of nodes: leave --selector out")
    session, selector = Session(form, no_color=no_color), label_selector(access.selector)
    screen = is_terminal(session.out)

    def look() -> int:
        if server is not None:
            view, code = look_at_service(Service(server, authorization(access, token_file))), 0
        else:
            inputs = session.read(cluster=cluster, config=config, access=access)
            world = session.world(inputs)
            view = look_at_world(world, inputs.standing, matching_nodes(world, selector))
            session.tell(inputs)
            code = session.code(inputs, problems=False)
        there = {pool.family for node in view.nodes for pool in node.pools if pool.family}
        shown = _narrowed(view, chosen_family(family, there), access.namespace)
        size = shutil.get_terminal_size()
        width, height = (size.columns, 0 if everything else size.lines - 1) if screen else (100, 0)
        session.show(shown, lambda: top_text(shown, session.style, datetime.now(UTC), width=width, height=height))
        return code

    # From a dump nothing else can come the next time.
    watching.run(session, look, watch=not once and not cluster and form == "table" and screen, interval=interval)


def _narrowed(view: TopView, family: str | None, namespace: str | None) -> TopView:
    """The view with nodes of a family, or on which a namespace holds slots, and with pods of that namespace."""
    nodes = tuple(
        node
        for node in view.nodes
        if (family is None or any(pool.family == family for pool in node.pools))
        and (namespace is None or any(own.namespace == namespace for pool in node.pools for own in pool.holders))
    )
    waiting = tuple(pod for pod in view.waiting if namespace in {None, pod.namespace})
    return msgspec.structs.replace(
        view,
        nodes=nodes,
        totals=tuple(total for total in view.totals if family in {None, total.family}),
        waiting=waiting,
        waiting_total=view.waiting_total if namespace is None else len(waiting),
        refusals=tuple(refusal for refusal in view.refusals if namespace in {None, refusal.namespace}),
    )
