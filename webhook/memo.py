"""PURE. Answers kept for pods that are alike: those of one controller differ in nothing that admission reads.

An answer depends on what is read of the pod, its namespace's policy, the configuration and the nodes; the cluster state
makes new facts whenever one of the latter changes, and then all answers are forgotten.
"""

from collections.abc import Hashable
from typing import Final, Generic, TypeVar

from gpusched.core.cluster_facts import ClusterFacts
from gpusched.state.cluster import Cluster

#: Answers kept, and the bytes of what is read of a pod above which its answer is not worth its place.
_ANSWERS: Final = 512
LARGEST_PART: Final = 1 << 16

_Answer = TypeVar("_Answer")


class Memo(Generic[_Answer]):
    """Answers by everything in the request that they depend on. When it is full it starts anew."""

    def __init__(self) -> None:
        self._facts: ClusterFacts | None = None
        self._answers: dict[Hashable, _Answer] = {}

    def get(self, key: Hashable, cluster: Cluster) -> _Answer | None:
        """The answer if it still holds."""
        if cluster.facts is not self._facts:
            self._answers.clear()
            self._facts = cluster.facts
        return self._answers.get(key)

    def put(self, key: Hashable, answer: _Answer) -> None:
        """Keep an answer, which was found after `get` and before anything else happened."""
        if len(self._answers) >= _ANSWERS:
            self._answers.clear()
        self._answers[key] = answer
