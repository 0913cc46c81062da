"""Whatever happens in a cluster, what was kept of it is what would be found now."""

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from gpusched.core.codes import REASON_TEXT
from gpusched.core.read_cluster import read_node
from gpusched.core.read_pod import read_pod
from gpusched.core.usage import Holder
from gpusched.placement.fit import reason
from gpusched.placement.request import request_of
from gpusched.policy.config import parse_config
from gpusched.serve.live_cluster import LiveCluster
from gpusched.state.events import Event, Gone, Kind, NamespaceObject, Replace, Seen, Upsert, key_of
from gpusched.wire.answers import answer_filter, answer_prioritize
from gpusched.wire.kept_answers import KeptAnswers
from tests.build import Tree, bound, gfd_labels, h100_node, namespace, node, pod, t4_node
from tests.placement.scene import own

NODES = ("n0", "n1", "n2")
UIDS = ("u0", "u1", "u2", "u3")
ODD = 'n"\\2'
MODELS: tuple[Callable[..., Tree], ...] = (
    lambda name, **extra: t4_node(name, replicas=4, **extra),
    lambda name, **extra: t4_node(name, gpus=2, **extra),
    lambda name, **extra: h100_node(name, gpus=2, **extra),
    lambda name, **extra: node(name, gpus=None, **extra),
    lambda name, **extra: node(name, resource="example.com/gpu", labels=gfd_labels() | extra["labels"]),
)
LABELS: tuple[dict[str, str], ...] = ({}, {"zone": "a"}, {"zone": "b"})
POLICIES: tuple[dict[str, str], ...] = (
    {},
    {"families": "turing"},
    {"node_selector": "zone=a"},
    {"node_selector": "zone!=b", "families": "hopper, turing"},
    {"quota": "turing=2, *=3"},
    {"quota_gpu_memory": "20Gi"},
    {"min_gpu_memory": "20Gi", "mode": "audit"},
)
CONFIGS: tuple[dict[str, Any], ...] = (
    {},
    {"claims": {"aboveSlot": "allow"}},
    {"claims": {"reserve": "50%"}},
    {"extender": {"candidates": 1}},
    {"policies": [{"namespaceSelector": {}, "policy": {"families": "turing", "mode": "enforce"}}]},
    {"resources": [{"name": "example.com/gpu", "vendor": "nvidia"}]},
)
CLAIMS = (None, "2Gi", "5Gi")


def asking(uid: str, turn: int, gpus: int, claim: str | None, resource: str = "nvidia.com/gpu") -> Tree:
    annotations = own(gpu_memory=claim) if claim else None
    tree = pod(f"p-{uid}", gpus=gpus, annotations=annotations, resource=resource)
    tree["metadata"] |= {"uid": uid, "creationTimestamp": f"2026-01-01T09:00:{turn:02d}Z"}
    return tree


CALLS = [
    json.dumps({"Pod": asking(uid, 30, gpus, claim, resource), "NodeNames": [*NODES, "gone", ODD]}).encode()
    for uid, gpus, claim, resource in (
        ("asker", 1, None, "nvidia.com/gpu"),
        ("u0", 2, "2Gi", "nvidia.com/gpu"),
        ("u1", 1, "5Gi", "nvidia.com/gpu"),
        ("asker", 1, None, "example.com/gpu"),
    )
]


class World:
    """A state that has lived through events, and what is needed to make it anew."""

    def __init__(self) -> None:
        self.cluster = LiveCluster(parsed({}))
        self.config = self.cluster.config
        self.kept = KeptAnswers()
        self.seen: dict[tuple[Kind, str], Seen] = {}
        self.promises: dict[str, tuple[str, Holder]] = {}

    def apply(self, event: Event) -> None:
        self.cluster.apply(event)
        match event:
            case Upsert(seen=seen):
                self.seen[kind_of(seen), key_of(seen)] = seen
            case Gone(kind=kind, key=key):
                self.seen.pop((kind, key), None)
            case Replace(kind=kind, seen=listed):
                self.seen = {key: seen for key, seen in self.seen.items() if key[0] is not kind}
                self.seen |= {(kind, key_of(seen)): seen for seen in listed}
        records = self.cluster.pods
        self.promises = {
            uid: made
            for uid, made in self.promises.items()
            if self.cluster.node_of(uid) == made[0] and not (uid in records and records[uid].pod.spec.node_name)
        }

    def anew(self) -> LiveCluster:
        cluster = LiveCluster(self.config)
        for kind in (Kind.NAMESPACE, Kind.NODE, Kind.POD):
            for (of, _), seen in self.seen.items():
                if of is kind:
                    cluster.apply(Upsert(seen))
        for uid, (name, holder) in self.promises.items():
            cluster.reserve(name, uid, holder)
        return cluster

    def check(self) -> None:
        anew = self.anew()
        for call in CALLS:
            expected = answer_filter(call, anew)
            assert json.loads(answer_filter(call, self.cluster, kept=self.kept)) == json.loads(expected)
            assert answer_filter(call, self.cluster, kept=self.kept) == answer_filter(call, self.cluster)
            assert answer_prioritize(call, self.cluster) == answer_prioritize(call, anew)
            assert without_order(expected) == one_by_one(call, anew) or self.config.candidates
        assert self.cluster.facts == anew.facts
        assert self.cluster.node_books.products == anew.node_books.products


