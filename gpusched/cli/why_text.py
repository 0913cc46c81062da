"""What `why` prints for people."""

from datetime import datetime
from typing import Final

from gpusched.cli.paragraphs import paragraph
from gpusched.cli.simulate_table import patched_fields, reason_leads
from gpusched.cli.style import Colour, Style
from gpusched.cli.text_width import printable
from gpusched.simulate.why import Why

#: Ages are told in the largest unit of which there are two, in the manner of kubectl.
_UNITS: Final = ((86400, "d"), (3600, "h"), (60, "m"))


def why_text(answer: Why, style: Style, now: datetime | None = None) -> str:
    """A head line, the reasons, the nearest node, and what to change; with `now` how long a pod waits."""
    lines = [_head(answer, style, now)]
    view = answer.view
    if not view.admission.allowed:
        lines += paragraph(f"  {view.admission.code}  ", view.admission.message or "")
    if answer.explanation is not None:
        lines.extend(_reasons(answer))
    for text in (answer.line, answer.history):
        lines += paragraph("  ", text) if text else []
    patched = patched_fields(view.admission)
    if patched:
        lines.append(f"Added    {', '.join(patched)}")
    for warning in view.admission.warnings:
        lines += paragraph("Warning  ", f"{warning.code}: {warning.message}")
    for note in view.notes:
        lines += paragraph("Note     ", note)
    return "\n".join(lines) + "\n"


def _head(answer: Why, style: Style, now: datetime | None) -> str:
    view = answer.view
    name = printable(f"pod {view.namespace}/{view.name}")
    owner = printable(f" of {view.owner}") if view.owner else ""
    demand = f"  {answer.demand}" if answer.demand else ""
    if not view.admission.allowed:
        state = style.paint("REFUSED", Colour.BAD)
    elif answer.finished:
        state = style.paint("FINISHED", Colour.WARNING) + f" ({answer.finished})"
    elif view.placement is not None:
        state = style.paint("ON NODE", Colour.GOOD) + f" {view.placement.node}"
    elif view.gated is not None:
        state = style.paint("GATED", Colour.WARNING) + f" {view.gated}"
    else:
        state = style.paint("PENDING", Colour.WARNING)
    if view.placement is None and now is not None:
        state += age_text(answer.created, now)
    return f"{name}{owner}  {state}{demand}"


def age_text(created: str, now: datetime) -> str:
    """How old something is, such as ` 12m`; empty where no time can be read."""
    try:
        seconds = (now - datetime.fromisoformat(created)).total_seconds()
    except (ValueError, TypeError):
        return ""
    unit, name = next(((unit, name) for unit, name in _UNITS if seconds >= 2 * unit), (1, "s"))
    return f" {max(0, round(seconds)) // unit}{name}"


def _reasons(answer: Why) -> list[str]:
    explanation = answer.explanation
    if explanation is None:
        return []
    lines = []
    for lead, reason in reason_leads(explanation.view.reasons):
        lines += paragraph(lead, f"{reason.message} {_example(explanation.examples[reason.code], reason.nodes)}")
    if explanation.nearest is not None:
        lines += paragraph("Nearest  ", f"{explanation.nearest}: {explanation.nearest_lacks}")
    if explanation.scaling:
        lines += paragraph("Scaling  ", explanation.scaling)
    return lines + paragraph("Change   ", explanation.view.suggestion)


def _example(node: str, nodes: int) -> str:
    return f"({node})" if nodes == 1 else f"(such as {node})"
