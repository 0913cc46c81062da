"""The line of pods that wait behind the quota gate: which may go now, and where one of them stands.

Namespaces do not wait for each other. Within one, a pod that has to wait holds back everything behind it that wants
the same families, so that small pods cannot starve a large one.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import Final

import msgspec

from gpusched.core.names import QUOTA_GATE
from gpusched.core.node import Node
from gpusched.placement.allowance import Draw, Excess, Ledger, draw_on, has_quota, ledger_of
from gpusched.placement.fit import pools_reason
from gpusched.placement.request import Request, request_of
from gpusched.state.cluster import Cluster
from gpusched.state.pods import PodRecord

#: Owners whose pods are of use one by one; the pods of any other owner (a Job, a training operator's resource) may
#: need each other and leave the line together.
_SINGLE_OWNERS: Final = frozenset({"Deployment", "ReplicaSet", "ReplicationController", "StatefulSet", "DaemonSet"})


class Place(msgspec.Struct, frozen=True):
    """Where a gated pod stands: `place` counts from 1 among pods of its namespace that want the same families.

    `holders` are the names of the namespace's pods that hold slots of those families, sorted, `pending` those of pods
    without the gate that count for them and have no node yet.
    """

    place: int
    holders: tuple[str, ...]
    pending: tuple[str, ...] = ()


def liftable(cluster: Cluster, young: Collection[str] = ()) -> list[str]:
    """Keys of the gated pods whose gate may go now, in order: highest priority first, then oldest.

    Pods of one owner go together or not at all, unless the quota could never take them all; then as many as fit. As
    long as one of them is `young`, by its key, more are expected, and they wait. A pod larger than the quota never goes
    and holds nobody back. Where no quota holds any more every pod goes.
    """
    options = _Options(cluster)
    namespaces: dict[str, _Namespace] = {}
    lifted: list[str] = []
    for group in _groups(cluster.gated()):
        requests = [request_of(record.pod, cluster) for record in group]
        name = requests[0].namespace
        if name not in namespaces:
            namespaces[name] = _Namespace(ledger_of(cluster.quota_use(name)), options)
        if _together(group[0]) and any(record.key in young for record in group):
            namespaces[name].hold(requests)
        else:
            lifted += namespaces[name].lift(requests)
    return lifted


def excesses(uid: str, cluster: Cluster) -> tuple[tuple[Excess, ...], ...]:
    """The limits that the gated pod of this key alone exceeds, by each draw that it might make: it never goes, and
    holds nobody back. Empty when the quota could take it.
    """
    record = cluster.pods.get(uid)
    request = request_of(record.pod, cluster) if record is not None else None
    if request is None or not has_quota(request.resolution):
        return ()
    found = tuple(tuple(Ledger().exceeded(draw, request.resolution)) for draw in _Options(cluster).of(request))
    return found if all(found) else ()


def places(cluster: Cluster) -> Iterator[tuple[PodRecord, Place]]:
    """Every gated pod with its place, one after the other, so that a caller may pause while he walks a long line."""
    options = _Options(cluster)
    ahead: dict[str, Counter[frozenset[str] | None]] = {}
    holders: dict[tuple[str, frozenset[str] | None], tuple[tuple[str, ...], tuple[str, ...]]] = {}
    for record in cluster.gated():
        namespace, wanted = record.pod.namespace, _families(options.of(request_of(record.pod, cluster)))
        before = ahead.setdefault(namespace, Counter())
        place = 1 + sum(count for families, count in before.items() if _compete(families, wanted))
        before[wanted] += 1
        if (namespace, wanted) not in holders:
            holders[namespace, wanted] = (
                _holders(namespace, wanted, cluster),
                _pending(namespace, wanted, options, cluster),
            )
        holding, pending = holders[namespace, wanted]
        yield record, Place(place=place, holders=holding, pending=pending)


class _Options:
    """The draws that a pod might make, by the kinds of nodes present."""

    def __init__(self, cluster: Cluster) -> None:
        self._nodes = _kinds_of_nodes(cluster)
        self._known: dict[object, tuple[Draw, ...]] = {}

    def of(self, request: Request) -> tuple[Draw, ...]:
        """Draws on present nodes that the static rules allow, smallest memory first; without any, by policy alone."""
        demand = request.demand
        largest = tuple(sorted((resource, demand.largest_container(resource)) for resource in demand.slots))
        key = (request.resolution.constraints, tuple(sorted(demand.slots.items())), largest, demand.claim_mib)
        if key not in self._known:
            draws = {draw_on(request, node) for node in self._nodes if _offers(request, node)}
            self._known[key] = tuple(sorted(draws, key=_order)) or _draws_by_policy(request)
        return self._known[key]


class _Namespace:
    """One namespace while the line is walked: what it has taken, and which families somebody already waits for."""

    def __init__(self, ledger: Ledger, options: _Options) -> None:
        self._ledger = ledger
        self._options = options
        self._awaited: set[frozenset[str] | None] = set()

    def lift(self, group: Sequence[Request]) -> list[str]:
        """Keys of the pods of a group that may go; what has to wait holds back later pods."""
        hopeful = self._hopeful(group)
        if not any(self._held_back(request) for request in hopeful):
            after = self._fits(self._ledger, hopeful)
            if after is not None:
                self._ledger = after
                return [request.uid for request in hopeful]
            if self._fits(Ledger(), hopeful) is None or len(hopeful) < len(group):
                return self._lift_singly(hopeful)
        self.hold(hopeful)
        return []

    def hold(self, group: Sequence[Request]) -> None:
        """Let a group wait; it holds back later pods."""
        self._awaited |= {_families(self._options.of(request)) for request in self._hopeful(group)}

    def _hopeful(self, group: Sequence[Request]) -> list[Request]:
        """Those that the quota could ever take."""
        return [request for request in group if self._fits(Ledger(), [request]) is not None]

    def _lift_singly(self, group: Sequence[Request]) -> list[str]:
        lifted = []
        for request in group:
            after = None if self._held_back(request) else self._fits(self._ledger, [request])
            if after is None:
                self._awaited.add(_families(self._options.of(request)))
            else:
                self._ledger = after
                lifted.append(request.uid)
        return lifted

    def _held_back(self, request: Request) -> bool:
        if not has_quota(request.resolution):
            return False
        wanted = _families(self._options.of(request))
        return any(_compete(wanted, awaited) for awaited in self._awaited)

    def _fits(self, ledger: Ledger, requests: Sequence[Request]) -> Ledger | None:
        """The ledger with all of them entered, None when there is no room for all."""
        for request in requests:
            draws = self._options.of(request)
            chosen = next((draw for draw in draws if ledger.has_room(draw, request.resolution)), None)
            if chosen is None:
                if has_quota(request.resolution):
                    return None
                chosen = draws[0]
            ledger = _entered(ledger, draws, chosen)
        return ledger


def _entered(ledger: Ledger, draws: Sequence[Draw], chosen: Draw) -> Ledger:
    """The ledger once a pod may go: until it is bound it stands under every family that it may come to use."""
    most: dict[str, int] = {}
    for draw in draws:
        for family, slots in draw.families:
            if family is not None:
                most[family] = max(most.get(family, 0), slots)
    families = {family: ledger.families.get(family, 0) + slots for family, slots in most.items()}
    return Ledger(
        families={**ledger.families, **families},
        unknown=ledger.unknown + (0 if most else chosen.slots),
        total=ledger.total + chosen.slots,
        memory_mib=ledger.memory_mib + (chosen.memory_mib or 0),
    )


def _groups(line: Sequence[PodRecord]) -> list[list[PodRecord]]:
    """The line cut into groups that leave together, each at the place of its first pod."""
    groups: dict[tuple[str, ...], list[PodRecord]] = {}
    for record in line:
        owner = record.pod.owner
        key: tuple[str, ...] = (record.key,)
        if owner is not None and _together(record):
            key = (record.pod.namespace, owner.kind, owner.name, owner.uid)
        groups.setdefault(key, []).append(record)
    return list(groups.values())


def _together(record: PodRecord) -> bool:
    """Whether the pod leaves together with others of its owner."""
    return record.pod.owner is not None and record.pod.owner.kind not in _SINGLE_OWNERS


def _kinds_of_nodes(cluster: Cluster) -> list[Node]:
    """One node of each kind, told apart by which resources they have slots of."""
    nodes: dict[tuple[int, frozenset[str]], Node] = {}
    for state in cluster.nodes.values():
        offered = frozenset(pool.resource for pool in state.node.pools if pool.slots)
        nodes.setdefault((state.kind, offered), state.node)
    return list(nodes.values())


def _offers(request: Request, node: Node) -> bool:
    pools = [node.pool(resource) for resource in request.demand.slots]
    return all(pool is not None and pool.slots for pool in pools) and pools_reason(request, node) is None


def _draws_by_policy(request: Request) -> tuple[Draw, ...]:
    """Draws of a pod that no present node could take: one per allowed family, or one of unknown family."""
    claim, slots = request.demand.claim_mib, request.demand.total
    memory = None if claim is None else claim * slots
    families = request.resolution.constraints.families
    return tuple(Draw(families=((family, slots),), memory_mib=memory) for family in families or (None,))


def _order(draw: Draw) -> tuple[bool, int, list[tuple[str, int]]]:
    return (
        draw.memory_mib is None,
        draw.memory_mib or 0,
        [(family or "", slots) for family, slots in draw.families],
    )


def _families(draws: Sequence[Draw]) -> frozenset[str] | None:
    """Every family that a pod might use; None when it is unknown which."""
    named = [family for draw in draws for family, _ in draw.families]
    return None if None in named else frozenset(family for family in named if family is not None)


def _compete(one: frozenset[str] | None, other: frozenset[str] | None) -> bool:
    return one is None or other is None or not one.isdisjoint(other)


def _holders(namespace: str, wanted: frozenset[str] | None, cluster: Cluster) -> tuple[str, ...]:
    names: set[str] = set()
    for key in cluster.books.of_namespace(namespace):
        state = cluster.nodes.get(cluster.node_of(key) or "")
        if state is None:
            continue
        holder = state.holders[key]
        pools = [state.node.pool(resource) for resource in holder.slots]
        if wanted is None or any(pool is not None and pool.family in wanted for pool in pools):
            names.add(holder.name)
    return tuple(sorted(names))


def _pending(namespace: str, wanted: frozenset[str] | None, options: _Options, cluster: Cluster) -> tuple[str, ...]:
    names: set[str] = set()
    for key in cluster.books.of_namespace(namespace):
        record = cluster.pods.get(key)
        if record is None or cluster.node_of(key) or QUOTA_GATE in record.pod.spec.gates:
            continue
        if _compete(_families(options.of(request_of(record.pod, cluster))), wanted):
            names.add(record.pod.name)
    return tuple(sorted(names))
