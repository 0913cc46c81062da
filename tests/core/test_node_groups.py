"""Nodes that offer the same, kept together."""

from typing import Any

import msgspec
import pytest

from gpusched.core.node import Node, NodeObject, Taint
from gpusched.core.node_groups import grouped
from gpusched.core.pool import Pool

GPU = "nvidia.com/gpu"


def offering(name: str, slots: int = 8, labels: dict[str, str] | None = None, **seen: Any) -> Node:
    seen_node = msgspec.structs.replace(NodeObject(name, labels=labels or {}), **seen)
    return Node(seen_node, pools=(Pool(GPU, "nvidia", slots=slots, notes=(f"a note on {name}",)),))


@pytest.mark.parametrize(
    ("other", "together"),
    [
        (offering("b"), True),
        (offering("b", labels={"zone": "x"}), True),
        (offering("b", 4), False),
        (offering("b", taints=(Taint("k"),)), False),
        (offering("b", unschedulable=True), False),
        (offering("b", labels={"gpusched.io/vendor": "nvidia"}), False),
        (msgspec.structs.replace(offering("b"), dra_resources=frozenset({GPU})), False),
    ],
)
def test_what_sets_nodes_apart(other: Node, together: bool) -> None:
    names = [[node.name for node in group.nodes] for group in grouped([offering("a"), other])]
    assert names == ([["a", "b"]] if together else [["a"], ["b"]])


def test_one_node_for_each_combination_of_labels() -> None:
    zones = [{"zone": "x"}, {"zone": "y", "disk": "ssd"}, {}, {"zone": "y"}]
    (group,) = grouped([offering(f"n{turn}", labels=zones[turn % 4]) for turn in range(40)])
    for _ in range(2):
        assert [node.name for node in group.distinct(("zone",))] == ["n0", "n1", "n2"]
        assert [node.name for node in group.distinct(("disk", "zone"))] == ["n0", "n1", "n2", "n3"]
        assert [node.name for node in group.distinct(())] == ["n0"]
        assert [node.name for node in group.named({"n7", "n5", "gone"})] == ["n5", "n7"]


def test_answers_stay_right_when_more_is_asked_than_is_remembered() -> None:
    (group,) = grouped([offering("a", labels={"key-7": "v"}), offering("b")])
    for turn in (*range(1000), 7):
        assert len(group.distinct((f"key-{turn}",))) == 1 + (turn == 7)
