"""Which labels are written when."""

from typing import Any

import pytest

from gpusched.core.node import Node
from gpusched.serve.label_plan import LabelPlan
from tests.build import Tree, h100_node, node, t4_node
from tests.placement.scene import cluster_of

T4 = {
    "gpusched.io/vendor": "nvidia",
    "gpusched.io/family": "turing",
    "gpusched.io/product": "t4",
    "gpusched.io/sharing": "none",
    "gpusched.io/gpu-memory-mib": "15360",
    "gpusched.io/visible-memory-mib": "15360",
    "gpusched.io/slot-memory-mib": "15360",
    "gpusched.io/replicas": "1",
    "gpusched.io/cuda-version": "12040",
    "gpusched.io/driver-version": "550107002",
}


def seen(tree: Tree, uid: str = "one") -> Node:
    tree["metadata"]["uid"] = uid
    return cluster_of(tree).nodes[tree["metadata"]["name"]].node


def bare(labels: dict[str, str], uid: str = "one", **extra: Any) -> Node:
    """A node whose device plugin is gone: no GPU labels but ours."""
    return seen(node("t4", gpus=None, labels=labels, **extra), uid)


def test_the_first_patch_is_everything_and_the_second_nothing() -> None:
    plan = LabelPlan(600)

    assert plan.patch(seen(t4_node()), 0) == T4
    assert plan.patch(seen(t4_node(labels=T4)), 1) == {}


def test_only_changed_keys_are_patched() -> None:
    assert LabelPlan(600).patch(seen(t4_node(labels=T4 | {"gpusched.io/family": "ampere"})), 0) == {
        "gpusched.io/family": "turing"
    }


def test_labels_of_others_are_let_be() -> None:
    assert LabelPlan(600).patch(seen(t4_node(labels=T4 | {"gpusched.io/other": "x", "team": "a"})), 0) == {}


def test_vanished_facts_keep_their_labels_for_a_while() -> None:
    plan = LabelPlan(600)

    assert plan.patch(bare(T4), 100) == {}
    assert list(plan.waiting()) == ["t4"]
    assert plan.patch(bare(T4), 699) == {}
    assert plan.patch(bare(T4), 700) == dict.fromkeys(T4)


def test_facts_that_come_back_start_the_time_anew() -> None:
    plan = LabelPlan(600)
    plan.patch(bare(T4), 0)
    assert plan.patch(seen(t4_node(labels=T4)), 500) == {}

    assert list(plan.waiting()) == []
    assert plan.patch(bare(T4), 601) == {}


def test_a_changed_value_is_written_at_once_while_others_vanish() -> None:
    plan = LabelPlan(600)
    tree = h100_node("t4", gpus=1, labels=T4)
    del tree["metadata"]["labels"]["nvidia.com/cuda.driver-version.full"]

    patch = plan.patch(seen(tree), 0)

    assert patch["gpusched.io/family"] == "hopper"
    assert "gpusched.io/driver-version" not in patch


@pytest.mark.parametrize("forgotten", [False, True])
def test_another_node_of_the_name_keeps_nothing(*, forgotten: bool) -> None:
    plan = LabelPlan(600)
    plan.patch(seen(t4_node()), 0)
    if forgotten:
        plan.forget("t4")

    assert plan.patch(bare(T4, uid="two"), 1) == dict.fromkeys(T4)


def test_names_of_nodes_that_went_are_not_kept_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpusched.serve.label_plan._GONE", 2)
    plan = LabelPlan(600)
    for name in ("a", "b", "c"):
        plan.patch(seen(t4_node(name)), 0)
        plan.forget(name)

    assert (list(plan._gone), plan._uids) == (["b", "c"], {})


def test_pools_that_differ_take_the_labels_away_at_once() -> None:
    tree = t4_node(labels=T4, allocatable={"amd.com/gpu": "1"})

    patch = LabelPlan(600).patch(seen(tree), 0)

    assert patch["gpusched.io/mixed"] == "true"
    assert patch["gpusched.io/vendor"] is None


def test_pools_that_agree_again_are_not_mixed() -> None:
    assert LabelPlan(600).patch(seen(t4_node(labels=T4 | {"gpusched.io/mixed": "true"})), 0) == {
        "gpusched.io/mixed": None
    }


def test_a_node_without_gpus_gets_no_patch() -> None:
    assert LabelPlan(600).patch(bare({}), 0) == {}
