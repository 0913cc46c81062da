import pytest
from msgspec.structs import replace

from gpusched.core.cluster_facts import OperatorFacts, RuntimeClass
from gpusched.core.dra import read_device_class, read_resource_slice
from gpusched.core.names import FACTS_ANNOTATION
from gpusched.core.node import Taint
from gpusched.core.pool import Sharing
from gpusched.policy.config import parse_config
from gpusched.policy.model import Config, Mode
from gpusched.state import cluster as module
from gpusched.state.cluster import Cluster
from gpusched.state.events import Event, Gone, Kind, Replace, Seen, Upsert, key_of, kind_of
from tests.build import Tree, a100_node, h100_node, node, t4_node
from tests.state.records import bound_seen, cluster_with, namespace_seen, node_seen, pod_seen, promise, used


def test_nodes_are_taken_inventory_of() -> None:
    cluster = cluster_with(node_seen(t4_node("t4", gpus=2, replicas=4)))

    (pool,) = cluster.nodes["t4"].node.pools
    assert (pool.family, pool.sharing, pool.slots, pool.devices) == ("turing", Sharing.TIME_SLICING, 8, 2)


def test_pods_seen_before_their_node_are_found_on_it() -> None:
    cluster = cluster_with(bound_seen("p", gpus=2))
    assert "n1" not in cluster.nodes

    cluster.apply(Upsert(node_seen()))
    assert used(cluster) == 2


def test_a_node_that_comes_back_still_has_its_pods() -> None:
    cluster = cluster_with(node_seen(), bound_seen("p"))
    cluster.reserve("n1", "u", promise())
    cluster.apply(Gone(Kind.NODE, "n1"))
    assert cluster.nodes == {}

    cluster.release("u")
    cluster.apply(Upsert(node_seen()))
    assert used(cluster) == 1


def test_a_node_that_changes_keeps_its_holders() -> None:
    cluster = cluster_with(node_seen(), bound_seen("p", gpus=3))
    version = cluster.nodes["n1"].version
    cluster.apply(Upsert(node_seen(gpus=1)))

    state = cluster.nodes["n1"]
    assert (used(cluster), state.node.pools[0].slots) == (3, 1)
    assert state.version > version


def test_a_new_list_shows_what_was_deleted_in_a_gap() -> None:
    cluster = cluster_with(node_seen(), node_seen(name="n2"), bound_seen("a"), bound_seen("b"), namespace_seen())
    cluster.apply(Replace(Kind.POD, (bound_seen("b"), bound_seen("c", "n2"))))
    assert set(cluster.pods) == {"uid-team-a-b", "uid-team-a-c"}
    assert (used(cluster), used(cluster, "n2")) == (1, 1)

    cluster.apply(Replace(Kind.NODE, (node_seen(name="n2"),)))
    assert list(cluster.nodes) == ["n2"]

    cluster.apply(Replace(Kind.NAMESPACE, ()))
    assert not cluster.namespace("team-a").known


def test_an_unseen_namespace_has_no_policy() -> None:
    state = cluster_with().namespace("nowhere")

    assert (state.known, state.labels, state.parsed.policy) == (False, {}, type(state.parsed.policy)())


def test_a_policy_holds_from_the_moment_it_is_seen_until_it_goes() -> None:
    cluster = cluster_with()
    assert cluster.resolution("team-a", {}).constraints.families is None

    cluster.apply(Upsert(namespace_seen(families="hopper")))
    assert cluster.resolution("team-a", {}).constraints.families == ("hopper",)
    assert cluster.resolution("team-a", {}).modes.default is Mode.ENFORCE

    cluster.apply(Upsert(namespace_seen(families="turing")))
    assert cluster.resolution("team-a", {}).constraints.families == ("turing",)

    cluster.apply(Gone(Kind.NAMESPACE, "team-a"))
    assert cluster.resolution("team-a", {}).constraints.families is None


