"""GPU pods that wait: for a node, for quota, or behind a gate of somebody else."""

from collections.abc import Callable, Mapping

import msgspec

from gpusched.core.names import QUOTA_GATE
from gpusched.core.pod import Pod
from gpusched.serve.access import Scope
from gpusched.serve.view_why import WhyView
from gpusched.state.cluster import Cluster
from gpusched.state.pods import PodRecord


class PodView(msgspec.Struct, frozen=True):
    """One pod that waits. `state` is pending, quota (behind gpusched's gate) or gated; `owner` such as `Job/train`.

    `created` is RFC 3339. `why` is null until it was worked out.
    """

    namespace: str
    name: str
    owner: str
    state: str
    created: str
    resources: Mapping[str, int]
    claim_mib: int | None
    priority: int
    why: WhyView | None


def waiting(cluster: Cluster, scope: Scope) -> list[PodRecord]:
    """Waiting pods that a caller may read, those that wait longest first."""
    records = (
        record
        for record in cluster.pods.values()
        if scope.sees(record.pod.namespace) and cluster.node_of(record.key) is None and not record.pod.deleting
    )
    return sorted(records, key=lambda record: (record.pod.created, record.sequence))


def pod_view(record: PodRecord, known: Callable[[Pod], WhyView | None]) -> PodView:
    """The pod with what is known of why it waits."""
    pod = record.pod
    return PodView(
        namespace=pod.namespace,
        name=pod.name,
        owner=f"{pod.owner.kind}/{pod.owner.name}" if pod.owner is not None else "",
        state="quota" if QUOTA_GATE in pod.spec.gates else "gated" if pod.spec.gates else "pending",
        created=pod.created,
        resources=record.demand.slots,
        claim_mib=record.demand.claim_mib,
        priority=pod.spec.priority,
        why=known(pod),
    )


def find_pod(cluster: Cluster, namespace: str, name: str) -> Pod | None:
    """The GPU pod of that name, the newest where one was created anew."""
    found = [
        record for record in cluster.pods.values() if record.pod.namespace == namespace and record.pod.name == name
    ]
    return max(found, key=lambda record: record.sequence).pod if found else None
