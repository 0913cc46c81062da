"""Nodes as callers see them."""

import pytest

from gpusched.serve.view.access import EVERYTHING
from gpusched.serve.view.nodes import node_view
from tests.build import t4_node
from tests.serve.view.scene import Scene


@pytest.mark.parametrize(
    ("key", "effect", "taints"),
    [
        ("dedicated", "NoSchedule", ["dedicated=x:NoSchedule"]),
        ("dedicated", "PreferNoSchedule", []),
        ("nvidia.com/gpu", "NoSchedule", []),
        ("node.kubernetes.io/not-ready", "NoExecute", []),
    ],
)
def test_taints_that_nothing_makes_pods_tolerant_of(key: str, effect: str, taints: list[str]) -> None:
    scene = Scene()
    scene.node(t4_node("t4", taints=[{"key": key, "value": "x", "effect": effect}]))

    view = node_view(scene.cluster.nodes["t4"], EVERYTHING, scene.cluster)
    assert list(view.taints) == taints
    assert [note for note in view.notes if note.startswith("taint ")] == [f"taint {taint}" for taint in taints]
