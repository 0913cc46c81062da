"""PURE. Admission reviews answered: bytes of an AdmissionReview and the cluster state to bytes of the answer."""

import base64
from collections.abc import Mapping
from typing import Final, NamedTuple

import msgspec

from gpusched.admission.admission import Admission, Context
from gpusched.admission.judge_namespace import Written
from gpusched.admission.judge_pod import judge_pod
from gpusched.admission.judge_workload import Judge, judge_workload, merged
from gpusched.admission.messages import fit, one_line
from gpusched.admission.standing_pods import judge_namespace_with_pods
from gpusched.core.codes import Code, Finding
from gpusched.core.demand import demand
from gpusched.core.fault import Fault
from gpusched.core.fields import Field
from gpusched.core.read_pod import read_controller, read_pod
from gpusched.core.workload import workload_by_name
from gpusched.state.cluster import Cluster
from gpusched.wire.admission import (
    AdmissionRequest,
    AdmissionResponse,
    AdmissionReviewRequest,
    AdmissionReviewResponse,
    Asked,
    Status,
)
from gpusched.wire.decision import Decision, Observer, unobserved
from gpusched.wire.reviewed_pod import ReviewedPod, read_reviewed_pod
from webhook.memo import LARGEST_PART, Memo

_REVIEW: Final = msgspec.json.Decoder(AdmissionReviewRequest)
_FORBIDDEN: Final = 403
_CODES: Final = frozenset(str(code) for code in Code)
#: The API server cuts warnings that are longer once all together pass 4,096 characters.
_WARNING_LIMIT: Final = 256


class MalformedReviewError(ValueError):
    """The call is no AdmissionReview of v1: to be answered with HTTP 400, which lets failurePolicy decide."""


class Judged(msgspec.Struct, frozen=True):
    """What was decided, but for whose name and uid; and the answer, but for the uid of the request."""

    decision: Decision
    answer: AdmissionResponse


def answer_review(
    body: bytes,
    cluster: Cluster,
    *,
    mutating: bool = True,
    observe: Observer = unobserved,
    memo: Memo[Judged] | None = None,
) -> bytes:
    """AdmissionReview in, AdmissionReview out. Nothing is changed in the cluster state, so dry runs need no care.

    A validating webhook must answer without a patch (apiserver webhook/request, VerifyAdmissionResponse). With a memo
    a pod is not judged again that is like one judged before while nothing changed that its answer depends on.

    Raises:
        MalformedReviewError: the body is not an AdmissionReview of admission.k8s.io/v1 with a request and a uid.

    """
    pod = read_reviewed_pod(body)
    verdict = _of_object(body, cluster, mutating) if pod is None else _of_pod(pod, cluster, memo or Memo(), mutating)
    asked, judged = verdict.asked, verdict.judged
    decision = msgspec.structs.replace(
        judged.decision,
        name=asked.name or verdict.name,
        uid=verdict.uid,
        dry_run=bool(asked.dry_run),
        workload=verdict.workload,
    )
    observe(decision)
    answer = msgspec.structs.replace(judged.answer, uid=asked.uid)
    return msgspec.json.encode(AdmissionReviewResponse(response=answer))


class _Verdict(NamedTuple):
    asked: Asked
    name: str
    uid: str
    workload: str
    judged: Judged


def _of_pod(pod: ReviewedPod, cluster: Cluster, memo: Memo[Judged], mutating: bool) -> _Verdict:
    asked = pod.asked
    key = (mutating, asked.namespace, asked.sub_resource, asked.operation, pod.part)
    judged = memo.get(key, cluster)
    if judged is None:
        part = pod.named_part()
        judged = memo.get((*key, part), cluster)
        if judged is None:
            judged = _judged(asked, _judge(asked, _decoded(part), None, cluster), mutating)
            if len(part) <= LARGEST_PART:
                # Findings may name containers.
                memo.put((*key, part) if judged.decision.findings else key, judged)
    return _Verdict(asked, pod.name, pod.uid, pod.workload, judged)


def _of_object(body: bytes, cluster: Cluster, mutating: bool) -> _Verdict:
    request = _request(body)
    tree, old = _decoded(request.tree), _decoded(request.old_tree)
    metadata = Field(tree).get("metadata")
    # An object of generateName has no name yet, and none has a UID at its creation.
    name = metadata.get("name").text() or metadata.get("generateName").text()
    judged = _judged(request, _judge(request, tree, old, cluster), mutating)
    owner = read_controller(metadata.get("ownerReferences"))
    template_hash = metadata.get("labels").get("pod-template-hash").text()
    workload = "" if owner is None else workload_by_name(owner.kind, owner.name, template_hash)
    return _Verdict(request, name, metadata.get("uid").text(), workload, judged)


