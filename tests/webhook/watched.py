"""The webhook's application on a small cluster, and the reviews sent to it."""

import time
from typing import Any

import msgspec
from fastapi import FastAPI
from starlette.testclient import TestClient

from gpusched.wire.decision import Decision
from tests.build import Tree, pod, t4_node
from tests.placement.scene import cluster_of
from webhook.app import create_app
from webhook.body import Limits
from webhook.edge import Edge
from webhook.review import answer_review

SMALL = Limits(size=1 << 20, seconds=0.2)


class Watched:
    """An application on a cluster, and what its edge was told."""

    def __init__(self, *trees: Tree, limits: Limits = SMALL, **edge: Any) -> None:
        cluster = cluster_of(*trees)
        self.records: list[tuple[str, int]] = []
        self.failures: list[str] = []
        self.decisions: list[Decision] = []
        self.app: FastAPI = create_app(
            lambda body: answer_review(body, cluster, mutating=True, observe=self.decisions.append),
            lambda body: answer_review(body, cluster, mutating=False, observe=self.decisions.append),
            Edge(
                time.monotonic,
                record=lambda path, status, _seconds: self.records.append((path, status)),
                failed=self.failures.append,
                **edge,
            ),
            limits,
        )

    @property
    def client(self) -> TestClient:
        return TestClient(self.app)


def review(tree: Tree, **request: object) -> dict[str, Any]:
    kind = {"group": "", "version": "v1", "kind": tree["kind"]}
    return {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {"uid": "1-2-3", "kind": kind, "operation": "CREATE", "object": tree, "namespace": "team-a"}
        | request,
    }


def quoted(tree: Tree) -> bytes:
    return msgspec.json.encode(review(tree))


POD = pod("p", annotations={"gpusched.io/families": "turing"})
TAINTED = t4_node(taints=[{"key": "nvidia.com/gpu", "effect": "NoSchedule"}])
