"""The read-only JSON of the administration port: answers as bytes, each for what one caller may read."""

import secrets
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from typing import Final

import msgspec

from gpusched import __version__
from gpusched.core.pod import Pod
from gpusched.serve.explaining.explainer import Explained, Explainer, Unexplained
from gpusched.serve.live_cluster import LiveCluster
from gpusched.serve.pieces import work_off
from gpusched.serve.view.access import Denied, Extent, Scope, no_pods
from gpusched.serve.view.changes import ChangeLog
from gpusched.serve.view.nodes import node_view
from gpusched.serve.view.pods import PodView, find_pod, find_waiting, pod_view, waits_longest
from gpusched.serve.view.quota import QuotaView, quota_views
from gpusched.serve.view.refusals import Refusals, RefusalView
from gpusched.serve.view.totals import FamilyTotal, sum_up, totals
from gpusched.serve.view.why import WhyView, why_view
from gpusched.serve.view.workloads import Workloads
from gpusched.state.node_state import NodeState
from gpusched.state.pods import PodRecord

#: Callers with rights of their own whose nodes are kept encoded.
_SCOPES: Final = 4
#: Waiting pods that are listed; the answer says how many there are.
_PODS: Final = 500
#: Seconds for which an answer about waiting pods may work on explanations that are still lacking.
_EXPLAIN_SECONDS: Final = 1.0
_NO_DEVICES: Final = (
    "Kubernetes does not say which GPU of its node a pod was given: "
    "slots are filled in the order of namespace and name."
)
_OWN_REFUSALS: Final = "Refusals of this replica since its start, an hour at most."
_NO_EVENTS: Final = "Workloads whose pods are refused are not known: the API server did not list events."
_UNREAD: Final = Denied(503, "The API server did not answer, so that nothing can be said now. Try again.")
#: What a kind that was asked for is called where it is not found.
_WHAT: Final = {"": "pod or workload"}

_ENCODER: Final = msgspec.json.Encoder()


class NodesAnswer(msgspec.Struct, frozen=True):
    """`complete` False: `nodes` are those changed since the generation asked for. Names in `gone` are to be dropped."""

    instance: str
    version: str
    generation: int
    complete: bool
    totals: Sequence[FamilyTotal]
    nodes: Sequence[msgspec.Raw]
    gone: Sequence[str]
    notes: Sequence[str]


class PodsAnswer(msgspec.Struct, frozen=True):
    """Waiting pods; `total` counts those that are not listed too. `seen` says of how many namespaces that is told."""

    total: int
    pods: Sequence[PodView]
    seen: Extent
    notes: Sequence[str]


class WorkloadsAnswer(msgspec.Struct, frozen=True):
    """Workloads that lack pods, which were refused."""

    workloads: Sequence[WhyView]
    seen: Extent
    notes: Sequence[str]


class RefusalsAnswer(msgspec.Struct, frozen=True):
    """Refusals of the last hour, newest first."""

    refusals: Sequence[RefusalView]
    seen: Extent
    notes: Sequence[str]


class QuotaAnswer(msgspec.Struct, frozen=True):
    """Namespaces with what they hold."""

    namespaces: Sequence[QuotaView]
    seen: Extent
    notes: Sequence[str]


class WhyAnswer(msgspec.Struct, frozen=True):
    """Everything about one pod, or what a workload lacks."""

    why: WhyView
    notes: Sequence[str]


