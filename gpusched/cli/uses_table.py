"""Use of GPUs by namespace as tables: what is held, what the quota leaves, and who waits in line."""

from collections.abc import Sequence

from gpusched.cli.nodes_table import gib
from gpusched.cli.style import Colour, Style
from gpusched.cli.tables import Cell, render
from gpusched.simulate.uses import MEMORY, GatedPod, NamespaceUse, QuotaLine

#: Part of a limit that is marked as little when no more than it is left.
_NEARLY = 0.1


def uses_table(uses: Sequence[NamespaceUse], style: Style) -> str:
    """One line for each family that a namespace uses."""
    if not uses:
        return "no pod holds a GPU\n"
    rows = [
        [
            use.namespace,
            use.family or "unknown",
            str(use.slots),
            gib(use.claimed_mib or None),
            str(use.pods),
            str(use.nodes),
        ]
        for use in uses
    ]
    return render(("NAMESPACE", "FAMILY", "SLOTS", "CLAIMED", "PODS", "NODES"), rows, style=style)


def quota_table(lines: Sequence[QuotaLine], waiting: Sequence[GatedPod], style: Style) -> str:
    """Use against every limit, and the pods in line; empty where there is nothing to tell."""
    if not lines:
        return ""
    rows: list[list[str | Cell]] = [
        [
            line.namespace,
            line.what,
            _amount(line, line.used),
            _amount(line, line.pending),
            _amount(line, line.limit),
            _left(line),
            _mode(line),
        ]
        for line in lines
    ]
    text = render(("NAMESPACE", "WHAT", "USED", "PENDING", "QUOTA", "LEFT", "MODE"), rows, style=style)
    if not waiting:
        return text
    gated = [
        [
            pod.namespace,
            str(pod.place),
            f"pod/{pod.name}",
            ", ".join(f"{count} {resource}" for resource, count in pod.resources.items()),
            gib(pod.claim_mib),
        ]
        for pod in waiting
    ]
    return f"{text}\n{render(('NAMESPACE', 'PLACE', 'WAITS', 'FOR', 'CLAIM'), gated, style=style)}"


def _amount(line: QuotaLine, amount: int | None) -> str:
    return gib(amount) if line.what == MEMORY else "-" if amount is None else str(amount)


def _left(line: QuotaLine) -> Cell:
    if line.limit is None or line.left is None:
        return Cell("-")
    if line.used > line.limit:
        return Cell(f"over by {_amount(line, line.used - line.limit)}", Colour.BAD)
    nearly = line.left <= line.limit * _NEARLY
    return Cell(_amount(line, max(line.left, 0)), Colour.WARNING if nearly else None)


def _mode(line: QuotaLine) -> str:
    return "-" if line.limit is None else "enforced" if line.enforced else "told only"
