"""`gpusched nodes`: the inventory of a dump."""

import click
import msgspec

from gpusched.cli.inputs import world_of
from gpusched.cli.nodes_table import nodes_table
from gpusched.cli.session import Session, cluster_option, config_option, output_options
from gpusched.cli.text_width import counted
from gpusched.simulate.result import NodeView, node_views


class Nodes(msgspec.Struct, frozen=True):
    """The whole answer of `nodes`."""

    nodes: tuple[NodeView, ...]


@click.command()
@cluster_option
@config_option
@click.option("--provenance", is_flag=True, help="Also say where each fact comes from.")
@output_options
def nodes(cluster: tuple[str, ...], config: str | None, form: str, *, provenance: bool, no_color: bool) -> None:
    """Show the GPU pools of every node: slots, use, memory, sharing, and where labels disagree."""
    if not cluster:
        raise click.UsageError("name a dump of the cluster with --cluster")
    session = Session(form, no_color=no_color)
    inputs = session.read(cluster=cluster, config=config)
    states = list(world_of(inputs).cluster.nodes.values())
    result = Nodes(nodes=node_views(states))

    def table() -> str:
        shown = [state for state in states if state.node.pools or state.node.notes]
        if not shown:
            return f"no GPU on {counted(len(states), 'node')}\n"
        text = nodes_table(shown, session.style)
        for state in shown if provenance else ():
            for pool in state.node.pools:
                text += f"\n{state.node.name} {pool.resource}\n"
                text += "".join(f"  {fact:<16} {source}\n" for fact, source in pool.provenance)
        return text

    session.show(result, table)
    session.tell(inputs)
    session.end(inputs, problems=False)
