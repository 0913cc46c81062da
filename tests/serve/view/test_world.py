"""A copy of the state stays equal to the state, whatever happens to it."""

import random

from gpusched.core.usage import Holder
from gpusched.native.ledger import NativeLedger
from gpusched.serve.view.world import Copy, photograph
from gpusched.simulate.world import World
from gpusched.state.cluster import Cluster
from gpusched.state.events import Gone, Kind, Upsert
from tests.build import h100_node, namespace, t4_node
from tests.serve.view.scene import Scene


def state_of(cluster: Cluster) -> object:
    return (
        {name: (state.node.pools, dict(state.holders), state.node.object) for name, state in cluster.nodes.items()},
        {key: record.pod for key, record in cluster.pods.items()},
        {name: cluster.namespace_object(name) for name in cluster.namespaces()},
        {name: cluster.quota_use(name) for name in ("team-a", "team-b")},
    )


def books_of(ledger: NativeLedger) -> object:
    return {name: (node.free, node.pods, sorted(node.bound)) for name, node in ledger.nodes.items()}


def fresh(scene: Scene) -> World:
    return Copy().bring_to(photograph(scene.cluster))


def assert_equal(world: World, scene: Scene) -> None:
    assert state_of(world.cluster) == state_of(scene.cluster)
    assert books_of(world.ledger) == books_of(fresh(scene).ledger)
    assert world.cluster.facts == scene.cluster.facts


def test_a_copy_is_equal_and_of_its_own() -> None:
    scene = Scene()
    world = fresh(scene)
    assert_equal(world, scene)

    with world.cluster.without(list(world.cluster.pods)):
        assert scene.cluster.nodes["h100"].use("nvidia.com/gpu").used == 2
    assert_equal(world, scene)


def test_a_promise_is_copied_and_taken_back() -> None:
    scene, copy = Scene(), Copy()
    scene.wait("soon", "team-a")
    scene.cluster.reserve("t4", "uid-team-a-soon", Holder("team-a", "soon", {"nvidia.com/gpu": 1}))
    world = copy.bring_to(photograph(scene.cluster))
    assert world.cluster.nodes["t4"].use("nvidia.com/gpu").used == 2

    scene.cluster.release("uid-team-a-soon")
    assert_equal(copy.bring_to(photograph(scene.cluster)), scene)


def test_a_copy_follows_random_changes() -> None:
    chance = random.Random(7)
    scene, copy = Scene(), Copy()
    for number in range(120):
        nodes = list(scene.cluster.nodes)
        match chance.randrange(6):
            case 0:
                scene.node(t4_node(f"t4-{chance.randrange(4)}", gpus=chance.randint(1, 3), replicas=2))
            case 1:
                scene.node(h100_node(f"h100-{chance.randrange(3)}", unschedulable=chance.random() < 0.5))
            case 2 if len(nodes) > 1:
                scene.lose(chance.choice(nodes))
            case 3:
                scene.namespace(namespace("team-a", quota=f"*={chance.randint(1, 9)}"))
            case 4 if scene.cluster.pods:
                scene.cluster.apply(Gone(Kind.POD, chance.choice(list(scene.cluster.pods))))
            case _:
                scene.hold(f"p-{number}", chance.choice(["team-a", "team-b"]), chance.choice(nodes))
        if chance.random() < 0.4:
            assert_equal(copy.bring_to(photograph(scene.cluster)), scene)


def test_a_new_configuration_begins_anew() -> None:
    scene, copy = Scene(), Copy()
    first = copy.bring_to(photograph(scene.cluster))
    scene.cluster.configure(type(scene.cluster.config)(weight=7))

    world = copy.bring_to(photograph(scene.cluster))

    assert world is not first
    assert world.cluster.config.weight == 7
    assert_equal(world, scene)
    scene.cluster.apply(Upsert(next(iter(scene.cluster.pods.values())).pod))
    assert_equal(copy.bring_to(photograph(scene.cluster)), scene)


def test_what_stands_still_is_not_taken_in_again() -> None:
    scene, copy = Scene(), Copy()
    scene.wait("soon", "team-a")
    before = dict(copy.bring_to(photograph(scene.cluster)).cluster.pods)
    scene.hold("more", "team-a", "t4")

    after = copy.bring_to(photograph(scene.cluster)).cluster.pods
    assert all(after[key] is record for key, record in before.items())
    assert len(after) == len(before) + 1
