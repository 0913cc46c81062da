"""What holds of placement on any cluster: no slot and no quota given away twice, no answer that depends on order."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from gpusched.core.claims import usable_mib
from gpusched.core.pool import Pool
from gpusched.core.usage import PoolUse
from gpusched.placement.candidates import candidates
from gpusched.placement.filter import filter_nodes
from gpusched.placement.fit import reason
from gpusched.placement.quota import liftable
from gpusched.placement.request import Request
from gpusched.placement.score import ranked, scores
from gpusched.policy.model import Config
from gpusched.state.cluster import Cluster
from tests.build import Tree, a100_node, container, gfd_labels, h100_node, namespace, node, pod, t4_node
from tests.placement.scene import ask, cluster_of, gated, own, promise, see

CONFIG = Config(claim_above_slot="allow")
settings.register_profile("placement", max_examples=80, deadline=None)
PROFILE = settings.get_profile("placement")


def _mps(name: str, gpus: int) -> Tree:
    labels = gfd_labels("NVIDIA-L4", count=gpus, memory=23034, replicas=4, sharing="mps", family="ada-lovelace")
    return node(name, gpus=gpus * 4, labels=labels)


_MODELS = (
    lambda name, gpus: h100_node(name, gpus=gpus),
    lambda name, gpus: a100_node(name, gpus=gpus, labels={"topology.kubernetes.io/zone": "z1"}),
    lambda name, gpus: t4_node(name, gpus=gpus, replicas=4, labels={"topology.kubernetes.io/zone": "z2"}),
    _mps,
    lambda name, gpus: node(name, gpus=gpus),
    lambda name, _gpus: node(name, gpus=None),
)

_fleets = st.lists(st.tuples(st.sampled_from(range(len(_MODELS))), st.integers(0, 3)), min_size=1, max_size=7).map(
    lambda chosen: [_MODELS[model](f"n{turn}", gpus) for turn, (model, gpus) in enumerate(chosen)]
)
_annotations = st.fixed_dictionaries(
    {},
    optional={
        "gpu_memory": st.sampled_from(["1Gi", "3Gi", "6Gi", "12Gi", "70Gi"]),
        "families": st.sampled_from(["hopper", "ampere, hopper", "turing, ada-lovelace, hopper"]),
        "placement": st.sampled_from(["pack", "spread"]),
    },
).map(lambda keys: own(**keys))
_wants = st.tuples(st.lists(st.integers(0, 2), min_size=1, max_size=3), _annotations)
_policies = st.fixed_dictionaries(
    {},
    optional={
        "quota": st.sampled_from(["*=3", "hopper=1", "hopper=2, turing=1", "ampere=2, *=4"]),
        "quota_gpu_memory": st.sampled_from(["40Gi", "160Gi"]),
        "families": st.just("hopper, turing, ampere, ada-lovelace"),
        "node_selector": st.just("!absent"),
    },
)


def _pod(turn: int, want: tuple[list[int], dict[str, str]]) -> Tree:
    slots, annotations = want
    containers = [container(f"c{place}", gpus=gpus) for place, gpus in enumerate(slots)]
    return pod(f"p{turn}", "team-a", *containers, annotations=annotations)


def _bind_all(cluster: Cluster, pods: list[Tree], data: st.DataObject) -> list[tuple[str, Tree]]:
    """Place the pods one after the other, each on any of the nodes that take it; the nodes and pods are returned."""
    placed = []
    for tree in pods:
        request = ask(cluster, tree)
        fits = filter_nodes(request, sorted(cluster.nodes), cluster).fits
        if fits and request.demand.slots:
            placed.append((data.draw(st.sampled_from(fits)), tree))
            _hold(cluster, *placed[-1])
    return placed


def _places(request: Request, names: list[str], cluster: Cluster) -> dict[str, int]:
    return {name: place for place, (_, equals) in enumerate(ranked(request, names, cluster)) for name in equals}


def _hold(cluster: Cluster, node_name: str, tree: Tree) -> None:
    promise(cluster, node_name, ask(cluster, tree))
    see(cluster, tree)


def _top(pool: Pool, use: PoolUse) -> int:
    """The most that claims can come to on one device, whichever slots the kubelet puts there."""
    share = (usable_mib(pool, CONFIG.claim_reserve) or 0) // (pool.replicas or 1)
    return sum(sorted([*use.claims, *[share] * use.unclaimed], reverse=True)[: pool.replicas or 1])


@PROFILE
@given(_fleets, _policies, st.lists(_wants, max_size=12), st.data())
def test_no_slot_claim_or_quota_is_given_away_twice(
    fleet: list[Tree], policy: dict[str, str], wants: list[Any], data: st.DataObject
) -> None:
    cluster = cluster_of(*fleet, namespace("team-a", **policy), config=CONFIG)
    _bind_all(cluster, [_pod(turn, want) for turn, want in enumerate(wants)], data)
    for state in cluster.nodes.values():
        for pool in state.node.pools:
            use = state.use(pool.resource)
            assert use.used <= pool.slots
            usable = usable_mib(pool, CONFIG.claim_reserve)
            if use.claims:
                assert usable is not None
                assert _top(pool, use) <= usable
    resolution, used = ask(cluster, pod()).resolution, cluster.quota_use("team-a")
    if resolution.quota is not None:
        assert resolution.quota.total is None or used.total <= resolution.quota.total
        assert all(used.families.get(family, 0) <= limit for family, limit in resolution.quota.families)
    if resolution.quota_memory_mib is not None:
        assert used.memory_mib <= resolution.quota_memory_mib


@PROFILE
@given(_fleets, _policies, st.lists(_wants, max_size=6), _wants, st.data())
def test_answers_are_complete_and_scores_in_scale(
    fleet: list[Tree], policy: dict[str, str], wants: list[Any], want: Any, data: st.DataObject
) -> None:
    cluster = cluster_of(*fleet, namespace("team-a", **policy), config=CONFIG)
    _bind_all(cluster, [_pod(turn, one) for turn, one in enumerate(wants)], data)
    names = data.draw(st.permutations(["gone", *cluster.nodes]))
    request = ask(cluster, _pod(99, want))
    answer = filter_nodes(request, names, cluster)
    assert answer.fits == [name for name in names if name in set(answer.fits)]
    assert sorted([*answer.fits, *answer.refused, *answer.unknown]) == sorted(names)
    for name, found in answer.refused.items():
        assert found == reason(request, cluster.nodes[name], cluster)
    found = {name: score for score, equals in scores(request, answer.fits, cluster).items() for name in equals}
    assert sorted(found) == (sorted(answer.fits) if request.demand.slots else [])
    assert all(0 <= score <= 10 for score in found.values())
    if answer.fits and request.demand.slots:
        ranks = _places(request, answer.fits, cluster)
        assert max(found.values()) == 10
        assert all((found[a] > found[b]) == (ranks[a] < ranks[b]) for a in ranks for b in ranks)


@PROFILE
@given(_fleets, st.lists(_wants, max_size=6), st.integers(1, 4), st.data())
def test_candidates_keep_the_best_and_split_no_equals(
    fleet: list[Tree], wants: list[Any], n: int, data: st.DataObject
) -> None:
    cluster = cluster_of(*fleet, config=CONFIG)
    _bind_all(cluster, [_pod(turn, want) for turn, want in enumerate(wants)], data)
    request = ask(cluster, pod())
    fits = filter_nodes(request, data.draw(st.permutations(sorted(cluster.nodes))), cluster).fits
    kept = candidates(request, fits, cluster, n, retry=False)
    ranks = _places(request, fits, cluster)
    assert kept == [name for name in fits if name in set(kept)]
    assert len(kept) >= min(n, len(fits))
    best = sorted(ranks.values())[:n]
    assert {name for name, rank in ranks.items() if best and rank <= best[-1]} <= set(kept)


@PROFILE
@given(_fleets, _policies, st.lists(_wants, max_size=6), _wants, st.data())
def test_order_of_nodes_labels_and_containers_does_not_matter(
    fleet: list[Tree], policy: dict[str, str], wants: list[Any], want: Any, data: st.DataObject
) -> None:
    rules = namespace("team-a", **policy)
    here = cluster_of(*fleet, rules, config=CONFIG)
    placed = _bind_all(here, [_pod(turn, one) for turn, one in enumerate(wants)], data)
    for tree in fleet:
        tree["metadata"]["labels"] = dict(data.draw(st.permutations(list(tree["metadata"]["labels"].items()))))
    there = cluster_of(rules, *data.draw(st.permutations(fleet)), config=CONFIG)
    for node_name, tree in data.draw(st.permutations(placed)):
        _hold(there, node_name, tree)
    slots, annotations = want
    one, other = ask(here, _pod(99, want)), ask(there, _pod(99, (data.draw(st.permutations(slots)), annotations)))
    names = sorted(here.nodes)
    assert filter_nodes(one, names, here) == filter_nodes(other, names, there)
    assert scores(one, names, here) == scores(other, names, there)


@PROFILE
@given(
    _fleets,
    _policies,
    st.lists(
        st.tuples(st.integers(1, 3), st.integers(0, 2), st.sampled_from([None, "Job/a", "ReplicaSet/b"])), max_size=8
    ),
)
def test_the_line_lifts_each_pod_once_and_comes_to_rest(
    fleet: list[Tree], policy: dict[str, str], waiting: list[tuple[int, int, str | None]]
) -> None:
    cluster = cluster_of(*fleet, namespace("team-a", **policy), config=CONFIG)
    trees = {
        f"p{turn}": gated(f"p{turn}", gpus=gpus, priority=priority, age=turn, owner=owner)
        for turn, (gpus, priority, owner) in enumerate(waiting)
    }
    for tree in trees.values():
        see(cluster, tree)
    lifted: list[str] = []
    while goes := liftable(cluster):
        lifted += goes
        for uid in goes:
            trees[uid]["spec"].pop("schedulingGates")
            see(cluster, trees[uid])
        assert len(lifted) == len(set(lifted))
    resolution, used = ask(cluster, pod()).resolution, cluster.quota_use("team-a")
    assert resolution.quota is None or resolution.quota.total is None or used.total <= resolution.quota.total
