"""PURE. Admission reviews answered: bytes of an AdmissionReview and the cluster state to bytes of the answer."""

import base64
from collections.abc import Mapping
from typing import Final

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
from gpusched.core.read_pod import read_pod
from gpusched.state.cluster import Cluster
from gpusched.wire.admission import (
    AdmissionRequest,
    AdmissionResponse,
    AdmissionReviewRequest,
    AdmissionReviewResponse,
    Status,
)
from gpusched.wire.decision import Decision, Observer, unobserved
from webhook.memo import LARGEST_OBJECT, Memo

_REVIEW: Final = msgspec.json.Decoder(AdmissionReviewRequest)
_FORBIDDEN: Final = 403
_CODES: Final = frozenset(str(code) for code in Code)
#: The API server cuts warnings that are longer once all together pass 4,096 characters.
_WARNING_LIMIT: Final = 256


class MalformedReviewError(ValueError):
    """The call is no AdmissionReview of v1: to be answered with HTTP 400, which lets failurePolicy decide."""


class Judged(msgspec.Struct, frozen=True):
    """What was decided of an object, and the answer but for the uid of the request."""

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
    an object that was judged before is not judged again while nothing changed that its answer depends on.

    Raises:
        MalformedReviewError: the body is not an AdmissionReview of admission.k8s.io/v1 with a request and a uid.

    """
    request = _request(body)
    judged = None
    # What a Namespace is told depends on pods too, of which the memo knows nothing.
    worth = memo is not None and request.kind.kind != "Namespace" and _size(request) <= LARGEST_OBJECT
    key = _key(request, mutating=mutating) if worth else ()
    if memo is not None and worth:
        judged = memo.get(key, cluster)
    if judged is None:
        judged = _judged(request, cluster, mutating=mutating)
        if memo is not None and worth:
            memo.put(key, judged)
    observe(judged.decision)
    answer = msgspec.structs.replace(judged.answer, uid=request.uid)
    return msgspec.json.encode(AdmissionReviewResponse(response=answer))


def _size(request: AdmissionRequest) -> int:
    return len(bytes(request.tree)) + len(bytes(request.old_tree))


def _key(request: AdmissionRequest, *, mutating: bool) -> tuple[object, ...]:
    kind, place = request.kind, (request.namespace, request.name, request.sub_resource, request.operation)
    return (mutating, kind.group, kind.kind, *place, bytes(request.tree), bytes(request.old_tree))


def _judged(request: AdmissionRequest, cluster: Cluster, *, mutating: bool) -> Judged:
    tree, old = _decoded(request.tree), _decoded(request.old_tree)
    admission = _judge(request, tree, old, cluster)
    if not mutating:
        # A pod is mutated before it is validated, and warned then: by now it carries what mutation added, such as
        # affinity that leaves nodes out, and advice on that would speak of what the user did not write.
        warnings = () if request.kind.kind == "Pod" and admission.allowed else admission.warnings
        admission = msgspec.structs.replace(admission, patch=(), warnings=warnings)
    decision = _decision("mutate" if mutating else "validate", request, tree, admission)
    return Judged(decision, _response(request.uid, admission))


def _decoded(raw: msgspec.Raw) -> object:
    try:
        return msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise MalformedReviewError(f"not an object: {error}") from error


def _decision(verb: str, request: AdmissionRequest, tree: object, admission: Admission) -> Decision:
    """The decision. An object of generateName has no name yet, and none has a UID at its creation."""
    metadata = Field(tree).get("metadata")
    findings = [(str(finding.code), "enforce") for finding in admission.refusals]
    findings += [(str(finding.code), "warn") for finding in admission.warnings]
    findings += [(key, "audit") for key, _ in admission.audit if key in _CODES]
    return Decision(
        verb,
        namespace=request.namespace or "",
        name=request.name or metadata.get("name").text() or metadata.get("generateName").text(),
        uid=metadata.get("uid").text(),
        code=str(admission.code or "allowed"),
        kind=request.kind.kind,
        findings=tuple(findings),
        message=admission.message,
        dry_run=bool(request.dry_run),
    )


def _request(body: bytes) -> AdmissionRequest:
    try:
        review = _REVIEW.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise MalformedReviewError(f"not an AdmissionReview: {error}") from error
    if (review.api_version, review.kind) != ("admission.k8s.io/v1", "AdmissionReview"):
        raise MalformedReviewError(
            f"expected admission.k8s.io/v1 AdmissionReview, got {review.api_version} {review.kind}"
        )
    if review.request is None or not review.request.uid:
        raise MalformedReviewError("the AdmissionReview has no request with a uid")
    return review.request


def _judge(request: AdmissionRequest, tree: object, old: object, cluster: Cluster) -> Admission:
    """The verdict by kind; subresources, deletions and objects that are no mappings are none of our business."""
    if request.sub_resource or request.operation not in {"CREATE", "UPDATE"} or not isinstance(tree, dict):
        return Admission()
    before = old if isinstance(old, dict) else None
    if (request.kind.group, request.kind.kind) == ("", "Namespace"):
        return _judge_namespace(tree, before, request.name or "", cluster)
    if (request.kind.group, request.kind.kind) == ("", "Pod"):
        return _judge_pod(tree, request, cluster)
    namespace = request.namespace or ""
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


def _judge_pod(tree: Mapping[str, object], request: AdmissionRequest, cluster: Cluster) -> Admission:
    faults: list[Fault] = []
    pod = read_pod(tree, faults, namespace=request.namespace or "default")
    resolution = cluster.resolution(pod.namespace, pod.annotations)
    context = Context(
        facts=cluster.facts,
        resolution=resolution,
        config=cluster.config,
        resources=cluster.resources,
        namespace=pod.namespace,
        operation=request.operation,
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
        answer.patch = base64.b64encode(msgspec.json.encode([op.as_json() for op in admission.patch])).decode()
        answer.patch_type = "JSONPatch"
    return answer


def _line(finding: Finding) -> str:
    return f"{finding.code}: {finding.message}"
