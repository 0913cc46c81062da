"""Whether a node has room for a pod's requests, as kube-scheduler's NodeResourcesFit plugin judges it.

Rules: pkg/scheduler/framework/plugins/noderesources/fit.go, fitsRequest. One more pod must fit into allocatable `pods`;
a request of zero is never looked at, so that an over-committed node still takes pods that ask for nothing; a resource
that the node does not offer counts as zero.
"""

from collections.abc import Mapping
from typing import Final

from gpusched.core.codes import Reason
from gpusched.native.node import NativeNode

#: No resource is exempt from judgement.
JUDGE_ALL: Final[frozenset[str]] = frozenset()


def fit_reason(requests: Mapping[str, int], node: NativeNode, skip: frozenset[str] = JUDGE_ALL) -> Reason | None:
    """`native-resources` unless everything requested is free. `skip`: resources that the node serves through DRA."""
    if len(node.bound) >= node.pod_limit:
        return Reason.NATIVE_RESOURCES
    free = node.free
    for name, amount in requests.items():
        if amount > free.get(name, 0) and amount > 0 and name not in skip:
            return Reason.NATIVE_RESOURCES
    return None


def missing(requests: Mapping[str, int], node: NativeNode, skip: frozenset[str] = JUDGE_ALL) -> list[str]:
    """Names of all the resources that lack, sorted, `pods` among them; empty exactly when the pod fits."""
    short = {
        name for name, amount in requests.items() if amount > node.free.get(name, 0) and amount > 0 and name not in skip
    }
    if len(node.bound) >= node.pod_limit:
        short.add("pods")
    return sorted(short)
