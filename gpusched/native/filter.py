"""The native refusal of a pod by a node: the first filter plugin that fails, in kube-scheduler's order.

NodeUnschedulable, NodeName, TaintToleration, NodeAffinity, NodePorts, NodeResourcesFit, PodTopologySpread,
InterPodAffinity (pkg/scheduler/apis/config/v1/default_plugins.go). Volume plugins are not modelled.
"""

from collections.abc import Mapping

from gpusched.core.codes import Reason
from gpusched.core.node import NodeObject
from gpusched.core.pod import Pod
from gpusched.native.affinity import named_nodes, node_affinity_reason
from gpusched.native.ledger import NativeLedger
from gpusched.native.node import NativeNode
from gpusched.native.pod_affinity import pod_affinity_reason
from gpusched.native.ports import ports_reason
from gpusched.native.resources import JUDGE_ALL, fit_reason
from gpusched.native.spread import spread_reason
from gpusched.native.taints import UNSCHEDULABLE_TAINT, tolerates, untolerated


def static_reason(pod: Pod, node: NodeObject) -> Reason | None:
    """Why the node itself refuses the pod, whatever is bound to it. It depends on the pod's spec and the node alone.

    A cordoned node passes if the pod tolerates the unschedulable taint; PreferNoSchedule never refuses. A node that is
    not the one in spec.nodeName is refused as `native-affinity`, the pod having named where it wants to be.
    """
    spec = pod.spec
    if spec.node_affinity is not None:
        named = named_nodes(spec)
        if named is not None and node.name not in named:
            return Reason.NATIVE_AFFINITY
    if node.unschedulable and not tolerates(spec.tolerations, UNSCHEDULABLE_TAINT):
        return Reason.NATIVE_UNSCHEDULABLE
    if spec.node_name and spec.node_name != node.name:
        return Reason.NATIVE_AFFINITY
    if node.taints and untolerated(spec.tolerations, node.taints) is not None:
        return Reason.NATIVE_TAINT
    return node_affinity_reason(spec, node)


def dynamic_reason(
    pod: Pod, requests: Mapping[str, int], node: NativeNode, ledger: NativeLedger, skip: frozenset[str] = JUDGE_ALL
) -> Reason | None:
    """Why the pods bound so far leave no place: host ports, requests, topology spread, pod affinity, in this order.

    `requests` are effective, overhead included, cpu in milli-cores; resources in `skip` are not judged.
    """
    outlook = ledger.outlook(pod)
    reason = ports_reason(outlook.ports, node.ports) if outlook.ports else None
    reason = reason or fit_reason(requests, node, skip)
    if reason is not None or outlook.local:
        return reason
    return spread_reason(outlook.spread, node.object) or pod_affinity_reason(outlook.affinity, node.object)


def reason(
    pod: Pod, requests: Mapping[str, int], node: NativeNode, ledger: NativeLedger, skip: frozenset[str] = JUDGE_ALL
) -> Reason | None:
    """`static_reason`, then `dynamic_reason`; None when kube-scheduler would take the node."""
    return static_reason(pod, node.object) or dynamic_reason(pod, requests, node, ledger, skip)


def needs_full_view(pod: Pod, ledger: NativeLedger) -> bool:
    """Whether pods on other nodes can change a node's answer.

    They can when the pod has spread, affinity or anti-affinity, or when the anti-affinity of a bound pod speaks of it.
    If not, an answer holds while the pod's spec and the node's `version` do. The term of a bound pod is remembered
    after the pod has gone, so that the answers it once changed are judged anew.
    """
    return not ledger.outlook(pod).local
