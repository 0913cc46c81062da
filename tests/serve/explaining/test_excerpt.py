"""A part of the cluster as a world of its own: what decides about the pod is in it, wherever it comes from."""

from collections.abc import Sequence

from gpusched.core.codes import Reason
from gpusched.core.read_pod import read_pod
from gpusched.core.usage import Holder
from gpusched.serve.explaining.excerpt import around, excerpt_of
from gpusched.simulate.world import World
from gpusched.state.cluster import Cluster
from tests.build import Tree, h100_node, namespace, pod, t4_node
from tests.placement.scene import ask as request
from tests.placement.scene import cluster_of, promise, running, see


def part(cluster: Cluster, names: Sequence[str], tree: Tree | None = None) -> World:
    asked = read_pod(tree or pod(), [])
    reasons = dict.fromkeys(cluster.nodes, Reason.FAMILY)
    seen = [item for some in around(asked, cluster) for item in some]
    use = cluster.quota_use(asked.namespace, without=asked.uid)
    return excerpt_of(cluster, asked, names, reasons, use, seen).world()


def beside(name: str, node: str, **labels: str) -> Tree:
    return running(name, node, labels=labels)


def terms(topology: str, app: str) -> list[Tree]:
    return [{"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": topology}]


def apart(topology: str, app: str) -> Tree:
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms(topology, app)}}


def test_nodes_holders_and_facts() -> None:
    cluster = cluster_of(namespace(families="turing"), t4_node("a", gpus=2), t4_node("b"), h100_node("c"))
    see(cluster, running("r", "a"))
    world = part(cluster, ["a"])

    assert list(world.cluster.nodes) == ["a"]
    assert dict(world.cluster.nodes["a"].holders) == dict(cluster.nodes["a"].holders)
    assert world.ledger.node("a").free["nvidia.com/gpu"] == 1
    assert world.elsewhere == {"b": Reason.FAMILY, "c": Reason.FAMILY}
    assert world.cluster.facts == cluster.facts
    assert world.cluster.resolution("team-a", {}) == cluster.resolution("team-a", {})


def test_a_promise_counts_as_what_it_is() -> None:
    soon = pod("soon")
    cluster = cluster_of(t4_node(gpus=2), soon)
    promise(cluster, "t4", request(cluster, soon))
    world = part(cluster, ["t4"])

    (held,) = world.cluster.nodes["t4"].holders.values()
    assert held == Holder("team-a", "soon", {"nvidia.com/gpu": 1})
    assert world.ledger.node("t4").free["nvidia.com/gpu"] == 1


def test_the_quota_is_that_of_all_nodes_and_what_ends_here_frees_it() -> None:
    cluster = cluster_of(namespace(quota="*=9"), t4_node("a", gpus=4), t4_node("b", gpus=4))
    for name, node in (("r1", "a"), ("r2", "a"), ("r3", "b")):
        see(cluster, running(name, node))
    world = part(cluster, ["a"])

    assert world.cluster.quota_use("team-a") == cluster.quota_use("team-a")
    with world.cluster.without([next(iter(world.cluster.pods))]):
        assert world.cluster.quota_use("team-a").families == {"turing": 2}
    assert world.cluster.quota_use("team-a").families == {"turing": 3}


def test_pods_around_that_matter() -> None:
    cluster = cluster_of(*(t4_node(name, gpus=4, labels={"zone": "z"}) for name in ("a", "b", "c")))
    see(cluster, beside("like", "b", app="x"))
    see(cluster, beside("unlike", "b", app="y"))
    see(cluster, running("far", "c", affinity=apart("zone", "mine")))
    see(cluster, running("at-home", "c", affinity=apart("kubernetes.io/hostname", "mine")))

    def met(tree: Tree) -> list[str]:
        return [item.pod.name for some in around(read_pod(tree, []), cluster) for item in some]

    assert met(pod(affinity=apart("zone", "x"))) == ["like"]
    assert met(pod(affinity=apart("kubernetes.io/hostname", "x"))) == []
    assert met(pod(labels={"app": "mine"})) == ["far"]
    world = part(cluster, ["a"], pod(labels={"app": "mine"}))
    assert sorted(world.ledger.nodes) == ["a", "c"]
    assert list(world.cluster.nodes) == ["a"]


def test_spread_knows_the_domains_without_pods() -> None:
    spread = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {}}
    cluster = cluster_of(*(t4_node(name) for name in ("a", "b", "c")))
    assert sorted(part(cluster, ["a"], pod(topologySpreadConstraints=[spread])).ledger.nodes) == ["a", "b", "c"]
