import pytest

from gpusched.local.errors import LocalError
from gpusched.local.waiting import until


def test_first_true_answer_ends_the_waiting():
    answers = iter([None, "", "found", "later"])
    pauses: list[float] = []

    assert until(lambda: next(answers), 60, "it", pauses.append) == "found"
    assert pauses == [0.01, 0.015]


def test_pauses_grow_to_a_tenth_of_a_second():
    answers = iter([None] * 20 + ["found"])
    pauses: list[float] = []

    until(lambda: next(answers), 60, "it", pauses.append)

    assert pauses[-1] == 0.1
    assert pauses == sorted(pauses)


def test_too_late_names_what_was_waited_for():
    with pytest.raises(LocalError, match="pod running: not within 0 seconds"):
        until(lambda: None, 0, "pod running")
