"""Health, readiness and metrics."""

from starlette.testclient import TestClient

from gpusched.obs.metrics import Metrics
from gpusched.serve.admin_app import Readiness, create_app


def test_readiness_says_why() -> None:
    closed: str | None = "cache is not synced yet, waiting for Node"
    readiness = Readiness(lambda: closed, lambda: ["Node: not synced, 3 s old"])
    client = TestClient(create_app(readiness, Metrics()))

    answer = client.get("/readyz")
    assert (answer.status_code, answer.text) == (
        503,
        "not ready: cache is not synced yet, waiting for Node\nNode: not synced, 3 s old\n",
    )
    assert client.get("/healthz").status_code == 200

    closed = None
    assert (client.get("/readyz").status_code, client.get("/readyz").text.splitlines()[0]) == (200, "ready")

    readiness.draining = True
    assert client.get("/readyz").status_code == 503


def test_metrics_are_prometheus_text() -> None:
    metrics = Metrics()
    metrics.record_request("/filter", 200, 0.01)

    answer = TestClient(create_app(Readiness(lambda: None, list), metrics)).get("/metrics")

    assert answer.headers["content-type"].startswith("text/plain; version=")
    assert 'gpusched_requests_total{code="200",endpoint="/filter"} 1.0' in answer.text
    assert "gpusched_leader 0.0" in answer.text


def test_nothing_else_is_there() -> None:
    client = TestClient(create_app(Readiness(lambda: None, list), Metrics()))

    assert [client.get(path).status_code for path in ("/", "/docs", "/metrics/")] == [404, 404, 404]
    assert client.post("/metrics").status_code == 405
