from gpusched.policy.model import Config
from gpusched.simulate.world import World, load
from tests.build import Tree, bound, namespace, node, pod, t4_node
from tests.simulate.scene import cpu_pod, manifests, messages, world_of


def _load(*trees: Tree) -> World:
    return load(manifests(trees), Config())


def test_pods_are_booked_in_both_books_whatever_the_order() -> None:
    trees = [bound(pod("p", gpus=2), "n"), bound(cpu_pod("c", cpu="3"), "n"), node("n", gpus=4)]
    world = world_of(*trees)

    assert world.cluster.nodes["n"].use("nvidia.com/gpu").used == 2
    assert {key: world.ledger.node("n").used[key] for key in ("nvidia.com/gpu", "cpu")} == {
        "nvidia.com/gpu": 2,
        "cpu": 3000,
    }


def test_pending_and_finished_pods_are_not_booked() -> None:
    world = world_of(node("n"), pod("pending"), bound(pod("done"), "n", phase="Succeeded"))

    assert world.ledger.node("n").bound == {}
    assert list(world.pods) == [("team-a", "pending")]


def test_the_last_of_several_dumps_counts() -> None:
    world = world_of(
        t4_node("n", gpus=1), t4_node("n", gpus=3), namespace(families="hopper"), namespace(families="turing")
    )

    assert world.cluster.nodes["n"].node.pools[0].slots == 3
    assert world.ledger.node("n").free["nvidia.com/gpu"] == 3
    assert world.cluster.resolution("team-a", {}).constraints.families == ("turing",)


def test_labels_of_namespaces_are_known_to_the_native_rules() -> None:
    assert world_of(namespace("a", labels={"team": "x"})).ledger.namespace_labels["a"]["team"] == "x"


def test_nodes_get_the_labels_that_the_labeller_would_write() -> None:
    assert world_of(t4_node("n")).cluster.nodes["n"].node.object.labels["gpusched.io/family"] == "turing"
    assert world_of(t4_node("n")).ledger.node("n").object.labels["gpusched.io/family"] == "turing"


def test_faults_are_told_with_their_object() -> None:
    world = _load(node("n", gpus=-1), pod("p", priority="x"))

    assert messages(world.faults) == [
        ("status.allocatable[nvidia.com/gpu]", "Node n: -1 is negative: read as 0"),
        ("status.capacity[nvidia.com/gpu]", "Node n: -1 is negative: read as 0"),
        (
            "spec.priority",
            'Pod team-a/p: must be a whole number, not the string "x": write it without quotes',
        ),
    ]
    assert world.kinds == {"Node", "Pod"}


def test_kinds_that_are_no_state_are_left_out() -> None:
    service: Tree = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}}
    other: Tree = {"apiVersion": "example.com/v1", "kind": "Node", "metadata": {"name": "n"}}

    assert _load(service, other).kinds == set()
