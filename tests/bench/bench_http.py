"""Filter calls and admission reviews over HTTP, against the same server that gives back what it was sent.

Run: python -m tests.bench.bench_http. Calls alternate, so that what else the machine does meets all of them. `first` is
a pod never asked about before; `again` the same bytes once more, as kube-scheduler sends them. The echo of filter calls
decodes them; that of reviews does not even do that. The exit status is 1 when a bound does not hold.
"""

import io
import json
import sys
import time
from collections.abc import Iterator, Sequence

import msgspec
from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import Response

from gpusched.obs.decisions import DecisionLog
from gpusched.obs.logging import configure
from gpusched.obs.metrics import Metrics
from gpusched.serve import extender_app
from gpusched.serve.extender_answers import extender_answers
from gpusched.serve.overtaken import Overtaken
from gpusched.state.cluster import Cluster
from gpusched.wire.extender import ExtenderArgs
from tests.bench.fleet import NODES, occupied
from tests.bench.http import Client, medians, served
from tests.bench.table import Row, show
from tests.build import Tree, pod
from webhook import app as webhook_app
from webhook.body import Rejected, read_json_body
from webhook.edge import Edge, add_post, bare_application, json_response
from webhook.memo import Memo
from webhook.review import Judged, answer_review

ROUNDS = 100
REVIEWS = 600
FILTER_BOUND, REVIEW_BOUND = 2.0, 0.7
POLICY = {"families": "hopper, ampere, turing", "min_cuda_version": "12.2"}
#: Policy of the namespace and GPUs asked for.
FILTERS: dict[str, tuple[dict[str, str], int]] = {
    "policy": (POLICY, 1),
    "node-selector": (POLICY | {"node_selector": "kubernetes.io/os=linux"}, 1),
    "all refused": (POLICY, 16),
}


def asked(number: int, gpus: int = 1) -> Tree:
    """A pod as the API server has it, with what it adds to it."""
    tree = pod(f"train-{number}", gpus=gpus, labels={"app": "train"}, annotations={"gpusched.io/gpu-memory": "2Gi"})
    tree["metadata"] |= {
        "uid": f"8c5c6fbe-1b0f-4d64-b7c4-{number:012d}",
        "creationTimestamp": "2026-01-01T09:00:00Z",
        "ownerReferences": [{"apiVersion": "batch/v1", "kind": "Job", "name": "train", "uid": "1", "controller": True}],
        "managedFields": [
            {
                "manager": "kube-controller-manager",
                "operation": "Update",
                "fieldsV1": {f"f:field-{place}": {".": {}, f"f:part-{place}": {}} for place in range(40)},
            }
        ],
    }
    tree["spec"] |= {
        "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}],
        "volumes": [{"name": "token", "projected": {"sources": [{"serviceAccountToken": {"path": "token"}}]}}],
        "priority": 0,
        "schedulerName": "default-scheduler",
    }
    tree["status"] = {"phase": "Pending", "qosClass": "BestEffort"}
    return tree


def call(number: int, gpus: int, names: Sequence[str]) -> bytes:
    """The body of a filter call."""
    return json.dumps({"Pod": asked(number, gpus), "Nodes": None, "NodeNames": names}, separators=(",", ":")).encode()


def review(number: int, *, again: bool) -> bytes:
    """A review of a pod of a Job; pods that come again differ in the uid of the request alone."""
    tree = asked(0 if again else number)
    del tree["status"], tree["metadata"]["uid"]
    tree["metadata"]["generateName"] = tree["metadata"].pop("name")
    request = {
        "uid": f"705ab4f5-6393-11e8-b7cc-{number:012d}",
        "kind": {"group": "", "version": "v1", "kind": "Pod"},
        "resource": {"group": "", "version": "v1", "resource": "pods"},
        "namespace": "team-a",
        "operation": "CREATE",
        "userInfo": {"username": "system:serviceaccount:kube-system:job-controller", "groups": ["a", "b"]},
        "object": tree,
        "oldObject": None,
        "dryRun": False,
        "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"},
    }
    envelope = {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request}
    return json.dumps(envelope, separators=(",", ":")).encode()


async def _unbound(_: bytes) -> bytes:
    return b'{"Error":""}'


def applications(cluster: Cluster) -> dict[str, FastAPI]:
    """gpusched's two applications on this state, with logs and metrics, and the two echoes."""
    metrics = Metrics()
    decisions = DecisionLog(configure(stream=io.StringIO()), metrics, time.monotonic)
    edge, memo = Edge(time.monotonic, record=metrics.record_request), Memo[Judged]()
    answers = extender_answers(cluster, decisions, Overtaken(lambda _: None, time.monotonic), _unbound)
    mutate = decisions.watched(
        lambda body, observe: answer_review(body, cluster, mutating=True, observe=observe, memo=memo)
    )
    return {
        "extender": extender_app.create_app(answers, edge, lambda: False),
        "webhook": webhook_app.create_app(mutate, mutate, edge),
        "filter echo": _filter_echo(),
        "review echo": _review_echo(),
    }


def _filter_echo() -> FastAPI:
    decode = msgspec.json.Decoder(ExtenderArgs).decode

    async def echo(request: Request) -> Response:
        body = await read_json_body(request, extender_app.LIMITS)
        assert not isinstance(body, Rejected)
        decode(body)
        return json_response(body)

    app = bare_application()
    add_post(app, "/", Edge(time.monotonic), echo)
    return app


def _review_echo() -> FastAPI:
    async def echo(request: Request) -> Response:
        return Response(await request.body(), media_type="application/json")

    app = bare_application()
    app.router.add_route("/", echo, methods=["POST"])
    return app


def filter_rows() -> Iterator[Row]:
    """Each case of filter calls, as multiples of the echo."""
    for name, (policy, gpus) in FILTERS.items():
        cluster = occupied(policy)
        names = list(cluster.nodes)
        with served(applications(cluster)) as ports:
            echo, extender = Client(ports["filter echo"], "/"), Client(ports["extender"], "/filter")
            bodies = [call(number, gpus, names) for number in range(ROUNDS)]
            plain, first, again = medians(
                (echo.seconds(body), extender.seconds(body), extender.seconds(body)) for body in bodies
            )
        note = f"echo {plain * 1e3:.2f} ms"
        yield Row(f"filter over HTTP, {NODES} names, {name}: first / echo", first / plain, FILTER_BOUND, note=note)
        yield Row(f"filter over HTTP, {NODES} names, {name}: again / echo", again / plain, FILTER_BOUND, note=note)


def review_rows() -> Iterator[Row]:
    """Reviews, as parts of the rate of the echo."""
    cluster = occupied(POLICY, 1000)
    for name, same in (("first", False), ("again", True)):
        bodies = [review(number, again=same) for number in range(REVIEWS)]
        with served(applications(cluster)) as ports:
            echo, webhook = Client(ports["review echo"], "/"), Client(ports["webhook"], "/mutate")
            plain, answered = medians((echo.seconds(body), webhook.seconds(body)) for body in bodies)
        note = f"echo {plain * 1e6:.0f} us"
        yield Row(f"reviews over HTTP, {name}: rate / echo", plain / answered, REVIEW_BOUND, floor=True, note=note)


def rows() -> Iterator[Row]:
    """All of them."""
    yield from filter_rows()
    yield from review_rows()


if __name__ == "__main__":
    sys.exit(show(rows()))
