"""What `why` prints of many pods: those of one workload of which the same is said are one group."""

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Final

import msgspec

from gpusched.cli.paragraphs import paragraph
from gpusched.cli.simulate_table import nodes_of
from gpusched.cli.style import Style
from gpusched.cli.text_width import counted, printable
from gpusched.cli.why_text import age_text, body, head, why_text
from gpusched.simulate.reasons.pod_status import SCHEDULER_SAYS
from gpusched.simulate.reasons.why import Why

#: Groups printed unless all are asked for.
MOST: Final = 20
#: Pods of a group that are named.
_NAMED: Final = 3
#: The places of pods in a line differ; what else is said of them does not.
_PLACE: Final = re.compile(r"place (\d+)(?= in the line )")


def groups_text(answers: Sequence[Why], style: Style, now: datetime, *, everything: bool) -> str:
    """The groups, those of most pods first; without `everything` no more than can be read, and how many there are."""
    groups = sorted(_groups(answers), key=len, reverse=True)
    shown, rest = (groups, []) if everything else (groups[:MOST], groups[MOST:])
    texts = [_text(group, style, now) for group in shown]
    if rest:
        pods = counted(sum(map(len, rest)), "pod")
        texts.append(f"{counted(len(rest), 'more group')} of {pods}: -o wide shows all, -n NAMESPACE those of one\n")
    return "\n".join(texts)


def _groups(answers: Sequence[Why]) -> list[list[Why]]:
    groups: dict[object, list[Why]] = {}
    for answer in answers:
        groups.setdefault(_said(answer), []).append(answer)
    return list(groups.values())


def _said(answer: Why) -> object:
    """All that is printed of a pod but its name, age and place. kube-scheduler words its refusals anew at every try."""
    view = answer.view
    notes = tuple(note for note in view.notes if not note.startswith(SCHEDULER_SAYS))
    kept = msgspec.structs.replace(
        answer, view=msgspec.structs.replace(view, notes=notes), line=_PLACE.sub("place", answer.line)
    )
    state = view.placement is not None, view.gated, answer.finished, answer.demand
    # A StatefulSet's pods have claims of their own, with the name of the pod at the end of theirs.
    own = _own_node(answer)
    words = [
        word
        for line in body(kept)
        for word in line.split()
        if not word.endswith(f"-{view.name}") and not (own and word.strip("():") == own)
    ]
    return view.namespace, view.owner, state, tuple(words)


def _own_node(answer: Why) -> str:
    """The node that a DaemonSet's pod was made for; empty for other pods."""
    explanation = answer.explanation
    if explanation is None or not (answer.view.owner or "").startswith("DaemonSet/"):
        return ""
    nodes = set(explanation.examples.values())
    return nodes.pop() if len(nodes) == 1 and all(item.nodes == 1 for item in explanation.view.reasons) else ""


def _of_all(group: list[Why]) -> Why:
    """The first of the group, with the nodes of all where each has one of its own."""
    first = group[0]
    if first.explanation is None or not _own_node(first):
        return first
    view = first.explanation.view
    reasons = tuple(msgspec.structs.replace(item, nodes=len(group)) for item in view.reasons)
    view = msgspec.structs.replace(view, reasons=reasons)
    return msgspec.structs.replace(
        first, explanation=msgspec.structs.replace(first.explanation, view=view, nearest=None)
    )


def _text(group: list[Why], style: Style, now: datetime) -> str:
    first = group[0]
    if len(group) == 1:
        return why_text(first, style, now)
    view = first.view
    owner = f" of {view.owner}" if view.owner else ""
    subject = printable(f"{len(group)} pods{owner} in {view.namespace}")
    # Times of the API server sort as text: the pod that has waited longest counts.
    age = age_text(min(answer.created for answer in group), now)
    names = ", ".join(answer.view.name for answer in group[:_NAMED])
    more = f" and {len(group) - _NAMED} more" if len(group) > _NAMED else ""
    told = msgspec.structs.replace(_of_all(group), line=_line(group))
    lines = [
        head(subject, first, nodes_of([answer.view for answer in group]), age, style),
        *paragraph("  ", names + more),
        *body(told),
    ]
    return "\n".join(lines) + "\n"


def _line(group: list[Why]) -> str:
    """The line of the first pod, with the places of all."""
    places = [int(found[1]) for answer in group if (found := _PLACE.match(answer.line))]
    return _PLACE.sub(f"places {min(places)} to {max(places)}", group[0].line) if places else group[0].line