def kind_of(seen: Seen) -> Kind:
    if isinstance(seen, NamespaceObject):
        return Kind.NAMESPACE
    return Kind.POD if hasattr(seen, "spec") else Kind.NODE


def without_order(answer: bytes) -> tuple[set[str], dict[str, str]]:
    tree = json.loads(answer)
    return set(tree["NodeNames"]), tree["FailedAndUnresolvableNodes"]


def one_by_one(call: bytes, cluster: LiveCluster) -> tuple[set[str], dict[str, str]]:
    """The answer found node by node, by the rules themselves."""
    tree = json.loads(call)
    request = request_of(read_pod(tree["Pod"], []), cluster)
    if not request.demand.slots:
        return set(tree["NodeNames"]), {}
    fits, failed = set(), {}
    for name in tree["NodeNames"]:
        state = cluster.nodes.get(name)
        found = None if state is None else reason(request, state, cluster)
        if state is None:
            failed[name] = "node is not known to gpusched yet"
        elif found is None:
            fits.add(name)
        else:
            failed[name] = REASON_TEXT[found]
    return fits, failed


def parsed(sections: dict[str, Any]) -> Any:
    config, faults = parse_config({"apiVersion": "gpusched.io/v1alpha1", "kind": "Config"} | sections)
    assert faults == ()
    return config


Step = Callable[[World], None]


def _node(name: str, model: Callable[..., Tree], labels: dict[str, str]) -> Step:
    return lambda world: world.apply(Upsert(read_node(model(name, labels=dict(labels)), [])))


def _namespace(policy: dict[str, str]) -> Step:
    metadata = namespace("team-a", **policy)["metadata"]
    return lambda world: world.apply(Upsert(NamespaceObject("team-a", metadata["labels"], metadata["annotations"])))


def _pod(uid: str, gpus: int, claim: str | None, where: str | None, phase: str) -> Step:
    tree = asking(uid, UIDS.index(uid), gpus, claim)
    if where is not None:
        tree = bound(tree, where, uid=uid, phase=phase)

    def step(world: World) -> None:
        known = world.cluster.pods.get(uid)
        if known is None or not known.pod.spec.node_name or known.pod.spec.node_name == where:
            world.apply(Upsert(read_pod(tree, [])))

    return step


def _promise(uid: str, name: str, gpus: int) -> Step:
    def step(world: World) -> None:
        known = world.cluster.pods.get(uid)
        if known is None or not known.pod.spec.node_name:
            holder = Holder("team-a", f"p-{uid}", {"nvidia.com/gpu": gpus})
            world.cluster.reserve(name, uid, holder)
            world.promises[uid] = (name, holder)

    return step


def _release(uid: str) -> Step:
    def step(world: World) -> None:
        world.cluster.release(uid)
        world.promises.pop(uid, None)

    return step


def _configure(sections: dict[str, Any]) -> Step:
    def step(world: World) -> None:
        world.config = parsed(sections)
        if world.cluster.configure(world.config):
            world.apply(Replace(Kind.POD, tuple(seen for (kind, _), seen in world.seen.items() if kind is Kind.POD)))

    return step


def _gone(kind: Kind, key: str) -> Step:
    return lambda world: world.apply(Gone(kind, key))


def _relisted(world: World) -> None:
    nodes = [seen for (kind, _), seen in world.seen.items() if kind is Kind.NODE]
    world.apply(Replace(Kind.NODE, tuple(nodes[1:])))


def _choice(values: Iterable[Any]) -> st.SearchStrategy[Any]:
    return st.sampled_from(list(values))


STEPS: st.SearchStrategy[Step] = st.one_of(
    st.builds(_node, _choice([*NODES, ODD]), _choice(MODELS), _choice(LABELS)),
    st.builds(_namespace, _choice(POLICIES)),
    st.builds(
        _pod,
        _choice(UIDS),
        st.integers(1, 2),
        _choice(CLAIMS),
        _choice([None, *NODES]),
        _choice(["Running", "Running", "Succeeded"]),
    ),
    st.builds(_promise, _choice(UIDS), _choice(NODES), st.integers(1, 2)),
    st.builds(_release, _choice(UIDS)),
    st.builds(_configure, _choice(CONFIGS)),
    st.builds(_gone, st.just(Kind.NODE), _choice([*NODES, ODD])),
    st.builds(_gone, st.just(Kind.POD), _choice(UIDS)),
    st.builds(_gone, st.just(Kind.NAMESPACE), st.just("team-a")),
    st.just(_relisted),
)
_BEGIN: Sequence[Step] = [_node(name, MODELS[turn % 3], LABELS[turn]) for turn, name in enumerate(NODES)]


@settings(deadline=None)
@given(st.lists(STEPS, max_size=12))
def test_answers_kept_are_answers_found_anew(steps: list[Step]) -> None:
    world = World()
    for step in [*_BEGIN, *steps]:
        step(world)
        world.check()
