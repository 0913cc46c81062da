import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusched.core.node import Taint
from gpusched.core.pod import Toleration
from gpusched.native.taints import tolerates, untolerated

GPU = Taint("nvidia.com/gpu", "present", "NoSchedule")


@pytest.mark.parametrize(
    ("toleration", "expected"),
    [
        (Toleration("nvidia.com/gpu", "Equal", "present", "NoSchedule"), True),
        (Toleration("nvidia.com/gpu", "", "present", "NoSchedule"), True),
        (Toleration("nvidia.com/gpu", "Equal", "other", "NoSchedule"), False),
        (Toleration("nvidia.com/gpu", "Equal", "", "NoSchedule"), False),
        (Toleration("nvidia.com/gpu", "Exists", "", "NoSchedule"), True),
        (Toleration("nvidia.com/gpu", "Exists"), True),
        (Toleration("nvidia.com/gpu", "Exists", "", "NoExecute"), False),
        (Toleration("amd.com/gpu", "Exists"), False),
        (Toleration("", "Exists"), True),
        (Toleration("", "Exists", "", "NoExecute"), False),
        (Toleration("", "Equal", "present"), True),
        (Toleration("nvidia.com/gpu", "exists"), False),
        (Toleration("nvidia.com/gpu", "Gt", "1"), False),
    ],
)
def test_toleration_covers_the_taint_by_key_operator_value_and_effect(toleration: Toleration, expected: bool) -> None:
    assert tolerates((toleration,), GPU) is expected


@pytest.mark.parametrize(
    ("operator", "wanted", "value", "expected"),
    [
        ("Gt", "5", "6", True),
        ("Gt", "5", "5", False),
        ("Gt", "-5", "-4", True),
        ("Lt", "5", "4", True),
        ("Lt", "5", "5", False),
        ("Lt", "5", "four", False),
        ("Lt", "", "4", False),
        ("Gt", "1.5", "2", False),
    ],
)
def test_numeric_toleration_compares_the_taints_value(operator: str, wanted: str, value: str, expected: bool) -> None:
    taint = Taint("sla", value, "NoExecute")

    assert tolerates((Toleration("sla", operator, wanted, "NoExecute"),), taint) is expected


@pytest.mark.parametrize(
    ("taints", "expected"),
    [
        ((), None),
        ((Taint("a", effect="PreferNoSchedule"),), None),
        ((Taint("a", effect="NoExecute"),), Taint("a", effect="NoExecute")),
        ((Taint("ok"), Taint("b"), Taint("a")), Taint("b")),
        ((Taint("ok"),), None),
    ],
)
def test_first_untolerated_taint_in_the_nodes_order(taints: tuple[Taint, ...], expected: Taint | None) -> None:
    assert untolerated((Toleration("ok", "Exists"),), taints) == expected


def test_only_the_asked_effects_count() -> None:
    assert untolerated((), (Taint("a"),), effects=("NoExecute",)) is None


TAINTS = st.builds(
    Taint, st.sampled_from("abc"), st.sampled_from(["", "1"]), st.sampled_from(["NoSchedule", "PreferNoSchedule"])
)
TOLERATIONS = st.builds(
    Toleration, st.sampled_from(["", "a", "b"]), st.sampled_from(["Equal", "Exists"]), st.sampled_from(["", "1"])
)


@given(st.lists(TOLERATIONS, max_size=3), st.lists(TAINTS, max_size=4), st.randoms())
def test_order_of_taints_and_tolerations_does_not_change_the_verdict(tolerations, taints, random) -> None:
    verdict = untolerated(tolerations, taints) is None
    random.shuffle(tolerations)
    random.shuffle(taints)

    assert (untolerated(tolerations, taints) is None) is verdict