def test_resolutions_are_remembered_by_what_they_depend_on() -> None:
    cluster = cluster_with(namespace_seen(families="hopper, turing"))
    first = cluster.resolution("team-a", {"gpusched.io/families": "hopper", "note": "x"})

    assert cluster.resolution("team-a", {"note": "y", "gpusched.io/families": "hopper"}) is first
    assert cluster.resolution("team-a", {"gpusched.io/families": "turing"}) is not first


def test_remembered_resolutions_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MEMO_LIMIT", 10)
    cluster = cluster_with()
    first = cluster.resolution("team-a", {})
    for number in range(11):
        cluster.resolution("team-a", {"gpusched.io/gpu-memory": f"{number + 1}Mi"})

    assert cluster.resolution("team-a", {}) is not first
    assert cluster.resolution("team-a", {}) == first


def test_facts_are_about_all_nodes_together_and_follow_changes() -> None:
    tainted = h100_node("h", taints=[{"key": "nvidia.com/gpu", "effect": "NoSchedule"}])
    cluster = cluster_with(
        node_seen(tainted),
        node_seen(a100_node("a")),
        node_seen(node("cpu", gpus=None, taints=[{"key": "x", "effect": "NoSchedule"}])),
        RuntimeClass("nvidia"),
        OperatorFacts(nri_enabled=True),
    )
    facts = cluster.facts
    assert [item.name for item in facts.nodes] == ["a", "cpu", "h"]
    assert {pool.family for pool in facts.pools} == {"ampere", "hopper"}
    assert facts.gpu_taints == (Taint("nvidia.com/gpu"),)
    assert (list(facts.runtime_classes), facts.operator) == (["nvidia"], OperatorFacts(nri_enabled=True))
    assert cluster.facts is facts

    for event in (Gone(Kind.NODE, "h"), Gone(Kind.RUNTIME_CLASS, "nvidia"), Gone(Kind.CLUSTER_POLICY, "")):
        cluster.apply(event)
    assert {pool.family for pool in cluster.facts.pools} == {"ampere"}
    assert (cluster.facts.gpu_taints, cluster.facts.runtime_classes, cluster.facts.operator) == ((), {}, None)


def test_without_a_cluster_nothing_is_known() -> None:
    cluster = cluster_with(node_seen(), known=False)

    assert (cluster.facts.known, cluster.facts.nodes) == (False, ())


def test_nodes_get_the_normalised_labels_only_where_asked() -> None:
    tree = t4_node("t4", labels={"gpusched.io/family": "stale", "zone": "z"})
    live = cluster_with(node_seen(tree)).nodes["t4"].node.object.labels
    offline = cluster_with(node_seen(tree), label_nodes=True).nodes["t4"].node.object.labels

    assert live["gpusched.io/family"] == "stale"
    assert (offline["gpusched.io/family"], offline["zone"]) == ("turing", "z")


def test_the_administrators_word_settles_facts() -> None:
    tree = node("n1", gpus=4, annotations={FACTS_ANNOTATION: "family=hopper, sharing=none"})
    (pool,) = cluster_with(node_seen(tree)).nodes["n1"].node.pools

    assert (pool.family, pool.sharing) == ("hopper", Sharing.NONE)


def _device_class() -> Seen:
    spec = {"extendedResourceName": "nvidia.com/gpu", "selectors": [{"cel": {"expression": "gpu.nvidia.com"}}]}
    return read_device_class({"metadata": {"name": "gpu"}, "spec": spec}, [])


def _slice() -> Seen:
    spec = {"driver": "gpu.nvidia.com", "nodeName": "n1", "devices": [{"name": "a"}]}
    return read_resource_slice({"metadata": {"name": "s"}, "spec": spec}, [])


@pytest.mark.parametrize("order", [(0, 1, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)])
def test_nodes_served_through_dra_are_known_in_any_order(order: tuple[int, ...]) -> None:
    seen = [node_seen(node("n1", gpus=None)), _device_class(), _slice()]
    cluster = cluster_with(*(seen[index] for index in order))
    assert "nvidia.com/gpu" in cluster.nodes["n1"].node.dra_resources

    cluster.apply(Gone(Kind.RESOURCE_SLICE, "s"))
    assert cluster.nodes["n1"].node.dra_resources == frozenset()


