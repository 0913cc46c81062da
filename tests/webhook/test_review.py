import base64
import json
from typing import Any

import jsonpatch
import pytest

from gpusched.state.cluster import Cluster
from gpusched.wire.decision import Decision
from tests.build import Tree, container, h100_node, namespace, pod, t4_node
from tests.placement.scene import cluster_of
from webhook.review import MalformedReviewError, answer_review

KINDS = {
    "Pod": {"group": "", "version": "v1", "kind": "Pod"},
    "Namespace": {"group": "", "version": "v1", "kind": "Namespace"},
    "Deployment": {"group": "apps", "version": "v1", "kind": "Deployment"},
    "JobSet": {"group": "jobset.x-k8s.io", "version": "v1alpha2", "kind": "JobSet"},
}


def cluster() -> Cluster:
    strict = namespace("team-a", families="turing", max_gpus_per_pod="2")
    return cluster_of(t4_node("t4"), h100_node("h100"), strict, namespace("team-s", mode="audit", families="turing"))


def review(tree: object, **request: object) -> bytes:
    kind = tree["kind"] if isinstance(tree, dict) else "Pod"
    body = {"uid": "u-1", "kind": KINDS[kind], "namespace": "team-a", "operation": "CREATE", "object": tree}
    envelope = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": body | request}
    return json.dumps(envelope).encode()


def answered(tree: object, *, mutating: bool = True, **request: object) -> Any:
    answer = json.loads(answer_review(review(tree, **request), cluster(), mutating=mutating))
    assert (answer["apiVersion"], answer["kind"]) == ("admission.k8s.io/v1", "AdmissionReview")
    assert answer["response"].pop("uid") == "u-1"
    return answer["response"]


def deployment(gpus: int) -> Tree:
    template = {"metadata": {}, "spec": pod(gpus=gpus)["spec"]}
    metadata = {"name": "web", "namespace": "team-a"}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": {"template": template}}


def test_a_pod_is_patched() -> None:
    tree = pod()
    response = answered(tree)
    assert (response["allowed"], response["patchType"]) == (True, "JSONPatch")
    after = jsonpatch.apply_patch(tree, json.loads(base64.b64decode(response["patch"])))
    assert after["metadata"]["annotations"]["status.gpusched.io/lowered"] == "families=turing (namespace team-a)"
    assert "patch" not in answered(after)
    assert "patchType" not in answered(after)


def test_a_pod_is_warned_when_it_is_mutated_and_not_again() -> None:
    """By the time it is validated it carries gpusched's own affinity, of which it would be told instead."""
    template = deployment(1)
    template["spec"]["template"]["spec"] = pod(gpus=1, resource="nvidia.com/gpus")["spec"]
    asking = pod(gpus=1, resource="nvidia.com/gpus")
    assert len(answered(asking)["warnings"]) == len(answered(template, mutating=False)["warnings"]) == 1
    assert "warnings" not in answered(asking, mutating=False)


def test_a_validating_webhook_never_patches() -> None:
    response = answered(pod(), mutating=False)
    assert response["allowed"]
    assert not {"patch", "patchType"} & response.keys()


def test_every_refusal_is_a_line_of_the_message() -> None:
    tree = pod(gpus=3, annotations={"gpusched.io/families": "hopper"})
    for mutating in (True, False):
        response = answered(tree, mutating=mutating)
        assert not {"patch", "patchType"} & response.keys()
        assert not response["allowed"]
        assert response["status"] == {
            "code": 403,
            "reason": "Forbidden",
            "message": "gpu-policy-family: pod asks for hopper; namespace team-a allows turing. "
            "Set gpusched.io/families to one of these.\n"
            "gpu-policy-max-gpus: pod asks 3 GPUs; team-a allows 2 per pod. Ask for 2.",
        }


def test_users_text_adds_no_lines() -> None:
    tree = pod("p", "team-a", container("a\nb", gpus="0.5"), annotations={"status.gpusched.io/x\ny": "1"})
    message = answered(tree)["status"]["message"]
    assert len(message.splitlines()) == 1
    forged = pod(annotations={"status.gpusched.io/x\ny": "1"})
    warnings = answered(forged)["warnings"]
    assert "status.gpusched.io/x y" in warnings[-1]
    assert [len(warning.splitlines()) for warning in warnings] == [1] * len(warnings)


def test_audit_keys_of_several_templates_are_joined() -> None:
    def job(name: str, family: str) -> Tree:
        spec = {"metadata": {"annotations": {"gpusched.io/families": family}}, "spec": pod()["spec"]}
        return {"name": name, "template": {"spec": {"template": spec}}}

    jobs = [job("a", "hopper"), job("b", "ampere"), job("c", "hopper")]
    tree = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "spec": {"replicatedJobs": jobs}}
    audit = answered(tree, namespace="team-s")["auditAnnotations"]
    asked = "pod asks for {}; namespace team-s allows turing. Set gpusched.io/families to one of these."
    assert audit["gpu-policy-family"] == f"{asked.format('hopper')}; {asked.format('ampere')}"


