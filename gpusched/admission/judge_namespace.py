"""Judge a Namespace: what is written must be readable; what stands already is let be."""

from collections.abc import Mapping

from gpusched.admission.admission import Admission
from gpusched.admission.messages import REFUSAL_LIMIT, WARNING_LIMIT, sentences_packed
from gpusched.admission.rules.malformed import described
from gpusched.core.codes import Code, Finding
from gpusched.core.fault import Fault
from gpusched.policy.annotations import parse_namespace
from gpusched.policy.model import Parsed

_CODE = Code.POLICY_MALFORMED


def judge_namespace(
    new_annotations: Mapping[str, str], old_annotations: Mapping[str, str] | None = None, *, deleting: bool = False
) -> Admission:
    """Refuse malformed values and unknown keys that this write brings; warn of unknown ones that stood before.

    `old_annotations` is None on creation. All faults are named, in as few sentences of bounded length as hold them.
    """
    if deleting:
        return Admission()
    standing = frozenset(_faults(parse_namespace(old_annotations or {})))
    parsed = parse_namespace(new_annotations)
    written = [fault for fault in _faults(parsed) if fault not in standing]
    stood = [fault for fault in parsed.unknown if fault in standing]
    return Admission(
        allowed=not written,
        refusals=_findings(written, REFUSAL_LIMIT),
        warnings=_findings(stood, WARNING_LIMIT),
    )


def _faults(parsed: Parsed) -> tuple[Fault, ...]:
    return parsed.malformed + parsed.unknown


def _findings(faults: list[Fault], limit: int) -> tuple[Finding, ...]:
    lines = sentences_packed((described(fault) for fault in faults), limit - len(_CODE) - 2)
    return tuple(Finding(_CODE, line) for line in lines)
