import msgspec

from gpusched.wire.admission import (
    AdmissionRequest,
    AdmissionResponse,
    AdmissionReviewRequest,
    AdmissionReviewResponse,
    GroupKind,
    Status,
)


def test_what_is_read_of_a_review() -> None:
    body = b"""{
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
            "uid": "u", "kind": {"group": "apps", "version": "v1", "kind": "Deployment"}, "subResource": "scale",
            "name": "web", "namespace": "team-a", "operation": "UPDATE", "object": {"a": null}, "oldObject": {"b": []},
            "dryRun": true, "options": {"kind": "UpdateOptions"}, "userInfo": {"username": "alice"}
        }
    }"""
    assert msgspec.json.decode(body, type=AdmissionReviewRequest) == AdmissionReviewRequest(
        api_version="admission.k8s.io/v1",
        kind="AdmissionReview",
        request=AdmissionRequest(
            uid="u",
            kind=GroupKind("apps", "v1", "Deployment"),
            sub_resource="scale",
            name="web",
            namespace="team-a",
            operation="UPDATE",
            tree=msgspec.Raw(b'{"a": null}'),
            old_tree=msgspec.Raw(b'{"b": []}'),
            dry_run=True,
        ),
    )


def test_an_answer_says_only_what_there_is_to_say() -> None:
    assert msgspec.json.encode(AdmissionReviewResponse(AdmissionResponse("u", True))).decode() == (
        '{"response":{"uid":"u","allowed":true},"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}'
    )


def test_a_full_answer() -> None:
    response = AdmissionResponse("u", False, Status(403, "no"), "W10=", "JSONPatch", {"key": "value"}, ["careful"])
    assert msgspec.json.encode(response).decode() == (
        '{"uid":"u","allowed":false,"status":{"code":403,"message":"no","reason":"Forbidden"},"patch":"W10=",'
        '"patchType":"JSONPatch","auditAnnotations":{"key":"value"},"warnings":["careful"]}'
    )
