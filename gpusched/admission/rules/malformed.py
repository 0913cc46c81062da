"""Annotations that cannot be read, or that nobody reads."""

import re
from typing import Final

from gpusched.admission.admission import Context
from gpusched.admission.messages import quoted
from gpusched.admission.rules.objection import Force, Objection
from gpusched.core.codes import Code
from gpusched.core.demand import Demand
from gpusched.core.fault import Fault
from gpusched.core.names import STATUS_PREFIX
from gpusched.core.pod import Pod

_KEY: Final = re.compile(r"\[([^\]]+)\]$")
_QUOTED: Final = re.compile(r'("[^"]*") (has no |\S)(.*)', re.DOTALL)


def annotation_faults(pod: Pod, demand: Demand, ctx: Context) -> tuple[Objection, ...]:
    """Object to the pod's own bad values and unknown keys, and to bad values that stand in its namespace.

    A bad value of the namespace refuses pods that ask for GPUs: which rule it was meant to be is not known.
    """
    own = ctx.resolution.own
    found = [
        Objection(Code.POLICY_MALFORMED, f"pod has {described(fault)}.", force=Force.MALFORMED)
        for fault in own.malformed
    ]
    found += [
        Objection(Code.POLICY_MALFORMED, f"pod has {described(fault)}.", force=Force.MISSPELT) for fault in own.unknown
    ]
    if ctx.template:
        # A pod is told by the patch that removes them, which knows those that gpusched itself wrote just before.
        found += [_foreign(key) for key in sorted(pod.annotations) if key.startswith(STATUS_PREFIX)]
    if demand.total:
        found += [_standing(ctx.namespace, fault) for fault in ctx.resolution.malformed]
    return tuple(found)


def _foreign(key: str) -> Objection:
    full = f"template has {quoted(key)}, which only gpusched writes: it is removed from pods."
    return Objection(Code.POLICY_MALFORMED, full, force=Force.ADVICE)


def annotation_key(fault: Fault) -> str:
    """The annotation that a fault is about, from its path `metadata.annotations[KEY]`."""
    matched = _KEY.search(fault.path)
    return matched[1] if matched else fault.path


def described(fault: Fault) -> str:
    """The annotation with its value as the object of a sentence: `KEY "20" without unit; write 20Gi`."""
    key = quoted(annotation_key(fault))
    matched = _QUOTED.fullmatch(fault.message)
    if fault.message.startswith(f"{annotation_key(fault)} "):
        return f"{key}, which {fault.message.removeprefix(annotation_key(fault)).lstrip()}"
    if matched is None:
        return f"{key}: {fault.message}"
    value, verb, rest = matched.groups()
    return f"{key} {value} without {rest}" if verb == "has no " else f"{key} {value}, which {verb}{rest}"


def _standing(namespace: str, fault: Fault) -> Objection:
    what, _, remedy = described(fault).partition("; write ")
    cure = f"; an admin must write {remedy}" if remedy else "; an admin must correct it"
    return Objection(
        Code.POLICY_MALFORMED,
        f"namespace {quoted(namespace)} has {what}{cure}.",
        f"namespace {quoted(namespace)} has a malformed {quoted(annotation_key(fault))}{cure}.",
        Force.MALFORMED,
    )
