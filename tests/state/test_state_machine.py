"""Random events in any order: what a node counts as used is what its unfinished pods ask for."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule
from msgspec.structs import replace

from gpusched.core.pod import Pod
from gpusched.policy.model import Config
from gpusched.state.cluster import Cluster
from gpusched.state.events import Gone, Kind, Replace, Upsert
from tests.state.records import bound_seen, node_seen, pod_seen, promise

NAMES = ("n1", "n2", "n3")
#: Pods by UID, with the slots each asks for.
SLOTS = {"u0": 0, "u1": 1, "u2": 2, "u3": 3, "u4": 1, "u5": 2}
UIDS = tuple(SLOTS)


class ClusterMachine(RuleBasedStateMachine):
    """Keeps the pods and promises by itself, and asks the cluster whether it agrees."""

    noted = Bundle("noted")

    def __init__(self) -> None:
        super().__init__()
        self.cluster = Cluster(Config())
        self.nodes: set[str] = set()
        self.pods: dict[str, Pod] = {}
        self.promises: dict[str, str] = {}

    def _see(self, uid: str, pod: Pod) -> Pod:
        pod = replace(pod, uid=uid)
        self.pods[uid] = pod
        if pod.terminal or pod.spec.node_name:
            self.promises.pop(uid, None)
        return pod

    @rule(name=st.sampled_from(NAMES), slots=st.integers(0, 8))
    def node_appears_or_changes(self, name: str, slots: int) -> None:
        self.nodes.add(name)
        self.cluster.apply(Upsert(node_seen(name=name, gpus=slots)))

    @rule(name=st.sampled_from(NAMES))
    def node_goes(self, name: str) -> None:
        self.nodes.discard(name)
        self.cluster.apply(Gone(Kind.NODE, name))

    @rule(uid=st.sampled_from(UIDS))
    def pod_waits(self, uid: str) -> None:
        known = self.pods.get(uid)
        if known is None or not known.spec.node_name:
            self.cluster.apply(Upsert(self._see(uid, pod_seen("p", gpus=SLOTS[uid]))))

    @rule(uid=st.sampled_from(UIDS), name=st.sampled_from(NAMES), ours=st.booleans())
    def pod_is_bound(self, uid: str, name: str, ours: bool) -> None:
        known = self.pods.get(uid)
        if known is None or not known.spec.node_name:
            self.cluster.apply(Upsert(self._see(uid, bound_seen("p", name, gpus=SLOTS[uid], ours=ours))))

    @rule(uid=st.sampled_from(UIDS))
    def pod_terminates(self, uid: str) -> None:
        if uid in self.pods:
            self.cluster.apply(Upsert(self._see(uid, replace(self.pods[uid], deleting=True))))

    @rule(uid=st.sampled_from(UIDS), phase=st.sampled_from(("Succeeded", "Failed")))
    def pod_finishes(self, uid: str, phase: str) -> None:
        if uid in self.pods:
            self.cluster.apply(Upsert(self._see(uid, replace(self.pods[uid], phase=phase))))

    @rule(uid=st.sampled_from(UIDS))
    def pod_goes(self, uid: str) -> None:
        self.pods.pop(uid, None)
        self.promises.pop(uid, None)
        self.cluster.apply(Gone(Kind.POD, uid))

    @rule(target=noted, uid=st.sampled_from(UIDS[1:]), name=st.sampled_from(NAMES))
    def bind_promises(self, uid: str, name: str) -> str:
        known = self.pods.get(uid)
        if known is None or not (known.terminal or known.spec.node_name):
            self.promises[uid] = name
            self.cluster.reserve(name, uid, promise(SLOTS[uid]))
        return uid

    @rule(uid=noted)
    def bind_repeats(self, uid: str) -> None:
        if uid in self.promises:
            self.cluster.reserve(self.promises[uid], uid, promise(SLOTS[uid]))

    @rule(uid=consumes(noted))
    def bind_gives_up(self, uid: str) -> None:
        self.promises.pop(uid, None)
        self.cluster.release(uid)

    @rule(kept=st.sets(st.sampled_from(UIDS)))
    def pods_are_listed_anew(self, kept: set[str]) -> None:
        for uid in set(self.pods) - kept:
            del self.pods[uid]
            self.promises.pop(uid, None)
        # A finished pod or one without GPUs is not kept by the cluster, which must not mistake that for a deletion.
        self.cluster.apply(Replace(Kind.POD, tuple(self.pods.values())))

    @rule(uids=st.sets(st.sampled_from(UIDS)))
    def somebody_asks_what_if(self, uids: set[str]) -> None:
        staying = {uid: name for uid, name in self._holding().items() if uid not in uids}
        with self.cluster.without(uids):
            self._compare(staying, frozenset(uids))

    @invariant()
    def nodes_count_what_their_pods_ask_for(self) -> None:
        assert set(self.cluster.nodes) == self.nodes
        self._compare(self._holding())

    def _holding(self) -> dict[str, str]:
        """The node of every pod that holds slots, from scratch."""
        bound = {uid: pod.spec.node_name for uid, pod in self.pods.items() if pod.spec.node_name and not pod.terminal}
        return {uid: name for uid, name in {**self.promises, **bound}.items() if SLOTS[uid]}

    def _compare(self, holding: dict[str, str], gone: frozenset[str] = frozenset()) -> None:
        for name, state in self.cluster.nodes.items():
            there = {uid for uid, place in holding.items() if place == name}
            assert set(state.holders) == there
            assert state.use("nvidia.com/gpu").used == sum(SLOTS[uid] for uid in there)
        waiting = {uid for uid, pod in self.pods.items() if not (pod.spec.node_name or pod.terminal)} - gone
        assert self.cluster.quota_use("team-a").total == sum(SLOTS[uid] for uid in waiting | set(holding))


ClusterMachine.TestCase.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
TestClusterMachine = ClusterMachine.TestCase
