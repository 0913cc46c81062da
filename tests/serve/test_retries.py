"""Which pods were asked about before."""

import pytest

from gpusched.serve.retries import Retries


def test_the_second_call_for_a_pod_is_a_retry() -> None:
    retries = Retries()

    assert [retries.again(uid) for uid in ("a", "b", "a", "b", "c")] == [False, False, True, True, False]


def test_old_pods_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpusched.serve.retries._REMEMBERED", 2)
    retries = Retries()

    assert [retries.again(uid) for uid in ("a", "b", "a", "c", "b")] == [False, False, True, False, False]
