"""`gpusched nodes`: the inventory of a cluster, live or from a dump."""

from typing import Final

import click
import msgspec

from gpusched.cli import watch as watching
from gpusched.cli.access import Absent, Access, access_options
from gpusched.cli.families import chosen_family, family_option
from gpusched.cli.nodes_table import nodes_table, wide_table
from gpusched.cli.selection import label_selector, matching_nodes
from gpusched.cli.session import Session, cluster_option, config_option, list_options
from gpusched.cli.text_width import counted
from gpusched.cli.uses_table import uses_table
from gpusched.simulate.result import NodeView, node_views
from gpusched.simulate.uses import NamespaceUse, uses_by_namespace
from gpusched.state.cluster import Cluster
from gpusched.state.node_state import NodeState

#: Width of the column of facts; names that are longer widen it.
_LEAST: Final = 16


class Nodes(msgspec.Struct, frozen=True):
    """The whole answer of `nodes`."""

    nodes: tuple[NodeView, ...]


class Uses(msgspec.Struct, frozen=True):
    """The whole answer of `nodes --by namespace`."""

    namespaces: tuple[NamespaceUse, ...]


@click.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@cluster_option
@config_option
@click.option("--wide", is_flag=True, help="Also resource, family, memory per GPU and CUDA; the same as -o wide.")
@click.option(
    "--by",
    type=click.Choice(["node", "namespace"]),
    default="node",
    show_default=True,
    help="One line for each pool of a node, or for each family that a namespace uses.",
)
@family_option
@click.option("--provenance", is_flag=True, help="Also say where each fact comes from.")
@access_options
@list_options
def nodes(  # noqa: PLR0913 - one parameter an option
    names: tuple[str, ...],
    *,
    cluster: tuple[str, ...],
    config: str | None,
    access: Access,
    wide: bool,
    by: str,
    family: str | None,
    provenance: bool,
    form: str,
    no_color: bool,
    watch: bool,
    interval: float,
) -> None:
    """Show the GPU pools of every node, or of those named: slots, use, memory, sharing, and where labels disagree."""
    session = Session(form, no_color=no_color)
    selector = label_selector(access.selector)

    def once() -> int:
        inputs = session.read(cluster=cluster, config=config, access=access)
        world = session.world(inputs)
        there = {pool.family for state in world.cluster.nodes.values() for pool in state.node.pools if pool.family}
        wanted = chosen_family(family, there)
        states = _named(matching_nodes(world, selector), names)
        states = [state for state in states if wanted is None or _has(state, wanted)]
        if by == "namespace":
            _show_uses(session, states, access.namespace)
        else:
            session.show(
                Nodes(node_views(states, world.cluster)),
                lambda: _table(
                    session,
                    states,
                    world.cluster,
                    wide=wide or form == "wide",
                    provenance=provenance,
                    chosen=bool(selector),
                ),
                [f"node/{state.node.name}" for state in states if state.node.pools],
            )
        session.tell(inputs)
        return session.code(inputs, problems=False)

    watching.run(session, once, watch=watch, interval=interval)


def _named(states: list[NodeState], names: tuple[str, ...]) -> list[NodeState]:
    """The nodes of these names, all of them without any; names may be written as `node/t4-1`."""
    wanted = {name.removeprefix("node/").removeprefix("nodes/") for name in names}
    missing = sorted(wanted - {state.node.name for state in states})
    if missing:
        raise Absent(f"no node {', '.join(missing)}")
    return [state for state in states if not wanted or state.node.name in wanted]


def _has(state: NodeState, family: str) -> bool:
    return any(pool.family == family for pool in state.node.pools)


def _show_uses(session: Session, states: list[NodeState], namespace: str | None) -> None:
    uses = [use for use in uses_by_namespace(states) if namespace in {None, use.namespace}]
    names = dict.fromkeys(f"namespace/{use.namespace}" for use in uses)
    session.show(Uses(tuple(uses)), lambda: uses_table(uses, session.style), list(names))


def _table(
    session: Session, states: list[NodeState], cluster: Cluster, *, wide: bool, provenance: bool, chosen: bool
) -> str:
    shown = [state for state in states if state.node.pools or state.node.notes]
    if not shown:
        return f"no GPU on {counted(len(states), 'node')}\n" if states or not chosen else "no node has these labels\n"
    text = (wide_table if wide else nodes_table)(shown, cluster, session.style)
    for state in shown if provenance else ():
        for pool in state.node.pools:
            text += f"\n{state.node.name} {pool.resource}\n"
            width = max([_LEAST, *(len(fact) for fact, _ in pool.provenance)])
            text += "".join(f"  {fact:<{width}} {source}\n" for fact, source in pool.provenance)
    return text
