from gpusched.simulate.standing import unread_annotations
from tests.build import Tree, namespace, t4_node
from tests.simulate.scene import world_of


def annotated(name: str, **annotations: str) -> Tree:
    tree = t4_node(name)
    tree["metadata"]["annotations"] = {f"gpusched.io/{key}": value for key, value in annotations.items()}
    return tree


def test_misspelt_and_unreadable_keys_of_namespaces() -> None:
    world = world_of(namespace("a", familys="hopper"), namespace("b", families="hoper"), namespace("c", families="t4"))

    notes = unread_annotations(world, {"c"})
    assert notes[0] == (
        "Namespace a: gpusched.io/familys is no known key; write gpusched.io/families; until then it means nothing"
    )
    assert notes[1].startswith('Namespace b: gpusched.io/families: "hoper" ')
    assert notes[1].endswith("; until then its GPU pods are refused where it enforces")
    assert len(notes) == 2


def test_one_line_for_all_that_have_the_same_fault() -> None:
    world = world_of(*(namespace(name, familys="hopper") for name in "edcba"))

    (note,) = unread_annotations(world)
    assert note.startswith("Namespace a, Namespace b, Namespace c and 2 more: gpusched.io/familys ")


def test_nodes() -> None:
    world = world_of(annotated("n1", fact="replicas=4"), annotated("n2", facts="replica=4"), annotated("n3"))

    assert unread_annotations(world) == [
        "Node n1: gpusched.io/fact is no known key of Nodes; write gpusched.io/facts",
        "Node n2: gpusched.io/facts: unknown key 'replica'; did you mean replicas?",
    ]
