"""Which RuntimeClass a GPU pod gets, if any, and why.

Sources: gpu-operator's CDI documentation (from 25.10 on, pods that ask for GPUs need no class; in NRI mode there is
none); k3s and a default runtime of runc need one. RuntimeClass admission (plugin/pkg/admission/runtimeclass) refuses
a pod whose nodeSelector or overhead contradicts its class, in words that do not name who set the class.
"""

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Final

import msgspec

from gpusched.admission.admission import Context
from gpusched.admission.messages import quoted
from gpusched.admission.patch import PatchBuilder
from gpusched.admission.rules.objection import Objection, Outcome
from gpusched.core.cluster_facts import ClusterFacts, OperatorFacts, RuntimeClass
from gpusched.core.codes import Code, Finding
from gpusched.core.pod import Pod
from gpusched.core.quantity import parse
from gpusched.core.resources import NVIDIA

_AUTO: Final = "auto"
_NEVER: Final = "never"
_STEPS: Final = ("spec", "runtimeClassName")
_CDI_BY_DEFAULT: Final = (25, 10)


class Choice(msgspec.Struct, frozen=True):
    """`name` is the class to set, empty for none; `why` says it for the audit log."""

    name: str
    why: str
    warning: Finding | None = None


def choose(builder: PatchBuilder, pod: Pod, asked: Iterable[str], ctx: Context) -> Choice:
    """Decide for a pod that asks for the GPU resources `asked`; nothing is patched."""
    if builder.get(*_STEPS) is not None:
        return Choice("", f"kept {quoted(pod.spec.runtime_class or '')}, which the pod names itself")
    wish = ctx.resolution.runtime_class
    if wish == _NEVER:
        return Choice("", "not set: the policy says never")
    if wish != _AUTO:
        return _checked(wish, f"the policy names {wish}", pod, ctx.facts, none="write never")
    return _automatic(pod, asked, ctx)


def set_class(builder: PatchBuilder, choice: Choice) -> None:
    """Patch the class that was chosen. Overhead and scheduling of the class are the API server's to add."""
    if choice.name:
        builder.set(_STEPS, choice.name)


def _automatic(pod: Pod, asked: Iterable[str], ctx: Context) -> Choice:
    vendors = {vendor for resource in asked if (vendor := ctx.resources.vendor(resource)) is not None}
    classes = {vendor: ctx.config.runtime_classes.get(vendor, "") for vendor in sorted(vendors)}
    names = sorted({name for name in classes.values() if name})
    if not names:
        return Choice("", f"not set: none is configured for {', '.join(classes) or 'this resource'}")
    if len(names) > 1:
        return Choice("", f"not set: {', '.join(classes)} in one pod need {' and '.join(names)}")
    if NVIDIA in vendors and (reason := _not_needed(ctx.facts, names[0])):
        return Choice("", f"not set: {reason}")
    why = f"the nodes need it for {', '.join(classes)}"
    return _checked(names[0], why, pod, ctx.facts, none='configure "" for none')


def _not_needed(facts: ClusterFacts, name: str) -> str:
    """Why NVIDIA pods need no class here, empty when they may."""
    operator = facts.operator
    if operator is not None and operator.nri_enabled:
        return "the GPU Operator runs in NRI mode"
    if operator is not None and _injects_by_cdi(operator):
        return "the GPU Operator injects devices through CDI"
    if "gke" in facts.dialects and name not in facts.runtime_classes:
        # GoogleCloudPlatform/container-engine-accelerators: its device plugin mounts the driver into containers.
        return "GKE's device plugin needs none"
    return ""


def _injects_by_cdi(operator: OperatorFacts) -> bool:
    return operator.version is not None and operator.version >= _CDI_BY_DEFAULT and operator.cdi_enabled is not False


def _checked(name: str, why: str, pod: Pod, facts: ClusterFacts, *, none: str) -> Choice:
    if not facts.known:
        return Choice("", f"not set: whether {name} exists is not known")
    found = facts.runtime_classes.get(name)
    if found is None:
        full = f"RuntimeClass {quoted(name)} does not exist: not set. Create it, or {none}."
        return Choice(
            "", f"not set: {name} does not exist", _warning(full, f"no RuntimeClass {quoted(name)}: not set.")
        )
    conflict = _conflict(found, pod)
    if conflict:
        full = f"RuntimeClass {quoted(name)} is not set: {conflict}."
        return Choice(
            "",
            f"not set: {conflict}",
            _warning(full, f"RuntimeClass {quoted(name)} is not set: it conflicts with the pod."),
        )
    return Choice(name, f"set {name}: {why}")


def _conflict(runtime_class: RuntimeClass, pod: Pod) -> str:
    """What the API server would refuse the pod with this class for, empty when nothing."""
    for key, value in sorted(runtime_class.node_selector.items()):
        own = pod.spec.node_selector.get(key, value)
        if own != value:
            return f"its nodeSelector {key}={value} conflicts with {key}={own} of the pod"
    if pod.spec.overhead and _amounts(pod.spec.overhead) != _amounts(runtime_class.overhead):
        return "its overhead differs from spec.overhead of the pod"
    return ""


def _amounts(quantities: Mapping[str, str]) -> dict[str, Decimal | str]:
    return {name: amount if (amount := parse(text)) is not None else text for name, text in quantities.items()}


def _warning(full: str, short: str) -> Finding:
    return Objection(Code.RUNTIME_CLASS_MISSING, full, short).finding(Outcome.WARNING)
