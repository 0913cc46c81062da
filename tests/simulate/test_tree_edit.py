from typing import Any

import pytest

from gpusched.core.node import Taint
from gpusched.simulate.tree_edit import drop, put, tolerate, with_resource
from tests.build import Tree, container, pod

GPU = "nvidia.com/gpu"


def test_put_makes_what_is_missing_on_the_way() -> None:
    assert put({}, ("a", "b"), 1) == {"a": {"b": 1}}
    assert put({"a": None}, ("a", "b"), 1) == {"a": {"b": 1}}
    assert put({"a": {"c": 2}}, ("a", "b"), 1) == {"a": {"c": 2, "b": 1}}


def test_drop_of_what_is_not_there_is_nothing() -> None:
    tree: dict[str, Any] = {"a": {"b": 1, "c": 2}}

    assert drop(tree, ("a", "b")) == {"a": {"c": 2}}
    assert drop(tree, ("a", "x")) == drop(tree, ("x", "y")) == drop(tree, ("a", "b", "c")) == tree


@pytest.mark.parametrize("spec", [{}, {"tolerations": [{"operator": "Exists"}]}, {"tolerations": None}])
def test_a_toleration_is_appended(spec: dict[str, Any]) -> None:
    added = {"key": "k", "operator": "Equal", "value": "v", "effect": "NoSchedule"}
    kept = spec.get("tolerations") or []

    assert tolerate({"spec": spec}, Taint("k", "v")) == {"spec": {"tolerations": [*kept, added]}}


@pytest.mark.parametrize(
    ("resources", "amount", "expected"),
    [
        ({"limits": {GPU: 2}}, "1", {"limits": {GPU: "1"}}),
        (
            {"limits": {GPU: 2}, "requests": {GPU: 2, "cpu": 1}},
            "1",
            {"limits": {GPU: "1"}, "requests": {GPU: "1", "cpu": 1}},
        ),
        ({"requests": {GPU: 2}}, "1", {"requests": {GPU: "1"}}),
        ({}, "1", {"limits": {GPU: "1"}}),
        ({"limits": {GPU: 2}, "requests": {GPU: 2}}, None, {"limits": {}, "requests": {}}),
    ],
)
def test_amounts_are_changed_where_they_stand(resources: Tree, amount: str | None, expected: Tree) -> None:
    tree = pod("p", "team-a", container(resources=resources), container("other", gpus=5))
    changed = with_resource(tree, "main", GPU, amount)

    assert [item["resources"] for item in changed["spec"]["containers"]] == [expected, {"limits": {GPU: 5}}]
    assert tree["spec"]["containers"][0]["resources"] == resources


def test_odd_trees_are_left_alone() -> None:
    tree: Tree = {"spec": {"containers": [None, "x", {"name": "main"}], "initContainers": "x"}}

    assert with_resource(tree, "other", GPU, "1") == tree
    assert with_resource({"spec": None}, "main", GPU, "1") == {"spec": None}
