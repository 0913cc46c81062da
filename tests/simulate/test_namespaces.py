from gpusched.simulate.manifest import InputFault
from gpusched.simulate.namespaces import Namespaces
from gpusched.simulate.world import World
from tests.build import Tree, namespace, t4_node
from tests.placement.scene import running
from tests.simulate.scene import manifests, messages, world_of


def taken(world: World, *trees: Tree) -> tuple[Namespaces, list[InputFault]]:
    faults: list[InputFault] = []
    namespaces = Namespaces(world)
    namespaces.take(manifests(trees), faults)
    return namespaces, faults


def test_good_ones_hold_at_once() -> None:
    world = world_of(namespace("a", families="turing"))
    namespaces, _ = taken(world, namespace("a", families="hopper", labels={"x": "y"}), namespace("b"))

    assert [(view.name, view.admission.allowed) for view in namespaces.views] == [("a", True), ("b", True)]
    assert world.cluster.resolution("a", {}).constraints.families == ("hopper",)
    assert world.ledger.namespace_labels["a"]["x"] == "y"


def test_a_refused_one_leaves_the_standing_one() -> None:
    world = world_of(namespace("a", families="turing"))
    namespaces, _ = taken(world, namespace("a", families="hoper"))

    assert namespaces.refusal("a") is None
    assert world.cluster.resolution("a", {}).constraints.families == ("turing",)


def test_a_refused_new_one_refuses_its_pods() -> None:
    namespaces, _ = taken(world_of(), namespace("a", families="hoper"))
    refusal = namespaces.refusal("a")

    assert refusal is not None
    assert refusal.code == "policy-malformed"
    assert refusal.message.startswith("Namespace a was refused: ")
    assert namespaces.refusal("b") is None


def test_a_second_and_better_try_takes_the_refusal_back() -> None:
    namespaces, _ = taken(world_of(), namespace("a", families="hoper"), namespace("a", families="hopper"))

    assert namespaces.refusal("a") is None


def test_what_stood_before_is_let_be() -> None:
    standing = namespace("a", famlies="hopper")
    namespaces, _ = taken(world_of(standing), namespace("a", famlies="hopper"))

    assert [view.admission.allowed for view in namespaces.views] == [True]


def test_what_cannot_be_read_is_told() -> None:
    tree = namespace("a")
    tree["metadata"]["labels"] = ["x"]
    _, faults = taken(world_of(), tree)

    assert messages(faults) == [
        ("metadata.labels", 'Namespace a: must be a mapping, not a list: write "key: value" lines')
    ]


def test_running_pods_that_violate_a_new_policy_are_told() -> None:
    world = world_of(t4_node(), namespace("team-a"), running("p", "t4"))
    namespaces, _ = taken(world, namespace("team-a", families="hopper"))
    (view,) = namespaces.views

    assert [(warning.code, warning.message) for warning in view.admission.warnings] == [
        ("gpu-policy-family", "1 running pod violates it (p); it stays, but will not return after a drain.")
    ]