def test_a_slice_that_moves_is_of_the_node_that_it_names_now() -> None:
    cluster = cluster_with(
        _device_class(), _slice(), *(node_seen(node(name, gpus=None)) for name in ("n1", "n2", "n3"))
    )
    moved = replace(_slice(), node_name="n2")
    for event, served in (
        (Upsert(moved), ["n2"]),
        (Gone(Kind.DEVICE_CLASS, "gpu"), []),
        (Upsert(_device_class()), ["n2"]),
    ):
        cluster.apply(event)
        assert [name for name, state in cluster.nodes.items() if state.node.dra_resources] == served

    cluster.apply(Replace(Kind.RESOURCE_SLICE, (_slice(), replace(moved, name="other", node_name="n3"))))
    assert [name for name, state in cluster.nodes.items() if state.node.dra_resources] == ["n1", "n3"]


def test_every_change_grows_the_generation() -> None:
    cluster = cluster_with()
    events: list[Event] = [
        Upsert(node_seen()),
        Upsert(pod_seen("p")),
        Gone(Kind.POD, "uid-team-a-p"),
        Replace(Kind.NAMESPACE, ()),
    ]
    seen = [cluster.generation]
    for event in events:
        cluster.apply(event)
        seen.append(cluster.generation)
    cluster.reserve("n1", "u", promise())
    seen.append(cluster.generation)
    cluster.release("u")
    seen.append(cluster.generation)

    assert seen == sorted(set(seen))


def test_going_of_what_was_never_seen_is_nothing() -> None:
    cluster = cluster_with(node_seen(), bound_seen("p"))
    for kind in Kind:
        cluster.apply(Gone(kind, "nobody"))

    assert (list(cluster.nodes), used(cluster)) == (["n1"], 1)


def test_nodes_that_can_not_be_told_apart_share_a_signature() -> None:
    cluster = cluster_with(node_seen(h100_node("a")), node_seen(h100_node("b")), node_seen(a100_node("c")))
    signatures = {name: state.signature for name, state in cluster.nodes.items()}
    assert signatures["a"] == signatures["b"] != signatures["c"]

    cluster.apply(Upsert(bound_seen("p", "b")))
    assert cluster.nodes["b"].signature != signatures["b"]


@pytest.mark.parametrize(
    ("seen", "kind", "key"),
    [
        (node_seen(), Kind.NODE, "n1"),
        (pod_seen("p"), Kind.POD, "uid-team-a-p"),
        (namespace_seen(), Kind.NAMESPACE, "team-a"),
        (RuntimeClass("r"), Kind.RUNTIME_CLASS, "r"),
        (OperatorFacts(), Kind.CLUSTER_POLICY, ""),
        (_device_class(), Kind.DEVICE_CLASS, "gpu"),
        (_slice(), Kind.RESOURCE_SLICE, "s"),
    ],
)
def test_kinds_and_keys_of_what_is_seen(seen: Seen, kind: Kind, key: str) -> None:
    assert (kind_of(seen), key_of(seen)) == (kind, key)


def test_configured_resources_count_as_gpus() -> None:
    tree: Tree = {
        "apiVersion": "gpusched.io/v1alpha1",
        "kind": "Config",
        "resources": [{"name": "nvidia.com/gpu-10gb", "vendor": "nvidia"}],
    }
    config, faults = parse_config(tree)
    seen = bound_seen("p", resource="nvidia.com/gpu-10gb")

    assert faults == ()
    assert set(cluster_with(node_seen(), seen, config=config).pods) == {"uid-team-a-p"}
    assert Cluster(Config()).resources.vendor("nvidia.com/gpu-10gb") is None


def test_what_users_write_at_length_is_not_kept() -> None:
    cluster = cluster_with(node_seen())
    short, long = ({"gpusched.io/families": "hopper" + " " * blanks} for blanks in (0, 3_000))

    assert cluster.resolution("a", short) is cluster.resolution("a", short)
    assert cluster.resolution("a", long) is not cluster.resolution("a", long)
    assert cluster.resolution("a", long).own.policy == cluster.resolution("a", short).own.policy
