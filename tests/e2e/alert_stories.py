"""What makes each alert fire and what only looks like it, as series that Prometheus would have read once a minute."""

from typing import NamedTuple

#: The whole time that is played, in minutes: twice the longest `for` of an alert.
LENGTH = 240


class Story(NamedTuple):
    """Values are in promtool's notation. `after` is the minute in which the alert fires, and not one before."""

    alert: str
    series: dict[str, str]
    after: int
    labels: dict[str, str]
    summary: str


def pool(metric: str, value: object, *, node: str = "a") -> dict[str, str]:
    """The same of a node in two replicas, of which one was restarted."""
    labels = f'node="{node}",resource="nvidia.com/gpu",family="turing"'
    return {
        f'gpusched_pool_{metric}{{{labels},pod="one"}}': f"{value}x240",
        f'gpusched_pool_{metric}{{{labels},pod="two"}}': f"{value}x5 stale _x3 {value}x240",
    }


def latency(metric: str, label: str, *, slow: int) -> dict[str, str]:
    """A hundred observations a minute, so many of them between half a second and one second."""
    return {
        f'{metric}_bucket{{{label},le="{limit}"}}': f"0+{count}x240"
        for limit, count in (("0.05", 100 - slow), ("0.5", 100 - slow), ("1.0", 100), ("+Inf", 100))
    }


STORIES = (
    Story("GPUSchedAbsent", {}, 5, {}, "No replica of gpusched has read the cluster."),
    Story(
        "GPUSchedAbsent",
        {
            'gpusched_synced{kind="Node",pod="one"}': "1x240",
            'gpusched_synced{kind="Pod",pod="one"}': "0x240",
            'gpusched_synced{kind="Node",pod="two"}': "0x240",
            'gpusched_synced{kind="Pod",pod="two"}': "1x240",
        },
        5,
        {},
        "No replica of gpusched has read the cluster.",
    ),
    Story(
        "GPUSchedNoLeader",
        {'gpusched_leader{pod="one"}': "1x9 0x240", 'gpusched_leader{pod="two"}': "0x240"},
        12,
        {},
        "No replica of gpusched leads.",
    ),
    Story(
        "GPUSchedCacheStale",
        {'gpusched_cache_age_seconds{kind="Node",pod="one"}': "0+60x240"},
        5,
        {"kind": "Node"},
        "gpusched has not heard of Node objects for 5m 0s.",
    ),
    Story(
        "GPUSchedConfigInvalid",
        {'gpusched_config_valid{pod="one"}': "1x240", 'gpusched_config_valid{pod="two"}': "0x240"},
        5,
        {},
        "The configuration of gpusched has errors; an older one is in force.",
    ),
    Story(
        "GPUSchedCertificateExpires",
        {'gpusched_certificate_not_after_seconds{server="webhook",pod="one"}': f"{7 * 86400 + 60}x240"},
        62,
        {"server": "webhook"},
        "The webhook certificate of gpusched ends in 6d 22h 59m 0s.",
    ),
    Story(
        "GPUSchedBundleMismatch",
        {
            'gpusched_webhook_bundle_mismatches{pod="one"}': "0x240",
            'gpusched_webhook_bundle_mismatches{pod="two"}': "0x9 2x240",
        },
        15,
        {},
        "The API server cannot verify gpusched's certificate at 2 of its webhooks.",
    ),
    Story(
        "GPUSchedFails",
        {'gpusched_internal_failures_total{where="/filter",pod="one"}': "_x10 1x240"},
        10,
        {"where": "/filter"},
        "gpusched failed at /filter by a fault of its own.",
    ),
    Story(
        "GPUSchedFails",
        {'gpusched_internal_failures_total{where="/filter",pod="one"}': "1x19 2x240"},
        20,
        {"where": "/filter"},
        "gpusched failed at /filter by a fault of its own.",
    ),
    Story(
        "GPUSchedSlow",
        latency("gpusched_request_seconds", 'endpoint="/filter",pod="one"', slow=2),
        11,
        {"endpoint": "/filter"},
        "One in a hundred /filter requests takes 750ms.",
    ),
    Story(
        "GPUSchedEventLoopLags",
        latency("gpusched_event_loop_lag_seconds", 'pod="one"', slow=2),
        11,
        {"pod": "one"},
        "Requests to gpusched wait 750ms for their turn.",
    ),
    Story(
        "GPUSchedBindsUnsettled",
        {'gpusched_reservations{pod="one"}': "0x20 1x240", 'gpusched_reservations{pod="two"}': "0x240"},
        30,
        {},
        "The outcome of bindings has been unknown for ten minutes.",
    ),
    Story(
        "GPUPodsBoundElsewhere",
        {'gpusched_pods_bound_elsewhere_total{pod="one"}': "0x9 1x240"},
        10,
        {},
        "GPU pods were bound round gpusched.",
    ),
    Story(
        "GPUPodsWaitLong",
        {f'gpusched_pods_waiting{{namespace="a",state="pending",pod="{pod}"}}': "2x240" for pod in ("one", "two")},
        60,
        {"namespace": "a"},
        "GPU pods of a have waited for an hour: 2.",
    ),
    Story(
        "GPUFamilyFull",
        pool("slots", 4) | pool("slots_used", 4) | pool("slots", 2, node="b") | pool("slots_used", 2, node="b"),
        30,
        {"family": "turing"},
        "All turing slots have been held for half an hour.",
    ),
    Story(
        "GPUQuotaUsedUp",
        {
            'gpusched_quota_slots{namespace="a",family="turing"}': "2x240",
            'gpusched_quota_slots_used{namespace="a",family="turing"}': "2x240",
            'gpusched_pods_waiting{namespace="a",state="quota"}': "1x240",
        },
        30,
        {"namespace": "a", "family": "turing"},
        "Pods of a wait because its turing quota is used up.",
    ),
    Story(
        "GPUsClosed",
        pool("slots", 4) | pool("available", 0) | pool("slots", 2, node="b") | pool("available", 1, node="b"),
        120,
        {"family": "turing"},
        "4 turing slots have been closed for two hours.",
    ),
    Story(
        "GPURefusalsRise",
        {'gpusched_admission_refusals_total{namespace="a",code="no-family",mode="enforce",pod="one"}': "_x60 1+2x180"},
        85,
        {"namespace": "a", "code": "no-family"},
        "no-family refused 51 objects of a in an hour.",
    ),
)

