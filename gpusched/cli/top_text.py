"""`gpusched top` as text: families, nodes with their slots drawn, waiting pods, refusals."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final

from gpusched.cli.nodes_table import gib
from gpusched.cli.style import Colour, Style
from gpusched.cli.tables import Cell, render
from gpusched.cli.text_width import counted
from gpusched.cli.top_source import TopView
from gpusched.serve.view.access import NO_NAMESPACE, Extent
from gpusched.serve.view.nodes import NodeView, PoolView
from gpusched.serve.view.pods import PodView

_BAR: Final = 24
_HELD: Final = "█"
_FREE: Final = "·"
_CLOSED: Final = "░"
_MOST_SLOTS: Final = 48
_MOST_PODS: Final = 8
_MOST_REFUSALS: Final = 5
_NODE_HEADERS: Final = ("NODE", "PRODUCT", "SLOTS", "HELD", "HELD BY")
#: What is added to a count that is not of all namespaces.
_OF_THOSE: Final[Mapping[Extent, str]] = {"all": "", "some": " in the namespaces you may see", "none": ""}
_STATES: Final = {"quota": "waits for quota"}


def top_text(view: TopView, style: Style, now: datetime, *, width: int, height: int) -> str:
    """One screen: whatever else is there, nodes take the lines that are left of `height`; 0 shows all of them."""
    after = _waiting(view, style, now, width) + _refusals(view, style, now, width)
    before = _summary(view, style) + _families(view, style, width)
    room = height - before.count("\n") - after.count("\n") - 3 if height else 0
    return before + _nodes(view.nodes, style, width, max(room, 3) if height else 0) + after


def _summary(view: TopView, style: Style) -> str:
    slots, used = (sum(getattr(total, name) for total in view.totals) for name in ("slots", "used"))
    free = sum(total.free for total in view.totals)
    waiting = "" if view.seen == "none" else f", {view.waiting_total} waiting{_OF_THOSE[view.seen]}"
    head = f"{counted(len(view.nodes), 'node')}, {used} of {slots} slots held, {free} free{waiting}"
    told = (*view.notes, *([NO_NAMESPACE] if view.seen == "none" else []))
    notes = "".join(f"{style.paint(note, Colour.WARNING)}\n" for note in told)
    return f"{style.paint(head, Colour.STRONG)}\n{notes}\n"


def _families(view: TopView, style: Style, width: int) -> str:
    rows: list[list[str | Cell]] = []
    for total in view.totals:
        claimed = f"{gib(total.claimed_mib)} of {gib(total.memory_mib)}" if total.claimed_mib else "-"
        bar = _bar(total.used, total.closed, total.slots)
        rows.append(
            [total.family, bar, f"{total.used}/{total.slots}", str(total.free), str(total.closed or "-"), claimed]
        )
    if not rows:
        return "no GPU here\n"
    return render(("FAMILY", "", "USED/SLOTS", "FREE", "CLOSED", "CLAIMED"), rows, width=width, style=style) + "\n"


def _bar(used: int, closed: int, slots: int) -> str:
    """A bar that is full only where all is held, and empty only where nothing is."""
    whole = max(slots, used, 1)
    held = min(_BAR, max(used > 0, used * _BAR // whole))
    shut = min(_BAR - held, max(closed > 0, closed * _BAR // whole))
    return _HELD * held + _CLOSED * shut + _FREE * (_BAR - held - shut)


def _nodes(nodes: Sequence[NodeView], style: Style, width: int, room: int) -> str:
    """Every pool, as far as there is room: then a pool is a line."""
    rows: list[list[str | Cell]] = [_row(node, pool) for node in nodes for pool in node.pools]
    left = len(rows) - room if room and len(rows) > room else 0
    shown = rows[: len(rows) - left]
    if not shown:
        return ""
    text = render(_NODE_HEADERS, shown, width=width, wrapped=() if room else None, style=style)
    return text + (f"and {left} more lines; --all shows them\n" if left else "") + "\n"


def _row(node: NodeView, pool: PoolView) -> list[str | Cell]:
    closed = node.state != "ready" or pool.blocked is not None
    marks = [node.state] * (node.state != "ready") + [f"taint {taint}" for taint in node.taints]
    name = f"{node.name} ({', '.join(marks)})" if marks else node.name
    full = pool.used >= pool.slots > 0
    return [
        Cell(name, Colour.FAINT if closed else Colour.WARNING if marks else None),
        _product(pool),
        _drawn(pool, closed=closed),
        Cell(f"{pool.used}/{pool.slots}", Colour.WARNING if full else None),
        ", ".join(_holders(pool)),
    ]


def _product(pool: PoolView) -> str:
    """The product, with the profile of a MIG instance: several pools of a node may be of one product."""
    profile = pool.resource.rpartition("/")[2] if "/mig-" in pool.resource else ""
    return " ".join(filter(None, (pool.product or pool.resource, profile)))


def _drawn(pool: PoolView, *, closed: bool) -> str:
    """A character a slot, those of one device together; which device a pod has, Kubernetes does not say."""
    if max(pool.slots, pool.used) > _MOST_SLOTS:
        return _bar(pool.used, 0, pool.slots)
    slots = (_HELD * pool.used).ljust(pool.slots, _CLOSED if closed else _FREE)
    each = pool.replicas or 1
    if each == 1:
        return slots
    return " ".join(slots[start : start + each] for start in range(0, len(slots), each))


def _holders(pool: PoolView) -> list[str]:
    named: dict[str, int] = {}
    for holder in pool.holders:
        name = f"{holder.namespace}/{holder.name}" if holder.namespace else "held"
        named[name] = named.get(name, 0) + holder.slots
    return [name if slots == 1 else f"{name} ×{slots}" for name, slots in named.items()]


def _waiting(view: TopView, style: Style, now: datetime, width: int) -> str:
    if not view.waiting_total:
        return ""
    rows: list[list[str | Cell]] = []
    for pod in view.waiting[:_MOST_PODS]:
        state = Cell(_STATES.get(pod.state, pod.state), Colour.BAD if pod.state == "pending" else Colour.WARNING)
        rows.append([f"{pod.namespace}/{pod.name}", state, _age(pod.created, now), _said(pod)])
    text = render(("WAITING", "STATE", "AGE", "WHAT WOULD HELP"), rows, width=width, sentences=True, style=style)
    left = view.waiting_total - len(rows)
    return text + (f"and {left} more\n" if left else "")


def _said(pod: PodView) -> str:
    if pod.why is None:
        return ""
    return pod.why.suggestion or pod.why.line or pod.why.history or "; ".join(pod.why.notes)


def _refusals(view: TopView, style: Style, now: datetime, width: int) -> str:
    if not view.refusals:
        return ""
    rows: list[list[str | Cell]] = [
        [
            f"{refusal.namespace}/{refusal.name or refusal.kind}",
            str(refusal.count),
            _seconds(now.timestamp() - refusal.last),
            f"{refusal.code}: {refusal.message}",
        ]
        for refusal in view.refusals[:_MOST_REFUSALS]
    ]
    text = render(("REFUSED", "ATTEMPTS", "AGO", "WHY"), rows, width=width, sentences=True, style=style)
    attempts = sum(refusal.count for refusal in view.refusals)
    workloads = len({(refusal.namespace, refusal.kind, refusal.name) for refusal in view.refusals})
    head = f"{counted(attempts, 'attempt')} of {counted(workloads, 'workload')} refused in the last hour"
    return f"\n{head}{_OF_THOSE[view.seen]}\n{text}"


def _age(created: str, now: datetime) -> str:
    try:
        return _seconds((now - datetime.fromisoformat(created)).total_seconds())
    except (ValueError, TypeError):
        return ""


def _seconds(seconds: float) -> str:
    whole = max(0, int(seconds))
    for limit, unit, name in ((120, 1, "s"), (7200, 60, "m"), (172_800, 3600, "h")):
        if whole < limit:
            return f"{whole // unit}{name}"
    return f"{whole // 86_400}d"
