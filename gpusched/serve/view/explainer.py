"""Explains waiting pods beside the decisions: on a copy of the state, in a thread, and once for pods that are alike."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterable
from typing import Final

import msgspec

from gpusched.core.names import PREFIX, QUOTA_GATE
from gpusched.core.pod import Pod
from gpusched.serve.live_cluster import LiveCluster
from gpusched.serve.view.why import WhyView, why_view
from gpusched.serve.view.world import Copy, Photograph, photograph

FetchPod = Callable[[str, str], Awaitable[tuple[int, object]]]
"""Namespace and name to HTTP status (0 without an answer) and the pod as it is now."""

#: Seconds for which an explanation serves although the cluster changed meanwhile, and how many times what it took to
#: work it out: in a large cluster the search for a change that fits may take seconds.
_FRESH: Final = 5.0
_FRESH_TIMES: Final = 20.0
#: Nobody waits for the explanations of a list: after one it rests for as long as that one took, times this.
_REST_TIMES: Final = 1.0
_MOST: Final = 2_000


class Explained(msgspec.Struct, frozen=True):
    """An explanation with the generation it was made at, when, and in how many seconds."""

    why: WhyView
    generation: int
    at: float
    took: float


class Explainer:
    """One explanation is worked out at a time, by whoever asks first.

    Two kinds of explanation are kept: those that name pods of every namespace, and those that name no pod outside the
    namespace of the pod that waits.
    """

    def __init__(self, cluster: LiveCluster, fetch: FetchPod, clock: Callable[[], float]) -> None:
        self._cluster = cluster
        self._fetch = fetch
        self._clock = clock
        self._copy = Copy()
        #: A caller that goes away leaves its thread at work, which must not meet the next one on the copy.
        self._alone = threading.Lock()
        self._known: dict[object, Explained] = {}
        self._turn = asyncio.Lock()
        self._rests_until = float("-inf")

    def known(self, pod: Pod, *, named: bool) -> WhyView | None:
        """What was last said of this pod or of one that is alike, however old."""
        found = self._known.get(_likeness(pod, named=named))
        return None if found is None else _about(found.why, pod)

    async def explain(self, pod: Pod, *, named: bool) -> WhyView | None:
        """Why the pod waits, or where it is; None when the API server does not have it any more or is silent."""
        key = _likeness(pod, named=named)
        found = self._known.get(key)
        if not self._fresh(found):
            async with self._turn:
                found = self._known.get(key)
                if not self._fresh(found):
                    found = await self._work_out(key, pod, named=named)
        return None if found is None else _about(found.why, pod)

    async def explain_some(self, pods: Iterable[Pod], seconds: float, *, named: bool) -> None:
        """Explain pods that have no fresh explanation, those without any first, for about so long; none while somebody
        else has one worked out.
        """
        until = self._clock() + seconds
        kinds: dict[object, Pod] = {}
        for pod in pods:
            kinds.setdefault(_likeness(pod, named=named), pod)
        waiting = sorted(kinds, key=lambda key: self._known[key].at if key in self._known else float("-inf"))
        for key in waiting:
            if self._fresh(self._known.get(key)):
                continue
            if self._turn.locked() or not self._rests_until <= self._clock() < until:
                return
            await self.explain(kinds[key], named=named)

    def _fresh(self, found: Explained | None) -> bool:
        if found is None:
            return False
        lasts = max(_FRESH, _FRESH_TIMES * found.took)
        return found.generation == self._cluster.generation or self._clock() - found.at < lasts

    async def _work_out(self, key: object, pod: Pod, *, named: bool) -> Explained | None:
        status, tree = await self._fetch(pod.namespace, pod.name)
        if status != 200 or not isinstance(tree, dict):
            return None
        generation, began = self._cluster.generation, self._clock()
        # The state that decides goes on meanwhile.
        why = await asyncio.to_thread(self._say, photograph(self._cluster), tree, named)
        ended = self._clock()
        self._rests_until = ended + _REST_TIMES * (ended - began)
        explained = Explained(why, generation, ended, ended - began)
        while len(self._known) >= _MOST:
            del self._known[next(iter(self._known))]
        self._known[key] = explained
        return explained

    def _say(self, now: Photograph, tree: dict[str, object], named: bool) -> WhyView:
        metadata = tree.get("metadata")
        own = metadata.get("namespace") if isinstance(metadata, dict) else None
        with self._alone:
            world = self._copy.bring_to(now)
            world.may_name = lambda namespace: named or namespace == own
            try:
                return why_view(tree, world)
            except Exception:
                # A change that was tried may still stand.
                self._copy = Copy()
                raise


def _likeness(pod: Pod, *, named: bool) -> object:
    """Equal for pods about which the same is to be said: of one template, and none with a place in a line."""
    if QUOTA_GATE in pod.spec.gates or pod.spec.node_name:
        return named, pod.uid, pod.spec.gates, pod.spec.node_name
    own = tuple(sorted(item for item in pod.annotations.items() if item[0].startswith(PREFIX)))
    return named, pod.namespace, own, tuple(sorted(pod.labels.items())), msgspec.json.encode(pod.spec)


def _about(why: WhyView, pod: Pod) -> WhyView:
    return why if why.name == pod.name else msgspec.structs.replace(why, name=pod.name)
