"""PURE. Why no node takes a pending pod, in the one sentence that an event has room for."""

from typing import Final

from gpusched.simulate.reasons.why import Why

#: Characters of one reason's text, and of all together: the suggestion after them must not be cut off.
_ONE: Final = 200
_ALL: Final = 600


def refusal(why: Why) -> str | None:
    """The reasons with counts of nodes, and the smallest change that fits. None where some node would take the pod, or
    may do so for all that is known.
    """
    explanation = why.explanation
    if explanation is None or explanation.open or not explanation.view.reasons:
        return None
    reasons = explanation.view.reasons
    lines = [f"{reason.nodes} {reason.code} ({_short(reason.message)})" for reason in reasons]
    head = f"0 of {sum(reason.nodes for reason in reasons)} nodes take it: {_joined(lines)}"
    suggestion, caveats = explanation.view.suggestion, "; ".join(explanation.caveats)
    return f"{head}. {suggestion}{f' ({caveats})' if caveats else ''}" if suggestion else head


def _short(text: str) -> str:
    return text if len(text) <= _ONE else f"{text[: _ONE - 4]} ..."


def _joined(lines: list[str]) -> str:
    kept = list(lines)
    while len(", ".join(kept)) > _ALL:
        kept.pop()
    more = len(lines) - len(kept)
    return ", ".join(kept) + (f" and {more} more reasons" if more > 1 else " and one more reason" if more else "")
