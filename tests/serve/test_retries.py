"""Which filter calls are about a pod asked about before."""

import msgspec
import pytest

from gpusched.serve.retries import Retries


def call(uid: str) -> bytes:
    return msgspec.json.encode({"Pod": {"metadata": {"uid": uid}}, "NodeNames": ["n"]})


def test_the_second_call_for_a_pod_is_a_retry() -> None:
    retries = Retries()

    assert [retries.again(call(uid)) for uid in ("a", "b", "a", "b", "c")] == [False, False, True, True, False]


def test_old_pods_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpusched.serve.retries._REMEMBERED", 2)
    retries = Retries()

    assert [retries.again(call(uid)) for uid in ("a", "b", "a", "c", "b")] == [False, False, True, False, False]


@pytest.mark.parametrize("body", [b"", b"null", b"{}", b'{"Pod":null}', b'{"Pod":{"metadata":{"uid":1}}}', b"[" * 9999])
def test_what_cannot_be_read_is_no_retry(body: bytes) -> None:
    retries = Retries()

    assert [retries.again(body), retries.again(body)] == [False, False]