def _judged(asked: Asked, admission: Admission, mutating: bool) -> Judged:
    if not mutating:
        # A pod is mutated before it is validated, and warned then: by now it carries what mutation added, such as
        # affinity that leaves nodes out, and advice on that would speak of what the user did not write.
        warnings = () if asked.kind.kind == "Pod" and admission.allowed else admission.warnings
        admission = msgspec.structs.replace(admission, patch=(), warnings=warnings)
    return Judged(_decision("mutate" if mutating else "validate", asked, admission), _response(asked.uid, admission))


def _decoded(raw: msgspec.Raw | bytes) -> object:
    try:
        return msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise MalformedReviewError(f"not an object: {error}") from error


def _decision(verb: str, asked: Asked, admission: Admission) -> Decision:
    findings = [(str(finding.code), "enforce") for finding in admission.refusals]
    findings += [(str(finding.code), "warn") for finding in admission.warnings]
    findings += [(key, "audit") for key, _ in admission.audit if key in _CODES]
    return Decision(
        verb,
        namespace=asked.namespace or "",
        code=str(admission.code or "allowed"),
        kind=asked.kind.kind,
        findings=tuple(findings),
        message=admission.message,
    )


def _request(body: bytes) -> AdmissionRequest:
    try:
        review = _REVIEW.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise MalformedReviewError(f"not an AdmissionReview: {error}") from error
    if not review.known:
        raise MalformedReviewError(
            f"expected admission.k8s.io/v1 AdmissionReview, got {review.api_version} {review.kind}"
        )
    if review.request is None or not review.request.uid:
        raise MalformedReviewError("the AdmissionReview has no request with a uid")
    return review.request


def _judge(asked: Asked, tree: object, old: object, cluster: Cluster) -> Admission:
    """The verdict by kind; subresources, deletions and objects that are no mappings are none of our business."""
    if asked.sub_resource or asked.operation not in {"CREATE", "UPDATE"} or not isinstance(tree, dict):
        return Admission()
    if asked.of_pod:
        return _judge_pod(tree, asked, cluster)
    before = old if isinstance(old, dict) else None
    if (asked.kind.group, asked.kind.kind) == ("", "Namespace"):
        return _judge_namespace(tree, before, asked.name or "", cluster)
    namespace = asked.namespace or ""
    judge = Judge(
        namespace=namespace,
        facts=cluster.facts,
        config=cluster.config,
        resources=cluster.resources,
        resolve=lambda annotations: cluster.resolution(namespace, annotations),
        webhook=True,
    )
    return merged(judge_workload(tree, before, judge))


def _judge_namespace(
    tree: Mapping[str, object], before: Mapping[str, object] | None, name: str, cluster: Cluster
) -> Admission:
    metadata = Field(tree).get("metadata")
    old = _written(Field(before).get("metadata")) if before is not None else None
    deleting = metadata.get("deletionTimestamp").present
    return judge_namespace_with_pods(name, _written(metadata), old, cluster, deleting=deleting)


def _written(metadata: Field) -> Written:
    return Written(metadata.get("annotations").strings(), metadata.get("labels").strings())


def _judge_pod(tree: Mapping[str, object], asked: Asked, cluster: Cluster) -> Admission:
    faults: list[Fault] = []
    pod = read_pod(tree, faults, namespace=asked.namespace or "default")
    resolution = cluster.resolution(pod.namespace, pod.annotations)
    context = Context(
        facts=cluster.facts,
        resolution=resolution,
        config=cluster.config,
        resources=cluster.resources,
        namespace=pod.namespace,
        operation=asked.operation,
        controller=pod.owner.kind if pod.owner else "",
        webhook=True,
    )
    return judge_pod(pod, tree, demand(pod, cluster.resources, resolution.own.claim_mib), context)


def _response(uid: str, admission: Admission) -> AdmissionResponse:
    """The answer in the API's terms: every refusal is a line of the message, a warning has a line of its own."""
    answer = AdmissionResponse(
        uid=uid,
        allowed=admission.allowed,
        warnings=[fit(_line(finding), _WARNING_LIMIT) for finding in admission.warnings] or None,
        audit_annotations=dict(admission.audit) or None,
    )
    if not admission.allowed:
        answer.status = Status(_FORBIDDEN, "\n".join(one_line(_line(finding)) for finding in admission.refusals))
    elif admission.patch:
        answer.patch = base64.b64encode(msgspec.json.encode(admission.patch)).decode()
        answer.patch_type = "JSONPatch"
    return answer


def _line(finding: Finding) -> str:
    return f"{finding.code}: {finding.message}"
