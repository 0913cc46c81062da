"""The webhook over HTTP: reviews are answered, everything else gets a clear 4xx, nothing hangs."""

import base64
import time

import msgspec
import pytest
from starlette.testclient import TestClient

from gpusched.wire.decision import Decision
from tests.build import namespace, t4_node
from tests.webhook.watched import POD, TAINTED, Watched, quoted, review
from webhook.app import create_app
from webhook.edge import Edge


def test_mutate_patches() -> None:
    watched = Watched(TAINTED)

    answer = watched.client.post("/mutate?timeout=3s", json=review(POD))

    response = answer.json()["response"]
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/json")
    assert (response["uid"], response["allowed"], response["patchType"]) == ("1-2-3", True, "JSONPatch")
    assert "/spec/tolerations" in {op["path"] for op in msgspec.json.decode(base64.b64decode(response["patch"]))}
    assert watched.records == [("/mutate", 200)]


def test_validate_never_patches() -> None:
    response = Watched(TAINTED).client.post("/validate", json=review(POD)).json()["response"]

    assert response["allowed"] is True
    assert not {"patch", "patchType"} & response.keys()


@pytest.mark.parametrize("path", ["/mutate", "/validate"])
def test_a_refused_pod_is_a_200_that_says_so(path: str) -> None:
    watched = Watched(t4_node(), namespace(families="hopper"))

    answer = watched.client.post(path, json=review(POD))

    response = answer.json()["response"]
    assert (answer.status_code, response["allowed"]) == (200, False)
    assert (response["status"]["code"], response["status"]["reason"]) == (403, "Forbidden")
    assert response["status"]["message"].startswith("gpu-policy-family: ")
    assert watched.decisions == [
        Decision(
            path[1:],
            "team-a",
            "p",
            code="gpu-policy-family",
            findings=(("gpu-policy-family", "enforce"), ("gpu-no-node", "warn")),
            message=response["status"]["message"].removeprefix("gpu-policy-family: "),
        )
    ]


def test_content_types_of_json_are_taken() -> None:
    answer = Watched().client.post(
        "/mutate", content=quoted(POD), headers={"content-type": "Application/JSON; charset=utf-8"}
    )

    assert answer.status_code == 200


BAD_BODIES = [
    b"",
    b"null",
    b"{}",
    b"[]",
    b'"text"',
    b"{",
    b"\xff\xfe",
    b"\xef\xbb\xbf{}",
    b"[" * 100_000,
    b'{"a":' * 50_000,
    b'{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1"}',
    b'{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":null}',
    b'{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{}}',
    b'{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":null}}',
    b'{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":""}}',
    b'{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":[]}',
    b'{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1beta1","request":{"uid":"1"}}',
    b'{"kind":"Pod","apiVersion":"v1","request":{"uid":"1"}}',
    b'{"kind":1,"apiVersion":null,"request":{"uid":"1"}}',
]


@pytest.mark.parametrize("body", BAD_BODIES, ids=range(len(BAD_BODIES)))
@pytest.mark.parametrize("path", ["/mutate", "/validate"])
def test_what_is_no_review_is_a_400(path: str, body: bytes) -> None:
    watched = Watched()

    answer = watched.client.post(path, content=body, headers={"content-type": "application/json"})

    assert (answer.status_code, watched.failures) == (400, [])
    assert answer.text.endswith("\n")


ODD_OBJECTS: list[object] = [
    None,
    [],
    "pod",
    {},
    {"kind": "Pod", "metadata": None, "spec": None},
    {"kind": "Pod", "metadata": [], "spec": "x"},
    {"kind": "Pod", "spec": {"containers": None}},
    {"kind": "Pod", "spec": {"containers": [None, 1, {"resources": {"limits": {"nvidia.com/gpu": [1]}}}]}},
    {"kind": "Pod", "metadata": {"annotations": {"gpusched.io/families": None}}, "spec": {"tolerations": {}}},
    {"kind": "Pod", "spec": {"containers": [{"resources": {"limits": {"nvidia.com/gpu": 1e400}}}]}},
    {"kind": "Pod", "spec": {"containers": [{"resources": {"limits": {"nvidia.com/gpu": 10**400}}}]}},
]


@pytest.mark.parametrize("tree", ODD_OBJECTS, ids=range(len(ODD_OBJECTS)))
@pytest.mark.parametrize("kind", ["Pod", "Namespace", "Deployment", "CronJob", ""])
@pytest.mark.parametrize("path", ["/mutate", "/validate"])
def test_odd_objects_are_answered(path: str, kind: str, tree: object) -> None:
    watched = Watched(t4_node(), namespace(families="turing"))
    group = {"Deployment": "apps", "CronJob": "batch"}.get(kind, "")
    asked = review({"kind": kind}, kind={"group": group, "version": "v1", "kind": kind}, object=tree)
    body = msgspec.json.encode(asked)

    answer = watched.client.post(path, content=body, headers={"content-type": "application/json"})

    assert (answer.status_code, watched.failures) == (200, [])
    assert answer.json()["response"]["uid"] == "1-2-3"


@pytest.mark.parametrize("content_type", ["text/plain", "application/x-www-form-urlencoded", "application/yaml", ""])
def test_other_content_types_are_a_415(content_type: str) -> None:
    answer = Watched().client.post("/mutate", content=quoted(POD), headers={"content-type": content_type})

    assert answer.status_code == 415
    assert "application/json" in answer.text


def test_compressed_bodies_are_a_415() -> None:
    answer = Watched().client.post(
        "/mutate", content=b"x", headers={"content-type": "application/json", "content-encoding": "gzip"}
    )

    assert (answer.status_code, answer.text) == (
        415,
        "Content-Encoding gzip is not understood; send the body as it is\n",
    )


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/mutate", 405),
        ("PUT", "/validate", 405),
        ("POST", "/mutate/", 404),
        ("POST", "/", 404),
        ("GET", "/docs", 404),
        ("GET", "/openapi.json", 404),
    ],
)
def test_other_routes(method: str, path: str, status: int) -> None:
    assert Watched().client.request(method, path, follow_redirects=False).status_code == status


def test_nothing_is_judged_before_the_cache_is_synced() -> None:
    watched = Watched(closed=lambda: "cache is not synced yet, waiting for Node")

    answer = watched.client.post("/mutate", json=review(POD))

    assert (answer.status_code, answer.text) == (503, "cache is not synced yet, waiting for Node\n")
    assert watched.decisions == []


def test_a_fault_of_our_own_is_told_and_leaves_it_to_the_failure_policy() -> None:
    failures: list[str] = []

    def broken(_: bytes) -> bytes:
        raise ZeroDivisionError

    app = create_app(broken, broken, Edge(time.monotonic, failed=failures.append))
    answer = TestClient(app).post("/mutate", json={})

    assert (answer.status_code, failures) == (503, ["/mutate"])
