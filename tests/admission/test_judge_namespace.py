"""Namespaces: what is written must be readable, what stands is let be."""

import pytest

from gpusched.admission.admission import Admission
from gpusched.admission.judge_namespace import judge_namespace
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
    answer = judge_namespace(new, old)
    assert lines(answer) == (refused, warned)
    assert answer.allowed == (not refused)


def test_all_faults_are_named() -> None:
    (line,) = lines(judge_namespace(_BAD | _UNKNOWN))[0]
    assert 'min-gpu-memory "20" without unit; write 20Gi; gpusched.io/famlies, which is no known key' in line


def test_many_faults_make_several_lines_of_bounded_length() -> None:
    new = {f"gpusched.io/{key}": "?" for key in ("families", "products", "sharing", "quota", "mode", "min-gpu-memory")}
    refusals, _ = lines(judge_namespace(new))
    assert len(refusals) > 1
    assert all(len(line) <= 200 for line in refusals)
    assert all(any(key in line for line in refusals) for key in new)


def test_a_namespace_that_is_being_deleted_passes() -> None:
    assert judge_namespace(_BAD, {}, deleting=True) == Admission()
