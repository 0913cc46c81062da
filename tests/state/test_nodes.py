"""What the books of nodes say of all nodes together, and that it follows every change."""

import pytest

from gpusched.core.node import Node
from gpusched.core.read_cluster import read_node
from gpusched.core.resources import GpuResources
from gpusched.core.selector import Operator, Requirement
from gpusched.dialects.inventory import inventory
from gpusched.state.nodes import NodeBooks
from tests.build import Tree, a100_node, h100_node, node, t4_node

ZONE_A = (Requirement("zone", Operator.IN, ("a",)),)


def read(tree: Tree) -> Node:
    return inventory(read_node(tree, []), GpuResources({}))


def books(*trees: Tree) -> NodeBooks:
    found = NodeBooks()
    for tree in trees:
        found.put(read(tree))
    return found


def test_products_are_those_offered_now() -> None:
    found = books(h100_node("a"), h100_node("b"), node("cpu", gpus=None))
    assert found.products == {"h100-80gb-hbm3"}
    before = found.products

    found.put(read(h100_node("b", labels={"zone": "a"})))
    found.drop("a")
    found.drop("nobody")
    assert found.products is before

    found.put(read(a100_node("b")))
    assert found.products == {"a100-sxm4-80gb"}
    found.put(read(a100_node("b", gpus=0)))
    assert found.products == set()


def test_the_nodes_that_a_selector_leaves_out_follow_labels() -> None:
    found = books(t4_node("a", labels={"zone": "a"}), t4_node("b", labels={"zone": "b"}), t4_node("none"))
    assert found.selection.left_out(ZONE_A) == {"b", "none"}

    found.put(read(t4_node("a", labels={"zone": "c"})))
    found.put(read(t4_node("b", labels={"zone": "a"})))
    found.put(read(t4_node("new")))
    found.drop("none")
    assert found.selection.left_out(ZONE_A) == {"a", "new"}


def test_selectors_do_not_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpusched.state.selection._SELECTORS", 2)
    found = books(t4_node("a", labels={"zone": "a"}))
    for value in ("x", "y", "z"):
        found.selection.left_out((Requirement("zone", Operator.IN, (value,)),))
    found.drop("a")

    assert found.selection.left_out(ZONE_A) == set()


def test_zones_follow_labels() -> None:
    key = "topology.kubernetes.io/zone"
    found = books(*(t4_node(name, labels={key: zone}) for name, zone in ("aa", "bb", "cc")), t4_node("none"))
    found.put(read(t4_node("a", labels={key: "z"})))
    found.put(read(t4_node("b")))
    found.drop("c")

    assert found.zones == {"a": "z"}


def test_signatures_are_kept_by_name() -> None:
    found = books(*(t4_node(f"n{turn}") for turn in range(9)), h100_node("h"))
    found.drop("n3")
    found.put(read(h100_node("n4")))

    assert found.signatures == {name: state.signature for name, state in found.states.items()}
    assert found.signatures["n4"] == found.signatures["h"] != found.signatures["n1"]


@pytest.mark.parametrize(
    ("name", "plain"), [("n-1.example", True), ('n"', False), ("n\\", False), ("ü", False), ("", False)]
)
def test_names_that_json_escapes_are_known(name: str, plain: bool) -> None:
    found = books(t4_node("a"), t4_node(name))
    assert found.plain_names is plain
    found.drop(name)
    assert found.plain_names