class View:
    """All answers. `problem` says in words what is wrong with the state that is shown, None when nothing is."""

    def __init__(
        self,
        cluster: LiveCluster,
        explainer: Explainer,
        workloads: Workloads,
        refusals: Refusals,
        problem: Callable[[], str | None],
    ) -> None:
        self.changes = ChangeLog(cluster)
        self.refused = refusals
        #: Tells one run of a process from the next: generations of another one mean nothing.
        self.instance = secrets.token_hex(8)
        self._cluster = cluster
        self._explainer = explainer
        self._workloads = workloads
        self._problem = problem
        self._summed: tuple[int, list[FamilyTotal]] = (-1, [])
        self._encoded: OrderedDict[Scope, dict[str, tuple[NodeState, int, bytes]]] = OrderedDict()

    async def nodes(self, scope: Scope, since: int | None, instance: str) -> bytes:
        """NodesAnswer; with `since` of this instance, what changed after that generation."""
        changes = self.changes.since(since if instance == self.instance else None)
        generation = self.changes.generation
        encoded = self._encoded_for(scope)
        await work_off(self._encode(encoded, changes.nodes, scope))
        summed = await self._totals(generation)
        if len(encoded) > len(self._cluster.nodes):
            for name in encoded.keys() - self._cluster.nodes.keys():
                del encoded[name]
        return _ENCODER.encode(
            NodesAnswer(
                instance=self.instance,
                version=__version__,
                generation=generation,
                complete=changes.complete,
                totals=summed,
                nodes=[msgspec.Raw(encoded[name][2]) for name in changes.nodes if name in encoded],
                gone=changes.gone,
                notes=self._notes(_NO_DEVICES),
            )
        )

    async def pods(self, scope: Scope, namespace: str = "") -> bytes:
        """PodsAnswer, of one namespace if it is named, with as many explanations as could be worked out in a moment."""
        records: list[PodRecord] = []
        await work_off(find_waiting(self._cluster, scope, records))
        records = [record for record in records if namespace in {"", record.pod.namespace}]
        records.sort(key=waits_longest)
        listed = records[:_PODS]
        await self._explainer.explain_some([record.pod for record in listed], _EXPLAIN_SECONDS)
        views: list[PodView] = []

        def make() -> Iterator[None]:
            for record in listed:
                views.append(pod_view(record, lambda pod: _why(self._explainer.known(pod), pod, scope)))
                yield

        await work_off(make())
        return _ENCODER.encode(PodsAnswer(len(records), views, scope.extent, self._notes()))

    async def why(self, scope: Scope, namespace: str, name: str, kind: str = "") -> bytes | Denied:
        """WhyAnswer about a GPU pod, or about a workload of a `kind` in lower case; without one pods go first."""
        if not scope.sees(namespace):
            return no_pods(namespace)
        found = find_pod(self._cluster, namespace, name) if kind in {"", "pod"} else None
        said = found or await self._workloads.about(kind, namespace, name)
        pod = said if isinstance(said, Pod) else None
        if isinstance(said, Pod):
            said = await self._explainer.explain(said)
        if said is Unexplained.GONE:
            return Denied(404, f"There is no {_WHAT.get(kind, kind)} {namespace}/{name} with GPUs, or it has ended.")
        if not isinstance(said, Explained):
            return _UNREAD
        return _ENCODER.encode(WhyAnswer(_told(said, pod, scope), self._notes()))

    async def workloads(self, scope: Scope, namespace: str = "") -> bytes:
        """WorkloadsAnswer, of one namespace if it is named."""
        found = await self._workloads.lacking(namespace)
        known = [] if isinstance(found, Unexplained) else found
        views = [_told(said, None, scope) for said in known if scope.sees(said.why.view.namespace)]
        notes = self._notes() if known is found else self._notes(_NO_EVENTS)
        return _ENCODER.encode(WorkloadsAnswer(views, scope.extent, notes))

    def refusals(self, scope: Scope) -> bytes:
        """RefusalsAnswer."""
        return _ENCODER.encode(RefusalsAnswer(self.refused.views(scope), scope.extent, self._notes(_OWN_REFUSALS)))

    async def quota(self, scope: Scope) -> bytes:
        """QuotaAnswer."""
        views: list[QuotaView] = []

        def make() -> Iterator[None]:
            for view in quota_views(self._cluster, scope):
                views.append(view)
                yield

        await work_off(make())
        return _ENCODER.encode(QuotaAnswer(views, scope.extent, self._notes()))

    def namespaces(self) -> set[str]:
        """Every namespace that an answer may name."""
        cluster = self._cluster
        ruled = {name for name in cluster.namespaces() if (seen := cluster.namespace_object(name)) and seen.annotations}
        return ruled.union(cluster.books.namespaces, self.refused.namespaces(), self._workloads.namespaces())

    async def _totals(self, generation: int) -> list[FamilyTotal]:
        """The totals as of this generation or later; several callers may sum up at the same time."""
        if self._summed[0] == generation:
            return self._summed[1]
        found: dict[str, FamilyTotal] = {}
        await work_off(sum_up(list(self._cluster.nodes.values()), found))
        summed = totals(found.values())
        if generation > self._summed[0]:
            self._summed = (generation, summed)
        return summed

    def _encoded_for(self, scope: Scope) -> dict[str, tuple[NodeState, int, bytes]]:
        found = self._encoded.setdefault(scope, {})
        self._encoded.move_to_end(scope)
        while len(self._encoded) > _SCOPES:
            self._encoded.popitem(last=False)
        return found

    def _encode(
        self, encoded: dict[str, tuple[NodeState, int, bytes]], names: Sequence[str], scope: Scope
    ) -> Iterator[None]:
        for name in names:
            state = self._cluster.nodes.get(name)
            known = encoded.get(name)
            if state is None or (known is not None and known[0] is state and known[1] == state.version):
                continue
            encoded[name] = (state, state.version, _ENCODER.encode(node_view(state, scope, self._cluster)))
            yield

    def _notes(self, *lasting: str) -> list[str]:
        problem = self._problem()
        return [*([f"What is shown may be old: {problem}."] if problem else []), *lasting]


def _why(found: Explained | None, pod: Pod, scope: Scope) -> WhyView | None:
    return None if found is None else _told(found, pod, scope)


def _told(found: Explained, pod: Pod | None, scope: Scope) -> WhyView:
    """What was found out, for a caller who may or may not read the names of all pods; `pod` is one that is alike."""
    why = found.why if scope.everywhere else found.discreet
    return why_view(why) if pod is None else why_view(why, pod.name, pod.created)
