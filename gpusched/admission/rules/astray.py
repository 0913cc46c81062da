"""Words for gpusched where it does not read them: in labels, under a misspelt prefix, on a workload itself."""

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Final

from gpusched.admission.admission import Context
from gpusched.admission.messages import quoted
from gpusched.admission.rules.objection import Force, Objection
from gpusched.core.codes import Code
from gpusched.core.demand import Demand
from gpusched.core.names import PREFIX
from gpusched.core.pod import Pod
from gpusched.policy.annotations import POD_KEYS

_DOMAIN: Final = PREFIX.rstrip("/")
#: Finds `gpusched.com` and `gpu-sched.io`, but not `gpu.io`.
_CUTOFF: Final = 0.75


def astray(pod: Pod, _demand: Demand, ctx: Context) -> tuple[Objection, ...]:
    """Warn of what was meant for gpusched and would be passed over in silence."""
    return tuple(Objection(Code.POLICY_MALFORMED, text, force=Force.ADVICE) for text in _sentences(pod, ctx))


def _sentences(pod: Pod, ctx: Context) -> Iterator[str]:
    for key in sorted(pod.labels):
        if _is_word(key, POD_KEYS):
            yield f"label {key} says nothing. Make it an annotation."
    for key in sorted(pod.annotations):
        meant = misspelt_prefix(key)
        if meant is not None:
            yield f"annotation {quoted(key)} says nothing. Write {meant}."
    for key in sorted(ctx.around):
        if _is_word(key, POD_KEYS) and key not in pod.annotations:
            yield f"{key} on the workload itself says nothing. Put it on its pod template."


def misplaced_labels(labels: Mapping[str, str], keys: tuple[str, ...]) -> list[str]:
    """Labels of the names of annotations."""
    return [key for key in sorted(labels) if _is_word(key, keys)]


def misspelt_prefix(key: str) -> str | None:
    """What an annotation was meant to be whose name is one for pods and whose prefix is almost ours."""
    prefix, slash, name = key.partition("/")
    if not slash or name not in POD_KEYS or prefix == _DOMAIN:
        return None
    near = prefix == _DOMAIN.split(".")[0] or get_close_matches(prefix.lower(), [_DOMAIN], 1, _CUTOFF)
    return f"{PREFIX}{name}" if near else None


def _is_word(key: str, keys: tuple[str, ...]) -> bool:
    return key.startswith(PREFIX) and key.removeprefix(PREFIX) in keys
