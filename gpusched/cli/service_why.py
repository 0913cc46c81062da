"""`why` for users who may not list nodes: the running service answers about their own namespaces."""

import contextlib
from typing import Final

import click
import msgspec

from gpusched.admission.admission import Admission
from gpusched.cli.access import Absent, Access, Forbidden, Unavailable
from gpusched.cli.live import SOURCE, context_namespace, in_pod
from gpusched.cli.service import Service, authorization
from gpusched.cli.why_named import Identity, one_of
from gpusched.core.names import OWN_NAMESPACE
from gpusched.kube.workloads import CONTROLLERS
from gpusched.serve.view.access import NO_NAMESPACE, Extent
from gpusched.serve.view.pods import PodView as Waiting
from gpusched.serve.view.why import WhyView
from gpusched.simulate.reasons.explain import Explanation
from gpusched.simulate.reasons.why import Target, Why
from gpusched.simulate.result import PlacementView, PodView, ReasonView, UnschedulableView, admission_view

#: Where the service is, seen from a pod.
_INSIDE: Final = f"http://gpusched-webhook.{OWN_NAMESPACE}.svc:8080"
_KINDS: Final = frozenset({"pod", *(kind.lower() for kind, *_ in CONTROLLERS)})
_WHERE: Final = "with --server the service answers about pods of your namespaces"


class _Answer(msgspec.Struct):
    """What the service says, and what is to be known about it."""

    why: WhyView
    notes: tuple[str, ...] = ()


class _Pods(msgspec.Struct):
    """Waiting pods; those that are not listed are counted in `total`."""

    total: int
    pods: tuple[Waiting, ...]
    seen: Extent
    notes: tuple[str, ...] = ()


class _Workloads(msgspec.Struct):
    """Workloads that lack pods."""

    workloads: tuple[WhyView, ...]
    notes: tuple[str, ...] = ()


class Told(msgspec.Struct, frozen=True):
    """Answers about pods and workloads, and what is to be said about all of them together."""

    answers: list[Why]
    notes: list[str] = []


def ask_service(access: Access, server: str | None, targets: tuple[Target, ...], refused: Unavailable) -> Told:
    """The service's word on a pod or workload, or without targets on all that wait where the user looks. `refused` is
    why the API server could not be asked itself.

    Raises Forbidden where there is no way to the service or it does not answer to this user, Absent for no such pod.
    """
    address = server or (_INSIDE if in_pod(access) else None)
    if address is None:
        raise Forbidden(f"{refused.message}; {_WHERE}")
    if access.selector:
        raise click.UsageError("--server knows no labels of pods: leave --selector out, or name a pod")
    service = Service(address, authorization(access))
    own = None if access.all_namespaces else access.namespace or context_namespace(access) or None
    if not targets:
        return _waiting(service, own)
    # Only of Kubernetes' own kinds the name of the kind is likelier than a namespace's, such as notebooks.
    likelier, *others = sorted(targets, key=lambda item: item.kind not in {"", *_KINDS})
    try:
        return Told([_about(service, likelier, own, access)])
    except (Absent, Forbidden):
        for target in others:
            with contextlib.suppress(Absent, Forbidden):
                return Told([_about(service, target, own, access)])
        raise


def _about(service: Service, target: Target, own: str | None, access: Access) -> Why:
    asked = access.all_namespaces and target.kind in {"", "pod"}
    namespace = target.namespace or own or (_found(service, target.name) if asked else "")
    return _of(service, namespace or "default", target.name, target.kind)


def _found(service: Service, name: str) -> str:
    """The namespace of the waiting pod of this name, empty without any; raises Ambiguous for several."""
    listed = service.get("pods", _Pods, None)
    found = one_of(name, (Identity(pod.namespace, "Pod", pod.name) for pod in listed.pods if pod.name == name))
    return found.namespace if found is not None else ""


def _waiting(service: Service, namespace: str | None) -> Told:
    """Workloads that lack pods and GPU pods that wait in a namespace, or in all that the user may see."""
    where = {"namespace": namespace} if namespace else None
    listed = service.get("pods", _Pods, where)
    if listed.seen == "none":
        raise Forbidden(NO_NAMESPACE)
    lacking = service.get("workloads", _Workloads, where)
    # What the service has not worked out yet it does when it is asked about the one pod.
    answers = [_why(answer, ()) for answer in lacking.workloads]
    answers += [
        _of(service, pod.namespace, pod.name, "pod") if pod.why is None else _why(pod.why, listed.notes)
        for pod in listed.pods
    ]
    notes = [*lacking.notes]
    notes += ["only pods of the namespaces that you may see"] if listed.seen == "some" and namespace is None else []
    if listed.total > len(listed.pods):
        notes.append(f"{listed.total - len(listed.pods)} more wait: -n NAMESPACE lists those of one")
    return Told(answers, notes)


def _of(service: Service, namespace: str, name: str, kind: str) -> Why:
    named = {"namespace": namespace, "name": name} | ({"kind": kind} if kind else {})
    answer = service.get("why", _Answer, named)
    return _why(answer.why, answer.notes)


def _why(answer: WhyView, notes: tuple[str, ...]) -> Why:
    """The answer in the shape of the command's own."""
    reasons = tuple(ReasonView(item.code, item.message, item.nodes) for item in answer.reasons)
    waits = UnschedulableView(reasons, answer.suggestion) if reasons or answer.suggestion else None
    examples = {item.code: item.example for item in answer.reasons}
    view = PodView(
        namespace=answer.namespace,
        name=answer.name,
        owner=answer.owner or None,
        source=SOURCE,
        admission=answer.admission or admission_view(Admission()),
        placement=PlacementView(answer.node, {}, 0) if answer.state == "placed" else None,
        unschedulable=waits,
        gated=("quota" if answer.line else "other") if answer.state == "gated" else None,
        notes=(*answer.notes, *notes),
    )
    explanation = None
    if waits is not None:
        explanation = Explanation(waits, examples, answer.nearest or None, answer.nearest_lacks, answer.scaling)
    return Why(
        view,
        answer.demand,
        explanation,
        answer.line,
        answer.history,
        finished=answer.phase,
        created=answer.created,
        dormant=(answer.notes or ("it makes no pods now",))[-1] if answer.state == "no-pods" else "",
        lacks=answer.lacks,
    )
