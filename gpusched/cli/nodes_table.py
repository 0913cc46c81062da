"""The inventory as a table: one line per pool."""

from collections.abc import Iterable, Sequence

from gpusched.cli.style import Colour, Style
from gpusched.cli.tables import Cell, render
from gpusched.core.pool import Pool, Sharing
from gpusched.core.version import format_cuda, format_driver
from gpusched.simulate.node_notes import node_notes
from gpusched.state.cluster import Cluster
from gpusched.state.node_state import NodeState

_WIDE = (
    "NODE",
    "RESOURCE",
    "FAMILY",
    "PRODUCT",
    "SHARING",
    "USED/SLOTS",
    "GPUS",
    "MEM/GPU",
    "MEM/SLOT",
    "CLAIMED",
    "DRIVER",
    "CUDA",
    "FROM",
    "NOTES",
)
#: What a page of wide output takes at most: terminals are widened for it.
_WIDE_PAGE = 240
_HEADERS = ("NODE", "PRODUCT", "SHARING", "USED/SLOTS", "MEM/SLOT", "CLAIMED", "DRIVER", "NOTES")


def nodes_table(states: Iterable[NodeState], cluster: Cluster, style: Style) -> str:
    """Every pool of every node, nodes by name; resources that a node names but offers none of are left out beside
    others.
    """
    return render(_HEADERS, _rows(states, cluster, _HEADERS), sentences=True, style=style)


def wide_table(states: Iterable[NodeState], cluster: Cluster, style: Style) -> str:
    """The same with all that is known of a pool, and which sources said it."""
    return render(_WIDE, _rows(states, cluster, _WIDE), sentences=True, style=style, width=_WIDE_PAGE)


def _rows(states: Iterable[NodeState], cluster: Cluster, headers: Sequence[str]) -> list[list[str | Cell]]:
    rows: list[list[str | Cell]] = []
    for state in sorted(states, key=lambda state: state.node.name):
        pools = [pool for pool in state.node.pools if pool.slots or state.use(pool.resource).used]
        pools = pools or list(state.node.pools)
        if not pools:
            rows.append([state.node.name, *["-"] * (len(headers) - 2), _notes(node_notes(state, cluster))])
        for index, pool in enumerate(pools):
            notes = (*node_notes(state, cluster), *pool.notes) if index == 0 else pool.notes
            facts = _facts(state, pool)
            rows.append([*(facts[header] for header in headers[:-1]), _notes(notes)])
    return rows


def _notes(notes: Sequence[str]) -> Cell:
    return Cell("; ".join(notes), Colour.WARNING)


def _facts(state: NodeState, pool: Pool) -> dict[str, str]:
    use = state.use(pool.resource)
    return {
        "NODE": state.node.name,
        "RESOURCE": pool.resource,
        "FAMILY": pool.family or "unknown",
        "PRODUCT": pool.product or pool.resource,
        "SHARING": sharing_text(pool),
        "USED/SLOTS": f"{use.used}/{pool.slots}",
        "GPUS": "-" if pool.devices is None else str(pool.devices),
        "MEM/GPU": gib(pool.gpu_memory_mib),
        "MEM/SLOT": gib(pool.slot_memory_mib),
        "CLAIMED": _claimed(state, pool),
        "DRIVER": format_driver(pool.driver_version) if pool.driver_version is not None else "-",
        "CUDA": format_cuda(pool.cuda_version) if pool.cuda_version is not None else "-",
        "FROM": ",".join(sorted({source.split()[0] for _, source in pool.provenance if source})) or "-",
    }


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
