"""Which nodes a DaemonSet covers, and the pod that its controller makes for each of them.

The controller chooses the nodes and pins each pod to its own by node affinity; kube-scheduler only confirms the place.
"""

from collections.abc import Iterable
from typing import Final

import msgspec

from gpusched.core.node import NodeObject
from gpusched.core.pod import Pod, PodSpec, Toleration
from gpusched.core.selector import NodeTerm, Operator, Requirement
from gpusched.native.affinity import node_affinity_reason
from gpusched.native.taints import untolerated

_AUTOMATIC: Final = (
    Toleration("node.kubernetes.io/not-ready", "Exists", effect="NoExecute"),
    Toleration("node.kubernetes.io/unreachable", "Exists", effect="NoExecute"),
    Toleration("node.kubernetes.io/disk-pressure", "Exists", effect="NoSchedule"),
    Toleration("node.kubernetes.io/memory-pressure", "Exists", effect="NoSchedule"),
    Toleration("node.kubernetes.io/pid-pressure", "Exists", effect="NoSchedule"),
    Toleration("node.kubernetes.io/unschedulable", "Exists", effect="NoSchedule"),
)
_HOST_NETWORK: Final = Toleration("node.kubernetes.io/network-unavailable", "Exists", effect="NoSchedule")


def daemon_nodes(template: Pod, nodes: Iterable[NodeObject]) -> tuple[str, ...]:
    """Names of the nodes that get a pod, in the order given.

    Rule: pkg/controller/daemon/daemon_controller.go, NodeShouldRunDaemonPod: spec.nodeName, nodeSelector and required
    node affinity of the template, and NoSchedule and NoExecute taints, after the controller's own tolerations.
    """
    spec = template.spec
    tolerations = _tolerations(spec)
    return tuple(
        node.name
        for node in nodes
        if spec.node_name in {"", node.name}
        and node_affinity_reason(spec, node) is None
        and untolerated(tolerations, node.taints) is None
    )


def daemon_pod(template: Pod, node_name: str) -> Pod:
    """The template as the pod for one node: tolerations added, required node affinity replaced by the node's name.

    Rules: pkg/controller/daemon/util/daemonset_util.go, AddOrUpdateDaemonPodTolerations and
    ReplaceDaemonSetPodNodeNameNodeAffinity. The template's own required terms are gone from the pod, its nodeSelector
    stays.
    """
    pinned = NodeTerm(fields=(Requirement("metadata.name", Operator.IN, (node_name,)),))
    spec = msgspec.structs.replace(template.spec, tolerations=_tolerations(template.spec), node_affinity=(pinned,))
    return msgspec.structs.replace(template, spec=spec)


def _tolerations(spec: PodSpec) -> tuple[Toleration, ...]:
    added = (*_AUTOMATIC, _HOST_NETWORK) if spec.host_network else _AUTOMATIC
    return (*spec.tolerations, *(toleration for toleration in added if toleration not in spec.tolerations))
