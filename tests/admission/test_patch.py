from typing import Any

import pytest

from gpusched.admission.admission import Op
from gpusched.admission.patch import PatchBuilder, pointer
from tests.admission.patching import applied


def test_a_missing_parent_is_added_once_and_later_edits_go_into_it() -> None:
    builder = PatchBuilder({"spec": {}})
    builder.append(("spec", "tolerations"), {"key": "a"})
    builder.append(("spec", "tolerations"), {"key": "b"})
    builder.set(("metadata", "annotations", "x/y"), "1")
    builder.set(("metadata", "annotations", "z"), "2")
    assert builder.ops == (
        Op("add", "/spec/tolerations", [{"key": "a"}, {"key": "b"}]),
        Op("add", "/metadata", {"annotations": {"x/y": "1", "z": "2"}}),
    )


def test_an_existing_list_is_appended_to_item_by_item() -> None:
    builder = PatchBuilder({"spec": {"tolerations": [{"key": "a"}]}})
    builder.append(("spec", "tolerations"), {"key": "b"})
    builder.append(("spec", "tolerations"), {"key": "c"})
    assert builder.ops == (
        Op("add", "/spec/tolerations/-", {"key": "b"}),
        Op("add", "/spec/tolerations/-", {"key": "c"}),
    )


def test_keys_are_escaped() -> None:
    assert pointer(("metadata", "annotations", "a/b~c")) == "/metadata/annotations/a~1b~0c"


def test_the_object_itself_is_never_changed() -> None:
    tree: dict[str, Any] = {"spec": {"tolerations": [], "affinity": None}}
    builder = PatchBuilder(tree)
    builder.append(("spec", "tolerations"), 1)
    builder.set(("spec", "affinity", "nodeAffinity"), {})
    builder.remove(("spec", "tolerations"))
    assert tree == {"spec": {"tolerations": [], "affinity": None}}


def test_setting_what_is_there_already_is_no_operation() -> None:
    builder = PatchBuilder({"spec": {"runtimeClassName": "nvidia"}})
    builder.set(("spec", "runtimeClassName"), "nvidia")
    assert builder.ops == ()


def test_remove_only_removes_what_is_there() -> None:
    builder = PatchBuilder({"metadata": {"annotations": {"a/b": "1", "null": None}}})
    for key in ("a/b", "null", "missing"):
        builder.remove(("metadata", "annotations", key))
    builder.remove(("status", "x", "y"))
    assert builder.ops == (Op("remove", "/metadata/annotations/a~1b"), Op("remove", "/metadata/annotations/null"))


@pytest.mark.parametrize(
    ("tree", "after"),
    [
        ({"spec": None}, {"spec": {"env": [1]}}),
        ({"spec": {"env": None}}, {"spec": {"env": [1]}}),
        ({}, {"spec": {"env": [1]}}),
        ({"spec": {"env": [0]}}, {"spec": {"env": [0, 1]}}),
        ({"spec": {"env": {"a": "map"}}}, {"spec": {"env": {"a": "map"}}}),
        ({"spec": ["a list"]}, {"spec": ["a list"]}),
        ({"spec": "text"}, {"spec": "text"}),
    ],
)
def test_nulls_are_missing_and_wrong_types_are_left_alone(tree: Any, after: Any) -> None:
    builder = PatchBuilder(tree)
    builder.append(("spec", "env"), 1)
    assert applied(tree, builder.ops) == after


@pytest.mark.parametrize("items", [[], [None], ["text"], [["list"]]])
def test_an_element_that_is_no_mapping_is_left_alone(items: list[Any]) -> None:
    tree = {"spec": {"containers": items}}
    builder = PatchBuilder(tree)
    builder.append(("spec", "containers", 0, "env"), 1)
    builder.set(("spec", "containers", 0, "image"), "x")
    assert builder.ops == ()


def test_edits_below_an_element_of_a_list() -> None:
    tree = {"spec": {"containers": [{"name": "a"}, {"name": "b", "env": [0]}]}}
    builder = PatchBuilder(tree)
    for index in (0, 1):
        builder.append(("spec", "containers", index, "env"), 1)
        builder.append(("spec", "containers", index, "env"), 2)
    assert applied(tree, builder.ops) == {
        "spec": {"containers": [{"name": "a", "env": [1, 2]}, {"name": "b", "env": [0, 1, 2]}]}
    }
