"""What is patched into a pod at its creation, and what the user and the audit log are told of it."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from gpusched.admission.admission import Context, Op
from gpusched.admission.gate import add_gate
from gpusched.admission.lower import Lowered, lower
from gpusched.admission.messages import quoted
from gpusched.admission.mps import limit_memory
from gpusched.admission.patch import PatchBuilder
from gpusched.admission.rules.objection import Objection, Outcome
from gpusched.admission.runtime_class import choose, set_class
from gpusched.admission.scheduler_name import set_scheduler
from gpusched.admission.tolerations import add_tolerations
from gpusched.admission.visible_devices import hide_devices
from gpusched.core.codes import Code, Finding
from gpusched.core.demand import Demand
from gpusched.core.fingerprint import fingerprint
from gpusched.core.names import LOWERED_ANNOTATION, POLICY_HASH_ANNOTATION, STATUS_PREFIX
from gpusched.core.pod import Pod
from gpusched.policy.model import Mode

_ANNOTATIONS: Final = ("metadata", "annotations")
_HELPING: Final = frozenset({Mode.ENFORCE, Mode.WARN})


class Mutation(NamedTuple):
    """The patch, empty for a pod that has all of it; warnings; and pairs for the audit log."""

    patch: tuple[Op, ...] = ()
    warnings: tuple[Finding, ...] = ()
    audit: tuple[tuple[str, str], ...] = ()


def patch_for(pod: Pod, tree: object, demand: Demand, ctx: Context) -> Mutation:
    """The patch for the raw object `tree`, of which `pod` is what was read.

    Templates, updates, mirror pods and exempt namespaces are never patched. Its own output is accepted unchanged, as
    reinvocation demands.
    """
    if ctx.template or ctx.operation != "CREATE" or pod.mirror or ctx.resolution.exempt:
        return Mutation()
    if not isinstance(tree, Mapping):
        return Mutation()
    builder = PatchBuilder(tree)
    if not demand.slots:
        warnings = _settle_annotations(builder, Lowered(), ctx)
        hide_devices(builder, pod, ctx)
        return Mutation(builder.ops, warnings)
    return _gpu_pod(builder, pod, demand, ctx)


def _gpu_pod(builder: PatchBuilder, pod: Pod, demand: Demand, ctx: Context) -> Mutation:
    mode = ctx.resolution.modes.default
    warnings: list[Finding] = []
    audit: list[tuple[str, str]] = []
    if mode in _HELPING or ctx.resolution.own.policy.runtime_class is not None:
        choice = choose(builder, pod, demand.slots, ctx)
        set_class(builder, choice)
        audit.append(("runtime-class", choice.why))
        warnings += [choice.warning] if choice.warning is not None else []
    if mode in _HELPING:
        add_tolerations(builder, pod, demand.slots, ctx)
    set_scheduler(builder, pod, ctx)
    lowered = lower(builder, pod, demand, ctx)
    audit.append(("lowered", lowered.text or f"nothing: {lowered.why}"))
    warnings += limit_memory(builder, pod, demand, ctx)
    add_gate(builder, pod, ctx)
    if mode not in _HELPING:
        audit += [(str(warning.code), warning.message) for warning in warnings]
        warnings = []
    warnings += _settle_annotations(builder, lowered, ctx)
    return Mutation(builder.ops, tuple(warnings), tuple(audit))


def _settle_annotations(builder: PatchBuilder, lowered: Lowered, ctx: Context) -> tuple[Finding, ...]:
    """Write what gpusched says of the pod and remove what others say in its name.

    An annotation that says exactly what would be written, on a pod whose affinity bears it out, is our own from an
    earlier call.
    """
    wanted: dict[str, str] = {}
    if lowered.text:
        constraints = ctx.resolution.constraints
        wanted = {LOWERED_ANNOTATION: lowered.text, POLICY_HASH_ANNOTATION: fingerprint(constraints)}
    present = builder.get(*_ANNOTATIONS)
    held = present if isinstance(present, Mapping) else {}
    foreign = sorted(key for key in held if isinstance(key, str) and key.startswith(STATUS_PREFIX))
    forged = [key for key in foreign if lowered.changed or wanted.get(key) != held[key]]
    for key in forged:
        if key not in wanted:
            builder.remove((*_ANNOTATIONS, key))
    for key, text in wanted.items():
        builder.set((*_ANNOTATIONS, key), text)
    return tuple(_removed(key) for key in forged)


def _removed(key: str) -> Finding:
    full = f"pod has {quoted(key)}, which only gpusched writes: it is removed."
    return Objection(Code.POLICY_MALFORMED, full).finding(Outcome.WARNING)
