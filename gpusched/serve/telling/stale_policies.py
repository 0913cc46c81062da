"""PURE. Policy and configuration that cannot be read, and pods older than the policy or waiting for its quota."""

from collections.abc import Iterator, Sequence
from typing import Final

from gpusched.core.pod import Pod
from gpusched.kube.events import Reference
from gpusched.placement.quota import Place, places
from gpusched.serve.telling.told import EventReason, Saying, about_pod
from gpusched.simulate.reasons.waits import holders_text, outdated
from gpusched.simulate.standing import unread
from gpusched.state.cluster import Cluster

#: As the manifests name it.
CONFIG_MAP: Final = "gpusched"
#: Holders of slots named in one event.
_NAMED: Final = 5


def invalid_policies(cluster: Cluster) -> Iterator[Saying | None]:
    """Namespaces whose annotations came round the webhook and cannot be read. None stands for one that is fine."""
    for name in list(cluster.namespaces()):
        faults = unread(cluster.namespace(name).parsed)
        yield Saying(Reference("Namespace", name), EventReason.POLICY_INVALID, "; ".join(faults)) if faults else None


def bad_configuration(errors: Sequence[str], namespace: str) -> Saying:
    """The ConfigMap in gpusched's namespace holds a configuration with these errors."""
    text = f"The configuration has errors, the former one stays in use: {'; '.join(errors)}"
    return Saying(Reference("ConfigMap", CONFIG_MAP, namespace), EventReason.CONFIG_INVALID, text)


def stale_pods(cluster: Cluster) -> Iterator[Saying | None]:
    """Pods without a node whose affinity was lowered from another policy than that of today."""
    for record in list(cluster.pods.values()):
        text = _outdated(record.pod, cluster) if waits(record.pod) else ""
        yield about_pod(record.pod, EventReason.POLICY_STALE, text[0].upper() + text[1:]) if text else None


def waits(pod: Pod) -> bool:
    """Whether the pod has no node yet and may still get one."""
    return not (pod.spec.node_name or pod.deleting)


def _outdated(pod: Pod, cluster: Cluster) -> str:
    return outdated(pod, cluster.resolution(pod.namespace, pod.annotations).constraints)


def quota_line(cluster: Cluster) -> Iterator[Saying | None]:
    """Pods behind the quota gate, with their place and who holds what they wait for."""
    for record, place in places(cluster):
        if record.key in cluster.pods and waits(record.pod):
            yield about_pod(record.pod, EventReason.QUOTA_WAIT, _line(record.pod.namespace, place))
        else:
            yield None


def _line(namespace: str, place: Place) -> str:
    return (
        f"Waits for the GPU quota of namespace {namespace}: place {place.place} in the line, "
        f"slots held by {holders_text(place, _NAMED)}"
    )