#: What is well, or soon was again. All of it is one service's, which may raise nothing in all the time.
HEALTHY = {
    'gpusched_synced{kind="Node",pod="one"}': "1x240",
    'gpusched_synced{kind="Pod",pod="one"}': "1x240",
    'gpusched_synced{kind="Pod",pod="two"}': "0x240",
    'gpusched_leader{pod="one"}': "1x30 0x240",
    'gpusched_leader{pod="two"}': "0x31 1x240",
    'gpusched_cache_age_seconds{kind="Pod",pod="one"}': "140x30 300 140x240",
    'gpusched_cache_age_seconds{kind="RuntimeClass",pod="one"}': "900x240",
    'gpusched_config_valid{pod="one"}': "1x30 0x4 1x240",
    'gpusched_certificate_not_after_seconds{server="webhook",pod="one"}': f"{30 * 86400}x240",
    'gpusched_webhook_bundle_mismatches{pod="one"}': "0x20 11x4 0x240",
    'gpusched_internal_failures_total{where="/filter",pod="one"}': "3x240",
    **latency("gpusched_request_seconds", 'endpoint="/filter",pod="one"', slow=0),
    **latency("gpusched_event_loop_lag_seconds", 'pod="one"', slow=0),
    'gpusched_reservations{pod="one"}': "5x4 0 5x4 0 5x4 0x240",
    'gpusched_pods_bound_elsewhere_total{pod="one"}': "4x240",
    'gpusched_pods_waiting{namespace="a",state="pending"}': "1x50 stale _x9 1x50 stale _x9 1x50",
    'gpusched_pods_waiting{namespace="a",state="gated"}': "1x240",
    'gpusched_pods_waiting{namespace="b",state="quota"}': "1x240",
    **pool("slots", 4),
    **pool("slots_used", 3),
    **pool("available", 1),
    'gpusched_quota_slots{namespace="a",family="turing"}': "2x240",
    'gpusched_quota_slots_used{namespace="a",family="turing"}': "2x240",
    'gpusched_quota_slots{namespace="b",family="turing"}': "2x240",
    'gpusched_quota_slots_used{namespace="b",family="turing"}': "1x240",
    'gpusched_admission_refusals_total{namespace="a",code="no-family",mode="warn",pod="one"}': "0+9x240",
    'gpusched_admission_refusals_total{namespace="b",code="no-family",mode="enforce",pod="one"}': "0+1x40 40x200",
}
