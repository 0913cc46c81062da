"""Every metric of the service, named once, in a registry of its own."""

from collections.abc import Callable
from typing import Final

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.exposition import CONTENT_TYPE_LATEST

CONTENT_TYPE: Final = CONTENT_TYPE_LATEST
#: Seconds. kube-scheduler gives an extender one second by the stanza gpusched prints, the API server a webhook three.
_REQUEST_BUCKETS: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 3.0)
_LAG_BUCKETS: Final = (0.001, 0.0025, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 1.0)


class Metrics:
    """The metrics. Label values are codes, kinds, endpoints and namespaces with GPU pods, so there are not many."""

    def __init__(self) -> None:
        # A second series for each counter, which says when it was made and which nobody asks for.
        disable_created_metrics()
        self.registry = registry = CollectorRegistry()
        self.requests = Counter(
            "gpusched_requests", "HTTP requests by endpoint and status.", ["endpoint", "code"], registry=registry
        )
        # Looking a series up by its labels costs more than counting in it.
        self._request_series: dict[tuple[str, int], tuple[Counter, Histogram]] = {}
        self._decision_series: dict[tuple[str, str], Counter] = {}
        self._refusal_series: dict[tuple[str, str, str], Counter] = {}
        self.request_seconds = Histogram(
            "gpusched_request_seconds",
            "Time from the head of a request to its answer.",
            ["endpoint"],
            buckets=_REQUEST_BUCKETS,
            registry=registry,
        )
        self.decisions = Counter(
            "gpusched_decisions", "Decisions by verb and code.", ["verb", "code"], registry=registry
        )
        self.admission_refusals = Counter(
            "gpusched_admission_refusals",
            "What admission objected to; the mode says whether it refused, warned or only noted it.",
            ["namespace", "code", "mode"],
            registry=registry,
        )
        self.cache_age = Gauge(
            "gpusched_cache_age_seconds",
            "Time since the API server was last heard of, by kind of object.",
            ["kind"],
            registry=registry,
        )
        self.synced = Gauge(
            "gpusched_synced", "1 when all objects of this kind have been listed.", ["kind"], registry=registry
        )
        self.leader = Gauge(
            "gpusched_leader",
            "1 on the replica that leads, 0 on others; absent where the webhook alone is served.",
            registry=registry,
        )
        self.loop_lag = Histogram(
            "gpusched_event_loop_lag_seconds",
            "How much later than asked the event loop woke up.",
            buckets=_LAG_BUCKETS,
            registry=registry,
        )
        self.bound_elsewhere = Counter(
            "gpusched_pods_bound_elsewhere", "GPU pods seen bound by somebody else than gpusched.", registry=registry
        )
        self.reservations = Gauge(
            "gpusched_reservations", "Binds whose outcome has not been seen yet.", registry=registry
        )
        self.bind_outcomes = Counter(
            "gpusched_bind_outcomes", "Answers of the API server to bindings.", ["outcome"], registry=registry
        )
        self.labels_patched = Counter("gpusched_node_label_patches", "Nodes labelled.", ["result"], registry=registry)
        self.gates_lifted = Counter("gpusched_quota_gates_lifted", "Quota gates lifted.", ["result"], registry=registry)
        self.events_dropped = Counter(
            "gpusched_events_dropped", "Events not written: too many at once, or refused.", registry=registry
        )
        self.pods_woken = Counter("gpusched_pods_woken", "Pending pods woken.", ["result"], registry=registry)
        self.config_valid = Gauge(
            "gpusched_config_valid",
            "0 while the configuration file has errors and an older one is used.",
            registry=registry,
        )
        self.config_valid.set(1)
        self.certificate_expiry = Gauge(
            "gpusched_certificate_not_after_seconds",
            "When the serving certificate ends, in seconds since 1970.",
            ["server"],
            registry=registry,
        )
        self.authority_expiry = Gauge(
            "gpusched_certificate_authority_not_after_seconds",
            "When the authority of the serving certificate ends, in seconds since 1970.",
            ["server"],
            registry=registry,
        )
        self.rotation_phase = Gauge(
            "gpusched_certificate_rotation_phase",
            "1 for the phase of the rotation of authorities: stable, announcing, overlapping.",
            ["server", "phase"],
            registry=registry,
        )
        self.bundle_mismatches = Gauge(
            "gpusched_webhook_bundle_mismatches",
            "Webhooks whose caBundle does not verify gpusched's certificate, as the leader sees them.",
            registry=registry,
        )
        self.clock_ahead = Gauge(
            "gpusched_clock_ahead_seconds", "How far this clock is ahead of the API server's.", registry=registry
        )
        self.failures = Counter(
            "gpusched_internal_failures",
            "Requests and tasks that failed by a fault of gpusched.",
            ["where"],
            registry=registry,
        )

    def record_request(self, endpoint: str, status: int, seconds: float) -> None:
        """Count one request."""
        counter, histogram = self._of_request(endpoint, status)
        counter.inc()
        histogram.observe(seconds)

    def record_decision(self, verb: str, code: str) -> None:
        """Count one decision."""
        counter = self._decision_series.get((verb, code))
        if counter is None:
            counter = self._decision_series[verb, code] = self.decisions.labels(verb, code)
        counter.inc()

    def record_finding(self, namespace: str, code: str, mode: str) -> None:
        """Count one thing that admission objected to."""
        counter = self._refusal_series.get((namespace, code, mode))
        if counter is None:
            counter = self.admission_refusals.labels(namespace, code, mode)
            self._refusal_series[namespace, code, mode] = counter
        counter.inc()

    def _of_request(self, endpoint: str, status: int) -> tuple[Counter, Histogram]:
        found = self._request_series.get((endpoint, status))
        if found is None:
            found = self.requests.labels(endpoint, str(status)), self.request_seconds.labels(endpoint)
            self._request_series[endpoint, status] = found
        return found

    def watch_kind(self, kind: str, *, age: Callable[[], float], synced: Callable[[], bool]) -> None:
        """Ask for age and sync of a kind whenever the metrics are read."""
        self.cache_age.labels(kind).set_function(age)
        self.synced.labels(kind).set_function(lambda: float(synced()))

    def forget_namespace(self, name: str) -> None:
        """Drop the series of a Namespace that is gone: where they come and go, their names would fill the memory."""
        self.admission_refusals.remove_by_labels({"namespace": name})
        self._refusal_series = {key: series for key, series in self._refusal_series.items() if key[0] != name}

    def render(self) -> bytes:
        """The metrics in Prometheus' text format."""
        return generate_latest(self.registry)
