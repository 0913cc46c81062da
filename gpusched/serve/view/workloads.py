"""Workloads that ask for GPUs: the pods that they lack since those are refused, and what a pod of them would meet.

Neither workloads nor events are followed: they are read when somebody asks, and a list serves for a while.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final

from gpusched.core.fields import Field
from gpusched.core.misspelt import asks_for_gpu
from gpusched.core.pod import Pod
from gpusched.core.read_pod import read_pod
from gpusched.kube.workloads import CONTROLLERS
from gpusched.serve.explaining.explainer import Explained, Explainer, Unexplained
from gpusched.serve.pieces import in_pieces
from gpusched.serve.view.access import Kept
from gpusched.simulate.admit import admit
from gpusched.simulate.expand import PlannedPod, expand
from gpusched.simulate.manifest import Manifest
from gpusched.simulate.owners import between, workload_of
from gpusched.simulate.reasons.refused_pods import time_of
from gpusched.simulate.reasons.shortfall import Shortfall, Shortfalls, has_ended, single, why_refused
from gpusched.simulate.reasons.why import Why, why_workload
from gpusched.simulate.run import Simulation
from gpusched.simulate.world import World
from gpusched.state.cluster import Cluster

GetWorkload = Callable[[str, str, str], Awaitable[tuple[int, object]]]
"""Kind, namespace and name to HTTP status (0 without an answer) and the object."""
FailedCreates = Callable[[str], Awaitable[Sequence[Mapping[str, object]] | None]]
"""FailedCreate events of a namespace, or with an empty name of all; None where they could not be read."""

#: Seconds for which a list serves, and how many times what it took to make it: API servers read all events for it.
_FRESH: Final = 10.0
_FRESH_TIMES: Final = 20.0
#: Lists that are kept, and workloads of one: those that were refused last.
_LISTS: Final = 1_000
_MOST: Final = 100

_Key = tuple[str, str, str]


class Workloads:
    """Finds out about workloads over the state and what is read of the API server. `failed` is told where a workload of
    a list raised, inside the handler of the exception.
    """

    def __init__(
        self,
        cluster: Cluster,
        explainer: Explainer,
        get_workload: GetWorkload,
        failed_creates: FailedCreates,
        clock: Callable[[], float],
        failed: Callable[[str], None],
    ) -> None:
        self._cluster = cluster
        self._explainer = explainer
        self._get_workload = get_workload
        self._failed_creates = failed_creates
        self._clock = clock
        self._failed = failed
        self._turn = asyncio.Lock()
        self._lists: Kept[str, list[Explained]] = Kept(_LISTS, clock)

    async def lacking(self, namespace: str = "") -> list[Explained] | Unexplained:
        """Workloads of a namespace, or of all, that lack pods which were refused in the last hour, whoever refused."""
        async with self._turn:
            found = self._lists.get(namespace)
            if found is None:
                began = self._clock()
                found = await self._find(namespace)
                if found is None:
                    return Unexplained.UNREAD
                self._lists.put(namespace, found, max(_FRESH, _FRESH_TIMES * (self._clock() - began)))
            return found

    def namespaces(self) -> set[str]:
        """Namespaces of those in the last list of all."""
        return {said.why.view.namespace for said in self._lists.get("") or ()}

    async def about(self, kind: str, namespace: str, name: str) -> Pod | Explained | Unexplained:
        """What is to be said of a workload, `kind` in lower case and empty for any: of it, or of one of its pods."""
        for each, *_ in CONTROLLERS:
            if kind not in {"", each.lower()}:
                continue
            status, tree = await self._get_workload(each, namespace, name)
            if status == 200 and isinstance(tree, Mapping):
                return await self._about(_manifest(each, namespace, name, tree))
            if status != 404:
                return Unexplained.UNREAD
        return Unexplained.GONE

    async def _about(self, workload: Manifest) -> Pod | Explained | Unexplained:
        planned = self._planned(workload)
        if planned is None or has_ended(workload):
            return Unexplained.GONE
        events = await self._failed_creates(workload.namespace)
        if events is None:
            return Unexplained.UNREAD
        pods = await self._pods_of(workload)
        lack = self._lack(workload, _by_object(events).get(_key(workload), ()), pods)
        if lack is not None:
            return await self._refused(lack)
        if pods:
            return min(pods, key=lambda pod: (bool(pod.spec.node_name), pod.name))
        candidate = admit(planned, World.of(self._cluster)).candidate
        made = workload if planned.dormant else single(workload)
        return await self._explainer.judge(
            read_pod(planned.tree, []), candidate, lambda world: _as_if_made(made, world)
        )

    async def _find(self, namespace: str) -> list[Explained] | None:
        events = await self._failed_creates(namespace)
        if events is None:
            return None
        told = _by_object(events)
        found: dict[_Key, Explained] = {}
        for key in list(told)[:_MOST]:
            try:
                workload = await self._known_by_people(*key)
                if workload is None or _key(workload) in found or self._planned(workload) is None:
                    continue
                lack = self._lack(workload, told.get(_key(workload), ()), await self._pods_of(workload))
                said = None if lack is None else await self._refused(lack)
            except Exception:  # noqa: BLE001 - logged with its trace by `failed`
                self._failed("workloads")
                continue
            if isinstance(said, Explained):
                found[_key(workload)] = said
        return [found[key] for key in sorted(found, key=_in_order)]

    async def _known_by_people(self, kind: str, namespace: str, name: str) -> Manifest | None:
        """The object, or the Deployment of a ReplicaSet; None where it is gone or cannot be read."""
        _, tree = await self._get_workload(kind, namespace, name)
        if not isinstance(tree, Mapping):
            return None
        workload = _manifest(kind, namespace, name, tree)
        outer, _, outer_name = between(workload).get((kind, namespace, name), "").partition("/")
        return await self._known_by_people(outer, namespace, outer_name) if outer == "Deployment" else workload

    def _planned(self, workload: Manifest) -> PlannedPod | None:
        """A pod of it as its controller would make it; None where that asks for no GPU."""
        planned = next(iter(expand([workload], [])), None)
        resources, present = self._cluster.resources, self._cluster.facts.resources
        return planned if planned is not None and asks_for_gpu(read_pod(planned.tree, []), resources, present) else None

    async def _pods_of(self, workload: Manifest) -> list[Pod]:
        """The pods of it that have not ended."""
        cluster, name = self._cluster, f"{workload.kind}/{workload.name}"
        found = []
        async for key in in_pieces(list(cluster.books.of_namespace(workload.namespace))):
            pod = cluster.pods[key].pod if key in cluster.pods else None
            if pod and pod.owner and name in {f"{pod.owner.kind}/{pod.owner.name}", workload_of(pod, {})}:
                found.append(pod)
        return found

    def _lack(self, workload: Manifest, events: Sequence[Manifest], pods: Sequence[Pod]) -> Shortfall | None:
        world = World.of(self._cluster)
        world.pods = {(pod.namespace, pod.name): pod for pod in pods}
        return Shortfalls([workload], events, world).of(workload)

    async def _refused(self, lack: Shortfall) -> Explained | Unexplained:
        candidate = lack.admitted.candidate if lack.depends_on_nodes else None
        pod = read_pod(lack.planned.tree, [])
        return await self._explainer.judge(pod, candidate, lambda world: why_refused(lack, world))


def _as_if_made(workload: Manifest, world: World) -> Why:
    answer = why_workload(workload, Simulation(world))
    if answer is None:
        raise ValueError(f"{workload.where} makes no pods")
    return answer


def _manifest(kind: str, namespace: str, name: str, tree: Mapping[str, object]) -> Manifest:
    return Manifest("cluster", {**tree, "kind": kind}, kind, str(tree.get("apiVersion")), name, namespace)


def _key(workload: Manifest) -> _Key:
    return workload.kind, workload.namespace, workload.name


def _in_order(key: _Key) -> tuple[int, str, str]:
    """By kind, as an administrator is told."""
    kind, namespace, name = key
    return [each for each, *_ in CONTROLLERS].index(kind), namespace, name


def _by_object(events: Sequence[Mapping[str, object]]) -> dict[_Key, list[Manifest]]:
    """Events by the workload that they are about, the latest first."""
    kinds = {kind for kind, *_ in CONTROLLERS}
    found: dict[_Key, list[Manifest]] = {}
    for tree in sorted(events, key=time_of, reverse=True):
        about = Field(tree).get("involvedObject")
        kind, namespace, name = (about.get(part).text() for part in ("kind", "namespace", "name"))
        if kind in kinds:
            found.setdefault((kind, namespace, name), []).append(Manifest("cluster", tree, "Event"))
    return found
