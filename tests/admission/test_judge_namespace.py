"""Namespaces: what is written must be readable, what stands is let be."""

import pytest

from gpusched.admission.admission import Admission
from gpusched.admission.judge_namespace import Written, judge_namespace
from tests.admission.judging import lines

_BAD = {"gpusched.io/min-gpu-memory": "20"}
_LINE = 'policy-malformed: gpusched.io/min-gpu-memory "20" without unit; write 20Gi'
_UNKNOWN = {"gpusched.io/famlies": "hopper"}
_UNKNOWN_LINE = "policy-malformed: gpusched.io/famlies, which is no known key; write gpusched.io/families"


@pytest.mark.parametrize(
    ("new", "old", "refused", "warned"),
    [
        ({}, None, [], []),
        ({"other/key": "20", "gpusched.io/families": "hopper"}, None, [], []),
        (_BAD, None, [_LINE], []),
        (_BAD, {}, [_LINE], []),
        (_BAD, _BAD, [], []),
        (_BAD, {"gpusched.io/min-gpu-memory": "20Gi"}, [_LINE], []),
        (_BAD | {"gpusched.io/families": "ampere"}, _BAD, [], []),
        (_UNKNOWN, None, [_UNKNOWN_LINE], []),
        (_UNKNOWN, _UNKNOWN, [], [_UNKNOWN_LINE]),
    ],
)
def test_judge_namespace(
    new: dict[str, str], old: dict[str, str] | None, refused: list[str], warned: list[str]
) -> None:
    answer = judge_namespace(Written(new), None if old is None else Written(old))
    assert lines(answer) == (refused, warned)
    assert answer.allowed == (not refused)


def test_all_faults_are_named() -> None:
    (line,) = lines(judge_namespace(Written(_BAD | _UNKNOWN)))[0]
    assert 'min-gpu-memory "20" without unit; write 20Gi; gpusched.io/famlies, which is no known key' in line


def test_many_faults_make_several_lines_of_bounded_length() -> None:
    new = {f"gpusched.io/{key}": "?" for key in ("families", "products", "sharing", "quota", "mode", "min-gpu-memory")}
    refusals, _ = lines(judge_namespace(Written(new)))
    assert len(refusals) > 1
    assert all(len(line) <= 200 for line in refusals)
    assert all(any(key in line for line in refusals) for key in new)


def test_a_namespace_that_is_being_deleted_passes() -> None:
    assert judge_namespace(Written(_BAD), Written(), deleting=True) == Admission()


_COVERED = {"gpusched.io/gpu-less-pods": "true"}
_UNCOVERED_LINE = (
    "gpu-visible-devices: pods without a GPU do not reach gpusched. Label the namespace gpusched.io/gpu-less-pods=true."
)


def _seeing(value: str | None, labels: dict[str, str] | None = None) -> Written:
    return Written({} if value is None else {"gpusched.io/visible-devices": value}, labels or {})


@pytest.mark.parametrize(
    ("new", "old", "warned"),
    [
        (_seeing("void"), None, True),
        (_seeing("deny"), None, True),
        (_seeing("warn"), None, True),
        (_seeing("allow"), None, False),
        (_seeing("void", _COVERED), None, False),
        (_seeing("void", {"gpusched.io/gpu-less-pods": "yes"}), None, True),
        (_seeing("void"), _seeing(None), True),
        (_seeing("void"), _seeing("deny"), False),
        (_seeing("void"), _seeing("void", _COVERED), True),
        (_seeing(None), _seeing("void"), False),
    ],
)
def test_a_policy_on_visible_devices_that_covers_gpu_pods_alone_is_warned_of_when_it_is_written(
    new: Written, old: Written | None, warned: bool
) -> None:
    answer = judge_namespace(new, old)
    assert lines(answer) == ([], [_UNCOVERED_LINE] if warned else [])
    assert len(_UNCOVERED_LINE) <= 120
