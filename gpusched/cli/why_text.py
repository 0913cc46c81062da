"""What `why` prints for people."""

from datetime import datetime
from typing import Final

from gpusched.cli.paragraphs import paragraph
from gpusched.cli.simulate_table import patched_fields, reason_leads
from gpusched.cli.style import Colour, Style
from gpusched.cli.text_width import printable
from gpusched.simulate.reasons.why import Why

#: Ages are told in the largest unit of which there are two, in the manner of kubectl.
_UNITS: Final = ((86400, "d"), (3600, "h"), (60, "m"))


def why_text(answer: Why, style: Style, now: datetime | None = None) -> str:
    """A head line, the reasons, the nearest node, and what to change; with `now` how long a pod waits."""
    view = answer.view
    name = printable(f"pod {view.namespace}/{view.name}")
    owner = printable(f" of {view.owner}") if view.owner else ""
    if answer.lacks:
        kind, _, workload = (view.owner or "").partition("/")
        name, owner = printable(f"{kind.lower()} {view.namespace}/{workload}"), ""
    age = age_text(answer.created, now) if now is not None else ""
    node = view.placement.node if view.placement is not None else ""
    return "\n".join([head(name + owner, answer, node, age, style), *body(answer)]) + "\n"


def body(answer: Why) -> list[str]:
    """Everything but the head line."""
    lines: list[str] = []
    view = answer.view
    notes = view.notes[1:] if answer.lacks else view.notes
    if answer.dormant:
        # That it wants none comes before what would become of one.
        lines += paragraph("  ", answer.dormant)
    if answer.lacks:
        lines += paragraph("  ", answer.lacks)
    elif not view.admission.allowed:
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
    for note in notes:
        # A manifest's pod behind the gate for ever says so in its line too.
        told = note == answer.dormant or answer.line.startswith(note)
        lines += [] if told else paragraph("Note     ", note)
    return lines


def head(subject: str, answer: Why, nodes: str, age: str, style: Style) -> str:
    """The first line: who, in which state, for how long unless on a node, and what is asked for."""
    view = answer.view
    demand = f"  {answer.demand}" if answer.demand else ""
    if answer.lacks or not view.admission.allowed:
        state = style.paint("REFUSED", Colour.BAD)
    elif answer.finished:
        state = style.paint("FINISHED", Colour.WARNING) + f" ({answer.finished})"
    elif answer.dormant:
        state = style.paint("NO PODS", Colour.WARNING)
    elif view.placement is not None:
        state = style.paint("ON NODE", Colour.GOOD) + f" {nodes}"
    elif view.gated is not None:
        state = style.paint("GATED", Colour.WARNING) + f" {view.gated}"
    else:
        state = style.paint("PENDING", Colour.WARNING)
    if view.placement is None:
        state += age
    return f"{subject}  {state}{demand}"


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
