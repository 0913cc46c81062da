"""Chooses a node for each pod, judging again only the nodes that changed since the last pod of its kind."""

from gpusched.core.codes import Reason
from gpusched.native.filter import needs_full_view
from gpusched.native.tiebreak import least_allocated
from gpusched.placement.allowance import quota_reason, quota_use_of
from gpusched.placement.score import rank_key
from gpusched.simulate.admit import Candidate
from gpusched.simulate.evaluate import live_verdict, static_verdict
from gpusched.simulate.world import World
from gpusched.state.node_state import NodeState

_Rank = tuple[object, ...]
#: No node has been judged under this pair of versions.
_NEVER = (-1, -1)


class _Sheet:
    """Verdicts and ranks of all nodes for one kind of pod."""

    def __init__(self, candidate: Candidate, states: list[NodeState]) -> None:
        self.states = states
        self.static = [static_verdict(candidate, state) for state in states]
        self.seen = [_NEVER] * len(states)
        self.live: list[Reason | None] = [None] * len(states)
        self.rank: list[_Rank] = [()] * len(states)
        self.quota: object = None
        self.failed_at: object = None

    def refresh(self, candidate: Candidate, world: World) -> None:
        """Judge again where a node changed, and everywhere where the verdict depends on other nodes."""
        everywhere = needs_full_view(candidate.pod, world.ledger)
        quota = self._quota_verdicts(candidate, world)
        if quota != self.quota:
            self.quota, everywhere = quota, True
        for index, state in enumerate(self.states):
            if self.static[index] is not None:
                continue
            native = world.ledger.node(state.node.name)
            version = (state.version, native.version)
            if everywhere or self.seen[index] != version:
                self.seen[index] = version
                self.live[index] = live_verdict(candidate, state, world)
                if self.live[index] is None:
                    self.rank[index] = _rank(candidate, state, world)

    def _quota_verdicts(self, candidate: Candidate, world: World) -> object:
        """What quota says of one node of each kind: other nodes' verdicts change only when this does."""
        request = candidate.request
        use = quota_use_of(request, world.cluster) if request is not None else None
        if request is None or use is None:
            return None
        examples = {state.kind: state.node for state in self.states}
        return [quota_reason(request, node, use) for node in examples.values()]

    def best(self) -> NodeState | None:
        """The node that ranks first among those that take the pod."""
        fitting = [index for index, reason in enumerate(self.live) if reason is None and self.static[index] is None]
        return self.states[min(fitting, key=self.rank.__getitem__)] if fitting else None


def _rank(candidate: Candidate, state: NodeState, world: World) -> _Rank:
    spare = least_allocated(world.ledger.node(state.node.name), candidate.requests)
    preference = rank_key(candidate.request, state) if candidate.request is not None else ()
    return (preference, -spare, state.node.name)


class Placer:
    """Places pods one after the other, as kube-scheduler does."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._sheets: dict[object, _Sheet] = {}

    def choose(self, candidate: Candidate, likeness: object, pinned: str = "") -> str | None:
        """The best node, None when no node takes the pod; of a pod `pinned` to a node that one alone is asked.

        `likeness` is equal for pods that differ in nothing but their name.
        """
        sheet = self._sheets.get(likeness)
        if sheet is None:
            nodes = self._world.cluster.nodes
            names = [pinned] if pinned else sorted(nodes)
            sheet = self._sheets[likeness] = _Sheet(candidate, [nodes[name] for name in names])
        now = (self._world.ledger.version, self._world.cluster.generation)
        if sheet.failed_at == now:
            return None
        sheet.refresh(candidate, self._world)
        best = sheet.best()
        if best is None:
            sheet.failed_at = now
            return None
        return best.node.name
