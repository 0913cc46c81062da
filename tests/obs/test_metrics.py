"""The names of metrics are part of the product."""

import re

from gpusched.obs.metrics import Metrics

NAMES = {
    "gpusched_requests_total",
    "gpusched_request_seconds",
    "gpusched_decisions_total",
    "gpusched_admission_refusals_total",
    "gpusched_cache_age_seconds",
    "gpusched_synced",
    "gpusched_leader",
    "gpusched_event_loop_lag_seconds",
    "gpusched_pods_bound_elsewhere_total",
    "gpusched_reservations",
    "gpusched_bind_outcomes_total",
    "gpusched_node_label_patches_total",
    "gpusched_quota_gates_lifted_total",
    "gpusched_events_dropped_total",
    "gpusched_pods_woken_total",
    "gpusched_config_valid",
    "gpusched_certificate_not_after_seconds",
    "gpusched_certificate_authority_not_after_seconds",
    "gpusched_certificate_rotation_phase",
    "gpusched_webhook_bundle_mismatches",
    "gpusched_clock_ahead_seconds",
    "gpusched_internal_failures_total",
}


def test_every_metric_has_its_name_and_help() -> None:
    text = Metrics().render().decode()

    assert set(re.findall(r"^# TYPE (gpusched_\w+) ", text, re.MULTILINE)) == NAMES
    assert all(line.endswith(".") for line in text.splitlines() if line.startswith("# HELP"))


def test_requests_are_counted_and_timed() -> None:
    metrics = Metrics()
    for status in (200, 200, 413):
        metrics.record_request("/mutate", status, 0.002)

    def value(name: str, **labels: str) -> float | None:
        return metrics.registry.get_sample_value(name, {"endpoint": "/mutate"} | labels)

    assert (value("gpusched_requests_total", code="200"), value("gpusched_requests_total", code="413")) == (2, 1)
    assert value("gpusched_request_seconds_count") == 3
    assert value("gpusched_request_seconds_bucket", le="0.0025") == 3


def test_kinds_are_asked_when_metrics_are_read() -> None:
    metrics, age, synced = Metrics(), 1.0, False
    metrics.watch_kind("Node", age=lambda: age, synced=lambda: synced)
    age, synced = 7.5, True

    assert metrics.registry.get_sample_value("gpusched_cache_age_seconds", {"kind": "Node"}) == 7.5
    assert metrics.registry.get_sample_value("gpusched_synced", {"kind": "Node"}) == 1


def test_two_services_do_not_share_metrics() -> None:
    one, other = Metrics(), Metrics()
    one.leader.set(1)

    assert other.registry.get_sample_value("gpusched_leader") == 0


def test_a_namespace_that_comes_again_is_counted_anew() -> None:
    metrics, series = Metrics(), {"namespace": "team-a", "code": "gpu-claim", "mode": "warn"}
    counted = []
    for forget in (False, True, False):
        if forget:
            metrics.forget_namespace("team-a")
        metrics.record_finding(*series.values())
        counted.append(metrics.registry.get_sample_value("gpusched_admission_refusals_total", series))

    assert counted == [1, 1, 2]
