"""Judge a Namespace: what is written must be readable; what stands already is let be."""

from collections.abc import Mapping
from typing import Final

import msgspec

from gpusched.admission.admission import Admission
from gpusched.admission.messages import REFUSAL_LIMIT, WARNING_LIMIT, sentences_packed
from gpusched.admission.rules.astray import misplaced_labels
from gpusched.admission.rules.malformed import described
from gpusched.core.codes import Code, Finding
from gpusched.core.fault import Fault
from gpusched.core.names import GPU_LESS_LABEL
from gpusched.policy.annotations import NAMESPACE_KEYS, parse_namespace
from gpusched.policy.model import Parsed

_CODE = Code.POLICY_MALFORMED
_UNCOVERED: Final = Finding(
    Code.VISIBLE_DEVICES, f"pods without a GPU do not reach gpusched. Label the namespace {GPU_LESS_LABEL}=true."
)


class Written(msgspec.Struct, frozen=True):
    """What a Namespace says to gpusched: its annotations, whatever their keys, and its labels."""

    annotations: Mapping[str, str] = {}
    labels: Mapping[str, str] = {}


def judge_namespace(new: Written, old: Written | None = None, *, deleting: bool = False) -> Admission:
    """Refuse malformed values and unknown keys that this write brings; warn of unknown ones that stood before, and of
    a policy on visible devices that this write leaves without the label by which pods without a GPU come to gpusched.

    `old` is None on creation. All faults are named, in as few sentences of bounded length as hold them.
    """
    if deleting:
        return Admission()
    before = old or Written()
    standing = frozenset(_faults(parse_namespace(before.annotations)))
    parsed = parse_namespace(new.annotations)
    uncovered = _uncovered(parsed, new) and not _uncovered(parse_namespace(before.annotations), before)
    written = [fault for fault in _faults(parsed) if fault not in standing]
    stood = [fault for fault in parsed.unknown if fault in standing]
    return Admission(
        allowed=not written,
        refusals=_findings(written, REFUSAL_LIMIT),
        warnings=(
            *_findings(stood, WARNING_LIMIT),
            *(
                Finding(_CODE, f"label {key} says nothing. Make it an annotation.")
                for key in misplaced_labels(new.labels, NAMESPACE_KEYS)
                if key not in before.labels
            ),
            *((_UNCOVERED,) if uncovered else ()),
        ),
    )


def _uncovered(parsed: Parsed, written: Written) -> bool:
    restricts = parsed.policy.visible_devices not in (None, "allow")
    return restricts and written.labels.get(GPU_LESS_LABEL) != "true"


def _faults(parsed: Parsed) -> tuple[Fault, ...]:
    return parsed.malformed + parsed.unknown


def _findings(faults: list[Fault], limit: int) -> tuple[Finding, ...]:
    lines = sentences_packed((described(fault) for fault in faults), limit - len(_CODE) - 2)
    return tuple(Finding(_CODE, line) for line in lines)
