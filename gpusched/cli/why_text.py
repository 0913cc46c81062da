"""What `why` prints for people."""

from gpusched.cli.simulate_table import patched_fields
from gpusched.cli.style import Colour, Style
from gpusched.simulate.why import Why


def why_text(answer: Why, style: Style) -> str:
    """A head line, the reasons, the nearest node, and what to change."""
    lines = [_head(answer, style)]
    view = answer.view
    if not view.admission.allowed:
        lines.append(f"  {view.admission.code}  {view.admission.message}")
    if answer.explanation is not None:
        lines.extend(_reasons(answer))
    if answer.line:
        lines.append(f"  {answer.line}")
    if answer.history:
        lines.append(f"  {answer.history}")
    patched = patched_fields(view.admission)
    if patched:
        lines.append(f"Added    {', '.join(patched)}")
    lines.extend(f"Warning  {warning.code}: {warning.message}" for warning in view.admission.warnings)
    lines.extend(f"Note     {note}" for note in view.notes)
    return "\n".join(lines) + "\n"


def _head(answer: Why, style: Style) -> str:
    view = answer.view
    name = f"pod {view.namespace}/{view.name}"
    owner = f" of {view.owner}" if view.owner else ""
    demand = f"  {answer.demand}" if answer.demand else ""
    if not view.admission.allowed:
        state = style.paint("REFUSED", Colour.BAD)
    elif view.placement is not None:
        state = style.paint("ON NODE", Colour.GOOD) + f" {view.placement.node}"
    elif view.gated is not None:
        state = style.paint("GATED", Colour.WARNING) + f" {view.gated}"
    else:
        state = style.paint("PENDING", Colour.WARNING)
    return f"{name}{owner}  {state}{demand}"


def _reasons(answer: Why) -> list[str]:
    explanation = answer.explanation
    if explanation is None:
        return []
    reasons = explanation.view.reasons
    width = max((len(reason.code) for reason in reasons), default=0)
    lines = [
        f"  {reason.nodes:>3} {'node ' if reason.nodes == 1 else 'nodes'}  {reason.code:<{width}}  {reason.message}"
        f" (such as {explanation.examples[reason.code]})"
        for reason in reasons
    ]
    if explanation.nearest is not None:
        lines.append(f"Nearest  {explanation.nearest}: {explanation.nearest_lacks}")
    lines.append(f"Change   {explanation.view.suggestion}")
    return lines
