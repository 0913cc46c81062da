"""Taints and tolerations, judged as kube-scheduler's TaintToleration plugin judges them."""

from collections.abc import Collection, Iterable
from typing import Final

from gpusched.core.node import Taint
from gpusched.core.pod import Toleration
from gpusched.core.selector import Operator, Requirement

#: Effects that keep a pod off a node; PreferNoSchedule only lowers the node's score.
FILTERING_EFFECTS: Final = frozenset({"NoSchedule", "NoExecute"})
#: What NodeUnschedulable asks the pod to tolerate on a cordoned node, whether or not the node carries the taint.
UNSCHEDULABLE_TAINT: Final = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")


def tolerates(tolerations: Iterable[Toleration], taint: Taint) -> bool:
    """Whether any toleration covers the taint.

    Rules: staging/src/k8s.io/api/core/v1/toleration.go, ToleratesTaint. An empty effect covers every effect, an empty
    key every key, an empty operator means Equal. Gt and Lt compare the taint's value with the toleration's as 64-bit
    integers and cover nothing when either is no integer; an unknown operator covers nothing.
    """
    return any(_covers(toleration, taint) for toleration in tolerations)


def untolerated(
    tolerations: Collection[Toleration], taints: Iterable[Taint], effects: Collection[str] = FILTERING_EFFECTS
) -> Taint | None:
    """The first taint with one of the effects that no toleration covers, in the node's order; None when all are.

    Rule: component-helpers/scheduling/corev1/helpers.go, FindMatchingUntoleratedTaint.
    """
    for taint in taints:
        if taint.effect in effects and not tolerates(tolerations, taint):
            return taint
    return None


def _covers(toleration: Toleration, taint: Taint) -> bool:
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    match toleration.operator:
        case "" | "Equal":
            return toleration.value == taint.value
        case "Exists":
            return True
        case "Gt" | "Lt":
            # The comparison of node affinity: the node's side must be greater, or less, than the pod's.
            bound = Requirement(taint.key, Operator(toleration.operator), (toleration.value,))
            return bound.matches({taint.key: taint.value})
        case _:
            return False
