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
    return view.namespace, view.owner, state, tuple(body(kept))


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
    told = msgspec.structs.replace(first, line=_line(group))
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
