"""The inventory as a table: one line per pool."""

from collections.abc import Iterable

from gpusched.cli.style import Style
from gpusched.cli.tables import Cell, render
from gpusched.core.pool import Pool, Sharing
from gpusched.core.version import format_driver
from gpusched.simulate.result import node_notes
from gpusched.state.node_state import NodeState

_HEADERS = ("NODE", "PRODUCT", "SHARING", "USED/SLOTS", "MEM/SLOT", "CLAIMED", "DRIVER", "NOTES")


def nodes_table(states: Iterable[NodeState], style: Style) -> str:
    """Every pool of every node, nodes by name; resources that a node names but offers none of are left out beside
    others.
    """
    rows: list[list[str | Cell]] = []
    for state in sorted(states, key=lambda state: state.node.name):
        pools = [pool for pool in state.node.pools if pool.slots or state.use(pool.resource).used]
        pools = pools or list(state.node.pools)
        if not pools:
            rows.append([state.node.name, "-", "-", "-", "-", "-", "-", "; ".join(node_notes(state))])
        for index, pool in enumerate(pools):
            notes = (*node_notes(state), *pool.notes) if index == 0 else pool.notes
            rows.append(_row(state, pool, notes))
    return render(_HEADERS, rows, sentences=True, style=style)


def _row(state: NodeState, pool: Pool, notes: tuple[str, ...]) -> list[str | Cell]:
    use = state.use(pool.resource)
    return [
        state.node.name,
        pool.product or pool.resource,
        sharing_text(pool),
        f"{use.used}/{pool.slots}",
        gib(pool.slot_memory_mib),
        _claimed(state, pool),
        format_driver(pool.driver_version) if pool.driver_version is not None else "-",
        "; ".join(notes),
    ]


def sharing_text(pool: Pool) -> str:
    """The kind of sharing with its number or profile, such as `time-slicing×4` or `mig-1g.10gb`."""
    if pool.sharing is None:
        return "unknown"
    if pool.sharing is Sharing.MIG:
        return pool.resource.rpartition("/")[2] if "/mig-" in pool.resource else "mig"
    if pool.replicas is not None and pool.replicas > 1:
        return f"{pool.sharing}×{pool.replicas}"
    return str(pool.sharing)


def gib(mib: int | None) -> str:
    """MiB as GiB with one decimal, `-` when unknown."""
    return "-" if mib is None else f"{mib / 1024:.1f}Gi"


def _claimed(state: NodeState, pool: Pool) -> str:
    claims = state.use(pool.resource).claims
    if not claims or pool.device_memory_mib is None or pool.devices is None:
        return "-"
    return f"{sum(claims) / 1024:.1f}/{gib(pool.device_memory_mib * pool.devices)}"
