"""Filter calls and admission reviews over HTTP, against the same server that gives back what it was sent.

Run: python -m tests.bench.bench_http [filter] [review]. Calls alternate, so that what else the machine does meets all
of them. `first` is a filter call of a pod never asked about before; `again` the same bytes once more, as kube-scheduler
sends them. No two reviews are of the same pod: pods of one template differ in their names and numbers alone, as those
of one controller do; those of templates of their own in containers and amounts as well, but ask for the same GPUs: both
are judged once. Pods that each ask for something else are judged each, which has no bound. The echo of
filter calls decodes them; that of reviews does not even do that. The exit status is 1 when a bound does not hold.
"""

import io
import json
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Final

import msgspec
from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import Response

from gpusched.core.cluster_facts import RuntimeClass
from gpusched.obs.decisions import DecisionLog
from gpusched.obs.logging import configure
from gpusched.obs.metrics import Metrics
from gpusched.serve import extender_app
from gpusched.serve.extender_answers import extender_answers
from gpusched.serve.overtaken import Overtaken
from gpusched.state.cluster import Cluster
from gpusched.state.events import Upsert
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


def review(number: int, *, alike: bool = True, tolerated: str = "example.com/none") -> bytes:
    """A review of a pod of an indexed Job, which differs from its like in what controller and API server number; or of
    a pod whose labels, containers, amounts and variables are its own as well.
    """
    tree = asked(number)
    del tree["status"], tree["metadata"]["uid"], tree["metadata"]["name"]
    tree["metadata"]["generateName"] = f"train-{number}-"
    tree["metadata"]["labels"]["batch.kubernetes.io/job-completion-index"] = str(number)
    tree["metadata"]["managedFields"][0]["time"] = f"2026-01-01T09:{number // 60 % 60:02d}:{number % 60:02d}Z"
    tree["spec"]["hostname"] = f"train-{number}"
    tree["spec"]["volumes"][0]["name"] = f"kube-api-access-{number}"
    tree["spec"]["tolerations"].append({"key": tolerated, "operator": "Exists"})
    if not alike:
        tree["metadata"]["labels"][f"example.com/app-{number}"] = "train"
        container = tree["spec"]["containers"][0]
        container["name"] = f"trainer-{number}"
        container["resources"]["limits"] |= {"cpu": f"{number + 1}m", "memory": f"{number + 1}Mi"}
        container["env"] = [{"name": "RANK", "value": str(number)}]
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
    cluster.apply(Upsert(RuntimeClass("nvidia")))
    numbers = range(REVIEWS)
    for name, bodies, bound in (
        ("pods of one template", [review(number) for number in numbers], REVIEW_BOUND),
        ("each of a template of its own", [review(number, alike=False) for number in numbers], REVIEW_BOUND),
        (
            "each asks for something else",
            [review(number, alike=False, tolerated=f"example.com/{number}") for number in numbers],
            None,
        ),
    ):
        with served(applications(cluster)) as ports:
            echo, webhook = Client(ports["review echo"], "/"), Client(ports["webhook"], "/mutate")
            plain, answered = medians((echo.seconds(body), webhook.seconds(body)) for body in bodies)
        note = f"echo {plain * 1e6:.0f} us"
        yield Row(f"reviews over HTTP, {name}: rate / echo", plain / answered, bound, floor=True, note=note)


_KINDS: Final = {"filter": filter_rows, "review": review_rows}


def rows(*kinds: str) -> Iterator[Row]:
    """Those of these kinds, or of all."""
    for kind in kinds or _KINDS:
        yield from _KINDS[kind]()


if __name__ == "__main__":
    sys.exit(show(rows(*sys.argv[1:])))
