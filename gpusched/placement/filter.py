"""The extender's filter: which of many nodes take a pod, and why each of the others does not."""

from collections.abc import Sequence

import msgspec

from gpusched.core.codes import Reason
from gpusched.core.selector import Requirement
from gpusched.core.usage import QuotaUse
from gpusched.placement.allowance import quota_use_of
from gpusched.placement.fit import earlier, left_reason, pools_reason
from gpusched.placement.fit import reason as fit_reason
from gpusched.placement.request import Request
from gpusched.state.cluster import Cluster
from gpusched.state.node_state import NodeState


class FilterAnswer(msgspec.Struct, frozen=True):
    """`fits` keeps the order asked in; `unknown` are names that the cluster state does not hold."""

    fits: list[str]
    refused: dict[str, Reason]
    unknown: list[str]


def filter_nodes(request: Request, names: Sequence[str], cluster: Cluster) -> FilterAnswer:
    """Judge every named node. A pod without GPU demand gets all names back, known or not.

    The rules are evaluated once per group of nodes that cannot be told apart, so the cost per name is two look-ups.
    """
    if not request.demand.slots:
        return FilterAnswer(fits=list(names), refused={}, unknown=[])
    if request.resolution.constraints.node_selector:
        return _filter_by_labels(request, names, cluster)
    verdicts = _Verdicts(request, cluster)
    fits: list[str] = []
    refused: dict[str, Reason] = {}
    unknown: list[str] = []
    find = cluster.nodes.get
    for name in names:
        state = find(name)
        if state is None:
            unknown.append(name)
            continue
        reason = verdicts[state.signature] if state.signature in verdicts else verdicts.judge(state)
        if reason is None:
            fits.append(name)
        else:
            refused[name] = reason
    return _with_own_node(request, names, FilterAnswer(fits=fits, refused=refused, unknown=unknown), cluster)


def _with_own_node(request: Request, names: Sequence[str], answer: FilterAnswer, cluster: Cluster) -> FilterAnswer:
    """The answer without what the pod itself was promised: a pod tried again after a bind without an answer."""
    own = cluster.node_of(request.uid)
    if own is None or own not in answer.refused:
        return answer
    reason = fit_reason(request, cluster.nodes[own], cluster)
    if reason is not None:
        return FilterAnswer(fits=answer.fits, refused={**answer.refused, own: reason}, unknown=answer.unknown)
    refused = {name: why for name, why in answer.refused.items() if name != own}
    return FilterAnswer(
        fits=[name for name in names if name not in refused and name in cluster.nodes],
        refused=refused,
        unknown=answer.unknown,
    )


class _Verdicts(dict[str, Reason | None]):
    """Reasons by signature, for one request and one moment; static ones also by kind."""

    def __init__(self, request: Request, cluster: Cluster) -> None:
        super().__init__()
        self._request = request
        self._config = cluster.config
        self._quota_use: QuotaUse | None = quota_use_of(request, cluster)
        self._kinds: dict[int, Reason | None] = {}

    def judge(self, state: NodeState) -> Reason | None:
        """Find and keep the reason of nodes like this one, labels aside."""
        found = self._static(state)
        if found is None:
            found = left_reason(self._request, state.node, state.use, self._config, self._quota_use)
        self[state.signature] = found
        return found

    def _static(self, state: NodeState) -> Reason | None:
        if state.kind not in self._kinds:
            self._kinds[state.kind] = pools_reason(self._request, state.node)
        return self._kinds[state.kind]


class _Holds(dict[str | None, bool]):
    """Whether one requirement on labels holds, by the value of its label; None where a node does not have it."""

    def __init__(self, requirement: Requirement) -> None:
        super().__init__()
        self._requirement = requirement

    def __missing__(self, value: str | None) -> bool:
        self[value] = self._requirement.matches({} if value is None else {self._requirement.key: value})
        return self[value]


def _filter_by_labels(request: Request, names: Sequence[str], cluster: Cluster) -> FilterAnswer:
    """The same for a request whose policy looks at node labels, which differ from node to node."""
    verdicts = _Verdicts(request, cluster)
    selector = [(item.key, _Holds(item)) for item in request.resolution.constraints.node_selector]
    fits: list[str] = []
    refused: dict[str, Reason] = {}
    unknown: list[str] = []
    find = cluster.nodes.get
    for name in names:
        state = find(name)
        if state is None:
            unknown.append(name)
            continue
        reason = verdicts[state.signature] if state.signature in verdicts else verdicts.judge(state)
        labels = state.node.object.labels
        for key, holds in selector:
            if not holds[labels.get(key)]:
                reason = Reason.NODE_SELECTOR if reason is None else earlier(reason, Reason.NODE_SELECTOR)
                break
        if reason is None:
            fits.append(name)
        else:
            refused[name] = reason
    return _with_own_node(request, names, FilterAnswer(fits=fits, refused=refused, unknown=unknown), cluster)
