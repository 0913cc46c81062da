"""What is equal is held once, and stays equal to what was given."""

import pytest

from gpusched.core.demand import Demand
from gpusched.core.pod import Toleration
from gpusched.state.shared import SharedValues
from tests.state.records import bound_seen, pod_seen


def test_equal_values_are_one_object() -> None:
    shared = SharedValues()
    first = shared.one(Demand({"nvidia.com/gpu": 1}))

    assert shared.one(Demand({"nvidia.com/gpu": 1})) is first
    assert shared.one(Demand({"nvidia.com/gpu": 2})) is not first


def test_values_of_two_kinds_are_never_taken_for_each_other() -> None:
    shared = SharedValues()
    toleration = Toleration(key="a")
    fields = {"key": "a", "operator": "Equal", "value": "", "effect": ""}

    assert shared.one(toleration) is toleration
    assert shared.one(fields) is fields


def test_pods_share_all_but_what_is_their_own() -> None:
    shared = SharedValues()
    given = [
        bound_seen("a", "n1", annotations={"k": "v"}),
        bound_seen("b", "n1", annotations={"k": "v"}),
        pod_seen("c"),
    ]
    one, other, waiting = (shared.pod(pod) for pod in given)

    assert [one, other, waiting] == given
    assert one.spec.containers is other.spec.containers is waiting.spec.containers
    assert one.spec.node_name is other.spec.node_name
    assert one.labels is other.labels


def test_a_full_memory_starts_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpusched.state.shared._MOST", 2)
    shared = SharedValues()
    first = shared.one("a" * 2)
    for text in ("b", "c", "d"):
        shared.one(text)

    assert shared.one("".join(["a", "a"])) == first


def test_what_is_long_is_not_kept() -> None:
    shared = SharedValues()
    long = "a" * 5_000

    assert shared.one(long) is long
    assert shared.one("".join(["a"] * 5_000)) is not long
