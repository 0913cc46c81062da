"""Judge the pod templates of a workload, so that a mistake shows when the workload is applied and not in its events."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import islice
from typing import Final

import msgspec

from gpusched.admission.admission import Admission, Context, joined
from gpusched.admission.judge_pod import judge_pod
from gpusched.admission.templates import Template, kind_of, templates_of
from gpusched.admission.visible_devices import VARIABLE
from gpusched.core.cluster_facts import ClusterFacts
from gpusched.core.demand import demand
from gpusched.core.fault import Fault
from gpusched.core.fields import Field
from gpusched.core.misspelt import names_of, near_misses
from gpusched.core.names import PREFIX, STATUS_PREFIX
from gpusched.core.pod import Container, Owner, Pod
from gpusched.core.read_pod import read_template
from gpusched.core.resources import GpuResources
from gpusched.dialects.asked_keys import asked_keys
from gpusched.policy.model import Config
from gpusched.policy.resolution import Resolution

#: Templates of an object that are judged while others wait for the webhook; pods of further ones are at their creation.
_MOST: Final = 200


class Judge(msgspec.Struct, frozen=True):
    """What the templates of one namespace are judged by; `resolve` answers what holds for a pod's annotations."""

    namespace: str
    facts: ClusterFacts
    config: Config
    resources: GpuResources
    resolve: Callable[[Mapping[str, str]], Resolution]
    webhook: bool = False


class JudgedTemplate(msgspec.Struct, frozen=True):
    """A template with the answer to it."""

    template: Template
    admission: Admission


def judge_workload(
    tree: Mapping[str, object], old_tree: Mapping[str, object] | None, judge: Judge
) -> tuple[JudgedTemplate, ...]:
    """The answer to each template of a workload; empty for kinds without known templates.

    `old_tree` is None on creation. On an update only templates whose GPU part changed are judged, and none while the
    object is being deleted: finalizers, restarts and controllers must get through whatever the policy of today is.
    """
    if _deleting(tree):
        return ()
    old_parts = (
        None
        if old_tree is None
        else {
            template.path: _gpu_part(_pod_of(template, old_tree, judge), judge.resources)
            for template in _templates(old_tree, judge)
        }
    )
    judged = []
    for template in _templates(tree, judge):
        pod = _pod_of(template, tree, judge)
        if old_parts is None or old_parts.get(template.path) != _gpu_part(pod, judge.resources):
            judged.append(
                JudgedTemplate(template, _judge(pod, template, judge, _annotations(tree), update=old_parts is not None))
            )
    return tuple(judged)


def _templates(tree: Mapping[str, object], judge: Judge) -> Iterator[Template]:
    return islice(templates_of(tree, []) or (), _MOST if judge.webhook else None)


def merged(judged: Iterable[JudgedTemplate]) -> Admission:
    """One answer for the whole object: allowed if every template is, findings in the order of templates, each once."""
    answers = [entry.admission for entry in judged]
    return Admission(
        allowed=all(answer.allowed for answer in answers),
        refusals=tuple(dict.fromkeys(finding for answer in answers for finding in answer.refusals)),
        warnings=tuple(dict.fromkeys(finding for answer in answers for finding in answer.warnings)),
        audit=joined(pair for answer in answers for pair in answer.audit),
    )


def _judge(pod: Pod, template: Template, judge: Judge, around: Mapping[str, str], *, update: bool) -> Admission:
    resolution = judge.resolve(pod.annotations)
    ctx = Context(
        facts=judge.facts,
        resolution=resolution,
        config=judge.config,
        resources=judge.resources,
        namespace=judge.namespace,
        operation="UPDATE" if update else "CREATE",
        controller=pod.owner.kind if pod.owner else "",
        template=True,
        webhook=judge.webhook,
        around=around,
    )
    return judge_pod(pod, template.tree, demand(pod, judge.resources, resolution.own.claim_mib), ctx)


def _pod_of(template: Template, tree: Mapping[str, object], judge: Judge) -> Pod:
    faults: list[Fault] = []
    owner = Owner(kind_of(tree)[1], "")
    return read_template(template.tree, faults, template.path, judge.namespace, "", owner)


def _annotations(tree: Mapping[str, object]) -> Mapping[str, str]:
    """Of the workload itself; its template has others."""
    return {name: value.text() for name, value in Field(tree).get("metadata").get("annotations").entries()}


def _deleting(tree: Mapping[str, object]) -> bool:
    metadata = tree.get("metadata")
    return isinstance(metadata, Mapping) and bool(metadata.get("deletionTimestamp"))


def _gpu_part(pod: Pod, resources: GpuResources) -> object:
    """Everything in a template that the rules look at, as a value to compare; the order of containers is no part."""
    spec = pod.spec
    names = names_of(pod)
    gpus = {name for name in names if resources.vendor(name) is not None}
    gpus |= near_misses(names, resources, frozenset()).keys()
    ours = {key: value for key, value in pod.annotations.items() if key.startswith((PREFIX, STATUS_PREFIX))}
    asked = asked_keys()
    selected = {key: value for key, value in spec.node_selector.items() if key in asked}
    terms = [[part for part in term.expressions if part.key in asked] for term in spec.node_affinity or ()]
    return (
        ours,
        selected,
        terms,
        spec.node_name,
        _gpu_amounts((spec.pod_limits, spec.pod_requests), gpus),
        {(container.kind, container.name): _container_part(container, gpus) for container in spec.containers},
    )


def _container_part(container: Container, gpus: Collection[str]) -> object:
    chosen = [value for name, value in container.env if name == VARIABLE]
    return _gpu_amounts((container.limits, container.requests), gpus), chosen


def _gpu_amounts(amounts: Iterable[Mapping[str, str]], gpus: Collection[str]) -> list[dict[str, str]]:
    return [{name: text for name, text in part.items() if name in gpus} for part in amounts]
