"""The extender's filter: which of many nodes take a pod, and why each of the others does not."""

from collections.abc import Sequence

import msgspec

from gpusched.core.codes import Reason
from gpusched.core.constraints import Constraints
from gpusched.core.usage import QuotaUse
from gpusched.placement.allowance import quota_use_of
from gpusched.placement.fit import earlier, left_reason, pools_reason
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
    return FilterAnswer(fits=fits, refused=refused, unknown=unknown)


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


class _Labels(dict[tuple[str | None, ...], Reason | None]):
    """The verdict of a node selector by the values of the labels that it looks at."""

    def __init__(self, constraints: Constraints) -> None:
        super().__init__()
        self._constraints = constraints
        self.keys_read = tuple(dict.fromkeys(requirement.key for requirement in constraints.node_selector))

    def __missing__(self, values: tuple[str | None, ...]) -> Reason | None:
        labels = {key: value for key, value in zip(self.keys_read, values, strict=True) if value is not None}
        self[values] = self._constraints.reason_against_labels(labels)
        return self[values]


def _filter_by_labels(request: Request, names: Sequence[str], cluster: Cluster) -> FilterAnswer:
    """The same for a request whose policy looks at node labels, which differ from node to node."""
    verdicts, by_labels = _Verdicts(request, cluster), _Labels(request.resolution.constraints)
    keys = by_labels.keys_read
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
        mismatch = by_labels[tuple(map(state.node.object.labels.get, keys))]
        if mismatch is not None:
            refused[name] = mismatch if reason is None else earlier(reason, mismatch)
        elif reason is not None:
            refused[name] = reason
        else:
            fits.append(name)
    return FilterAnswer(fits=fits, refused=refused, unknown=unknown)
