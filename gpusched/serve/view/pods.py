"""GPU pods that wait: for a node, for quota, or behind a gate of somebody else."""

from collections.abc import Callable, Iterator, Mapping
from typing import Final

import msgspec

from gpusched.core.names import QUOTA_GATE
from gpusched.core.pod import Pod
from gpusched.core.workload import workload_by_name
from gpusched.serve.view.access import Scope
from gpusched.serve.view.why import WhyView
from gpusched.state.cluster import Cluster
from gpusched.state.pods import PodRecord

#: Pods looked at in one step.
_STEP: Final = 500


class PodView(msgspec.Struct, frozen=True):
    """One pod that waits. `state` is pending, quota (behind gpusched's gate) or gated; `owner` is the workload, such as
    `Job/train`.

    `created` is RFC 3339. `gates` are scheduling gates of others. `why` is null until it was worked out.
    """

    namespace: str
    name: str
    owner: str
    state: str
    created: str
    resources: Mapping[str, int]
    claim_mib: int | None
    priority: int
    gates: tuple[str, ...]
    why: WhyView | None


def find_waiting(cluster: Cluster, scope: Scope, found: list[PodRecord]) -> Iterator[None]:
    """Enters the waiting pods that a caller may read, in short steps; their order says nothing."""
    for number, record in enumerate(list(cluster.pods.values())):
        if scope.sees(record.pod.namespace) and cluster.node_of(record.key) is None and not record.pod.deleting:
            found.append(record)
        if number % _STEP == _STEP - 1:
            yield


def waits_longest(record: PodRecord) -> tuple[str, int]:
    """The order in which waiting pods are shown."""
    return record.pod.created, record.sequence


def waiting(cluster: Cluster, scope: Scope) -> list[PodRecord]:
    """All of them at once, in that order."""
    found: list[PodRecord] = []
    for _ in find_waiting(cluster, scope, found):
        pass
    return sorted(found, key=waits_longest)


def pod_view(record: PodRecord, known: Callable[[Pod], WhyView | None]) -> PodView:
    """The pod with what is known of why it waits."""
    pod = record.pod
    return PodView(
        namespace=pod.namespace,
        name=pod.name,
        owner=workload_by_name(pod.owner.kind, pod.owner.name, pod.labels.get("pod-template-hash", ""))
        if pod.owner is not None
        else "",
        state="quota" if QUOTA_GATE in pod.spec.gates else "gated" if pod.spec.gates else "pending",
        created=pod.created,
        resources=record.demand.slots,
        claim_mib=record.demand.claim_mib,
        priority=pod.spec.priority,
        gates=tuple(gate for gate in pod.spec.gates if gate != QUOTA_GATE),
        why=known(pod),
    )


def find_pod(cluster: Cluster, namespace: str, name: str) -> Pod | None:
    """The GPU pod of that name, the newest where one was created anew."""
    found = [
        record for record in cluster.pods.values() if record.pod.namespace == namespace and record.pod.name == name
    ]
    return max(found, key=lambda record: record.sequence).pod if found else None