@pytest.mark.parametrize(
    ("tree", "request_parts"),
    [
        (None, {"operation": "DELETE", "oldObject": pod(gpus=9)}),
        (None, {}),
        ([], {}),
        (pod(gpus=9), {"operation": "UPDATE", "oldObject": pod(gpus=9)}),
        (pod(gpus=9), {"operation": "CONNECT"}),
        (pod(gpus=9), {"subResource": "resize", "operation": "UPDATE"}),
        (pod(gpus=9, annotations={"kubernetes.io/config.mirror": "x"}), {}),
        (pod(namespace="kube-system", gpus=9), {"namespace": "kube-system"}),
        (pod(gpus=None), {}),
        (pod(gpus=0), {}),
        (deployment(1), {"subResource": "status"}),
        (deployment(9), {"operation": "UPDATE", "oldObject": deployment(9)}),
        (namespace(families="nothing"), {"subResource": "finalize", "operation": "UPDATE"}),
        (namespace(families="nothing"), {"operation": "UPDATE", "oldObject": namespace(families="nothing")}),
        ({"apiVersion": "v1", "kind": "Deployment", "spec": {"template": {"spec": pod(gpus=9)["spec"]}}}, {}),
    ],
)
def test_what_is_none_of_its_business_is_allowed_in_silence(tree: object, request_parts: Tree) -> None:
    assert answered(tree, **request_parts) == {"allowed": True}


@pytest.mark.parametrize(
    ("tree", "request_parts", "code"),
    [
        (deployment(9), {}, "gpu-policy-max-gpus"),
        (deployment(9), {"operation": "UPDATE", "oldObject": deployment(1)}, "gpu-policy-max-gpus"),
        (namespace(families="nothing"), {}, "policy-malformed"),
        (
            namespace(families="nothing"),
            {"operation": "UPDATE", "oldObject": namespace(families="nobody")},
            "policy-malformed",
        ),
    ],
)
def test_workloads_and_namespaces_are_judged(tree: Tree, request_parts: Tree, code: str) -> None:
    response = answered(tree, mutating=False, **request_parts)
    assert (response["allowed"], response["status"]["code"]) == (False, 403)
    assert response["status"]["message"].startswith(f"{code}: ")


def test_the_namespace_is_the_requests_where_the_object_names_none() -> None:
    tree = pod(gpus=3)
    del tree["metadata"]["namespace"]
    assert not answered(tree, namespace="team-a")["allowed"]
    assert answered(tree, namespace="kube-system") == {"allowed": True}


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "not an AdmissionReview: Input data was truncated"),
        (b"null", "not an AdmissionReview: Expected `object`, got `null`"),
        (b"[" * 9999, "not an AdmissionReview: "),
        (b"\xff", "not an AdmissionReview: "),
        (b"{}", "expected admission.k8s.io/v1 AdmissionReview, got  "),
        (
            b'{"apiVersion": "admission.k8s.io/v1beta1", "kind": "AdmissionReview"}',
            "expected admission.k8s.io/v1 AdmissionReview, got admission.k8s.io/v1beta1 AdmissionReview",
        ),
        (
            b'{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}',
            "the AdmissionReview has no request with a uid",
        ),
        (review(pod(), uid=""), "the AdmissionReview has no request with a uid"),
        (review(pod(), uid=7), "not an AdmissionReview: Expected `str`, got `int` - at `$.request.uid`"),
        (review(pod(), operation=None), "not an AdmissionReview: Expected `str`, got `null`"),
    ],
)
def test_a_malformed_review_is_an_error(body: bytes, message: str) -> None:
    with pytest.raises(MalformedReviewError) as caught:
        answer_review(body, cluster())
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("dry_run", [True, False])
def test_a_dry_run_is_told_as_one(dry_run: bool) -> None:
    told: list[Decision] = []
    answer_review(review(pod(gpus="500m"), dryRun=dry_run), cluster(), mutating=True, observe=told.append)

    assert [(decision.code, decision.dry_run) for decision in told] == [("gpu-quantity", dry_run)]


@pytest.mark.parametrize(
    ("kind", "name", "labels", "workload"),
    [
        ("ReplicaSet", "web-676cc85576", {"pod-template-hash": "676cc85576"}, "Deployment/web"),
        ("ReplicaSet", "web-676cc85576", {}, "ReplicaSet/web-676cc85576"),
        ("Job", "nightly2-29934621", {}, "CronJob/nightly2"),
        ("Job", "train", {}, "Job/train"),
    ],
)
def test_a_decision_names_the_workload(kind: str, name: str, labels: dict[str, str], workload: str) -> None:
    tree = pod(gpus="500m", labels=labels)
    owner = {"apiVersion": "x/v1", "kind": kind, "name": name, "uid": "u", "controller": True}
    tree["metadata"]["ownerReferences"] = [owner | {"name": "nobody", "controller": False}, owner]
    told: list[Decision] = []
    answer_review(review(tree), cluster(), observe=told.append)
    whole = deployment(1)
    whole["metadata"] |= {"ownerReferences": [owner], "labels": labels}
    answer_review(review(whole), cluster(), observe=told.append)

    assert [decision.workload for decision in told] == [workload, workload]
