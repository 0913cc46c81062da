"""The extender's filter: which of many nodes take a pod, and why each of the others does not."""

from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from gpusched.core.codes import Reason
from gpusched.placement.allowance import quota_use_of
from gpusched.placement.fit import earlier, left_reason, pools_reason
from gpusched.placement.fit import reason as fit_reason
from gpusched.placement.request import Request
from gpusched.placement.shape import shape_of
from gpusched.state.cluster import Cluster

#: Stands for the signature of the one node on which the pod itself was promised slots; others are never empty.
_OWN: Final = ""


class FilterAnswer(msgspec.Struct, frozen=True):
    """Names in the order asked in: those that fit, those refused by reason, those not in the cluster state."""

    fits: list[str]
    by_reason: dict[Reason, list[str]]
    unknown: list[str]

    @property
    def refused(self) -> dict[str, Reason]:
        """The reason of each node refused."""
        return {name: reason for reason, names in self.by_reason.items() for name in names}


def filter_nodes(request: Request, names: Sequence[str], cluster: Cluster) -> FilterAnswer:
    """Judge every named node. A pod without GPU demand gets all names back, known or not.

    The rules are evaluated once per group of nodes that cannot be told apart, so the cost per name is two look-ups.
    """
    if not request.demand.slots:
        return FilterAnswer(fits=list(names), by_reason={}, unknown=[])
    answer = FilterAnswer(fits=[], by_reason={}, unknown=[])
    judge = _Judge(request, cluster)
    selector = request.resolution.constraints.node_selector
    left_out = cluster.node_books.selection.left_out(selector) if selector else frozenset[str]()
    if left_out:
        outside = [name for name in names if name in left_out]
        names = [name for name in names if name not in left_out]
        judge.sort(outside, answer, lambda found: earlier(found, Reason.NODE_SELECTOR))
    judge.sort(names, answer)
    return answer


def _as_found(reason: Reason | None) -> Reason | None:
    return reason


class _Judge:
    """Reasons by signature, for one request and one moment; static ones also by kind."""

    def __init__(self, request: Request, cluster: Cluster) -> None:
        self._request = request
        self._cluster = cluster
        self._quota_use = quota_use_of(request, cluster)
        self._kinds: dict[int, Reason | None] = {}
        self._reasons = shape_of(request, cluster).reasons if self._quota_use is None else {}
        self._signatures = cluster.node_books.signatures
        own = cluster.node_of(request.uid)
        if own is not None and own in cluster.nodes:
            # The answer is to be without what the pod was promised: it may be a bind that is tried again.
            self._signatures = {**self._signatures, own: _OWN}

    def sort(
        self,
        names: Sequence[str],
        answer: FilterAnswer,
        told: Callable[[Reason | None], Reason | None] = _as_found,
    ) -> None:
        """Enter every name in the answer, with the reason that `told` makes of the one found."""
        signatures = self._signatures
        lists: dict[str | None, list[str]] = {None: answer.unknown}
        for name in names:
            try:
                lists[signatures[name]].append(name)
            except KeyError:
                signature = signatures.get(name)
                if signature is not None:
                    reason = told(self._reason(name))
                    lists[signature] = answer.fits if reason is None else answer.by_reason.setdefault(reason, [])
                lists[signature].append(name)

    def _reason(self, name: str) -> Reason | None:
        signature = self._signatures[name]
        if signature == _OWN:
            return fit_reason(self._request, self._cluster.nodes[name], self._cluster)
        if signature not in self._reasons:
            state = self._cluster.nodes[name]
            found = self._static(name)
            if found is None:
                found = left_reason(self._request, state.node, state.use, self._cluster.config, self._quota_use)
            self._reasons[signature] = found
        return self._reasons[signature]

    def _static(self, name: str) -> Reason | None:
        state = self._cluster.nodes[name]
        if state.kind not in self._kinds:
            self._kinds[state.kind] = pools_reason(self._request, state.node)
        return self._kinds[state.kind]
