"""Judge a pod, or a pod template: run every rule, sort the objections by mode, and patch what is allowed."""

from collections.abc import Callable, Collection, Iterable
from typing import Final

from gpusched.admission.admission import Admission, Context, joined
from gpusched.admission.mutate import patch_for
from gpusched.admission.rules.astray import astray
from gpusched.admission.rules.claim import memory_claim
from gpusched.admission.rules.malformed import annotation_faults
from gpusched.admission.rules.max_gpus import max_gpus
from gpusched.admission.rules.mixed_resources import mixed_resources
from gpusched.admission.rules.no_node import no_node
from gpusched.admission.rules.node_name import preset_node
from gpusched.admission.rules.objection import Force, Objection, Outcome
from gpusched.admission.rules.policy_bounds import asks_outside_policy, policy_conflicts
from gpusched.admission.rules.quantity import gpu_amounts
from gpusched.admission.rules.resource_name import gpu_resource_names, mentions_gpu_name
from gpusched.admission.rules.shared_single import shared_single
from gpusched.admission.rules.unspecific import unspecific
from gpusched.admission.rules.visible_devices import visible_devices
from gpusched.core.codes import Code, Finding
from gpusched.core.demand import Demand
from gpusched.core.names import PREFIX, STATUS_PREFIX
from gpusched.core.pod import Pod

Rule = Callable[[Pod, Demand, Context], tuple[Objection, ...]]
"""A rule of admission: what it objects to in a pod, in no mode in particular."""

#: In the order of their messages; the first refusal gives the code of the answer.
RULES: Final[tuple[Rule, ...]] = (
    gpu_amounts,
    gpu_resource_names,
    annotation_faults,
    astray,
    memory_claim,
    policy_conflicts,
    asks_outside_policy,
    max_gpus,
    shared_single,
    preset_node,
    visible_devices,
    mixed_resources,
    unspecific,
    no_node,
)
_RANK: Final = {code: rank for rank, code in enumerate(Code)}


def judge_pod(pod: Pod, raw_tree: object, demand: Demand, ctx: Context) -> Admission:
    """The answer to the creation of a pod, with its patch, or to a template, without one.

    `raw_tree` is the object as sent, which the patch is for. Pods that name neither a GPU nor a gpusched annotation,
    mirror pods and pods of exempt namespaces are allowed as they are, but for what the API server itself would refuse
    in the latter two; of the former, a namespace may have those that could see GPUs looked at. Updates of pods change
    nothing that is judged here.
    """
    if ctx.operation == "UPDATE" and not ctx.template:
        return Admission()
    alone = pod.mirror or ctx.resolution.exempt
    concerned = _concerned(pod, ctx)
    rules = _rules(ctx, alone=alone, concerned=concerned)
    found = dict.fromkeys(objection for rule in rules for objection in _ordered(rule(pod, demand, ctx), alone=alone))
    refusals, warnings, audit = _sorted(found, ctx)
    if refusals:
        return Admission(allowed=False, refusals=refusals, warnings=warnings, audit=audit)
    if ctx.template or alone or not (concerned or ctx.resolution.gpu_less_pods):
        return Admission(warnings=warnings, audit=audit)
    patch, told, noted = patch_for(pod, raw_tree, demand, ctx)
    return Admission(warnings=(*warnings, *told), audit=joined((*audit, *noted)), patch=patch)


def _rules(ctx: Context, *, alone: bool, concerned: bool) -> tuple[Rule, ...]:
    if alone:
        return () if ctx.webhook else (gpu_amounts, gpu_resource_names)
    if concerned:
        return RULES
    return (visible_devices,) if ctx.resolution.gpu_less_pods else ()


def _concerned(pod: Pod, ctx: Context) -> bool:
    ours = any(key.startswith((PREFIX, STATUS_PREFIX)) for key in pod.annotations)
    return ours or mentions_gpu_name(pod, ctx)


def _ordered(objections: Collection[Objection], *, alone: bool) -> Collection[Objection]:
    """A rule's objections by code, so that the order of containers decides no code."""
    if not objections:
        return ()
    kept = [objection for objection in objections if not alone or objection.force is Force.NATIVE]
    return sorted(kept, key=lambda objection: _RANK[objection.code])


def _sorted(
    found: Iterable[Objection], ctx: Context
) -> tuple[tuple[Finding, ...], tuple[Finding, ...], tuple[tuple[str, str], ...]]:
    """Objections as refusals, warnings and audit pairs, each with its code."""
    modes = ctx.resolution.modes
    refusals: list[Finding] = []
    warnings: list[Finding] = []
    audit: list[tuple[str, str]] = []
    for objection in found:
        mode = modes.default if objection.group is None else modes.of(objection.group)
        outcome = objection.outcome(mode, natively_judged=ctx.webhook)
        finding = objection.finding(outcome)
        if outcome is Outcome.REFUSAL:
            refusals.append(finding)
        elif outcome is Outcome.WARNING:
            warnings.append(finding)
        elif outcome is Outcome.AUDIT:
            audit.append((str(finding.code), finding.message))
    return tuple(refusals), tuple(warnings), joined(audit)
