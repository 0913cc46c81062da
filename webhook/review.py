"""PURE. Admission reviews answered: bytes of an AdmissionReview and the cluster state to bytes of the answer."""

import base64
from collections.abc import Mapping
from typing import Final

import msgspec

from gpusched.admission.admission import Admission, Context
from gpusched.admission.judge_namespace import judge_namespace
from gpusched.admission.judge_pod import judge_pod
from gpusched.admission.judge_workload import Judge, judge_workload, merged
from gpusched.admission.messages import fit, one_line
from gpusched.core.codes import Finding
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

_REVIEW: Final = msgspec.json.Decoder(AdmissionReviewRequest)
_FORBIDDEN: Final = 403
#: The API server cuts warnings that are longer once all together pass 4,096 characters.
_WARNING_LIMIT: Final = 256


class MalformedReviewError(ValueError):
    """The call is no AdmissionReview of v1: to be answered with HTTP 400, which lets failurePolicy decide."""


def answer_review(body: bytes, cluster: Cluster, *, mutating: bool = True) -> bytes:
    """AdmissionReview in, AdmissionReview out. Nothing is changed in the cluster state, so dry runs need no care.

    A validating webhook must answer without a patch (apiserver webhook/request, VerifyAdmissionResponse).

    Raises:
        MalformedReviewError: the body is not an AdmissionReview of admission.k8s.io/v1 with a request and a uid.

    """
    request = _request(body)
    admission = _judge(request, cluster)
    if not mutating:
        admission = msgspec.structs.replace(admission, patch=())
    return msgspec.json.encode(AdmissionReviewResponse(response=_response(request.uid, admission)))


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


def _judge(request: AdmissionRequest, cluster: Cluster) -> Admission:
    """The verdict by kind; subresources, deletions and objects that are no mappings are none of our business."""
    tree, old = request.tree, request.old_tree
    if request.sub_resource or request.operation not in {"CREATE", "UPDATE"} or not isinstance(tree, dict):
        return Admission()
    before = old if isinstance(old, dict) else None
    if (request.kind.group, request.kind.kind) == ("", "Namespace"):
        return _judge_namespace(tree, before)
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


def _judge_namespace(tree: Mapping[str, object], before: Mapping[str, object] | None) -> Admission:
    metadata = Field(tree).get("metadata")
    old = Field(before).get("metadata").get("annotations").strings() if before is not None else None
    return judge_namespace(
        metadata.get("annotations").strings(), old, deleting=metadata.get("deletionTimestamp").present
    )


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
