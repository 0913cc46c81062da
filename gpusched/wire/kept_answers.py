"""Answers kept for calls that come again byte for byte: kube-scheduler asks twice about a pod it cannot place, and once
more at any event in the cluster.
"""

from typing import Final, NamedTuple

from gpusched.wire.decision import Decision

#: Bytes of calls and answers kept; beyond this the memory starts anew.
_BYTES: Final = 32 << 20
#: Leading bytes by which calls are looked up: the pod comes first, and to hash thousands of names takes its time.
_HEAD: Final = 1024


class KeptAnswer(NamedTuple):
    """An answer, and what was decided by it."""

    body: bytes
    decision: Decision


class KeptAnswers:
    """Answers by the bytes of the call, which hold while the cluster state is of the generation they were given in."""

    def __init__(self, limit: int = _BYTES) -> None:
        self._limit = limit
        self._generation = -1
        self._bytes = 0
        self._answers: dict[bytes, tuple[bytes, KeptAnswer]] = {}

    def get(self, call: bytes, generation: int) -> KeptAnswer | None:
        """The answer if it still holds."""
        if generation != self._generation:
            self._forget()
            self._generation = generation
        asked, answer = self._answers.get(call[:_HEAD], (None, None))
        return answer if asked == call else None

    def put(self, call: bytes, answer: KeptAnswer) -> None:
        """Keep an answer, which was found after `get` and before anything else happened."""
        weight = len(call) + len(answer.body)
        if weight > self._limit:
            return
        if self._bytes + weight > self._limit:
            self._forget()
        self._answers[call[:_HEAD]] = call, answer
        self._bytes += weight

    def _forget(self) -> None:
        self._answers.clear()
        self._bytes = 0
