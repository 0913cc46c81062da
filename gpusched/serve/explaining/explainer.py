"""Explains GPU pods beside the decisions: on an excerpt of the state, in a thread, and once for pods that are alike."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import aclosing
from enum import Enum
from typing import Final

import msgspec

from gpusched.core.names import PREFIX, QUOTA_GATE
from gpusched.core.pod import Pod
from gpusched.core.read_pod import read_pod
from gpusched.placement.allowance import quota_use_of
from gpusched.placement.quota import places
from gpusched.serve.explaining.bystanders import Bystanders, PodsOn
from gpusched.serve.explaining.excerpt import Excerpt, around, excerpt_of
from gpusched.serve.explaining.nearest import judged, sample
from gpusched.serve.pieces import in_pieces
from gpusched.simulate.admit import Candidate
from gpusched.simulate.manifest import Manifest
from gpusched.simulate.reasons.stored_pod import as_stored
from gpusched.simulate.reasons.waits import line_text
from gpusched.simulate.reasons.why import Why, why_standing
from gpusched.simulate.world import World
from gpusched.state.cluster import Cluster
from gpusched.state.events import key_of

GetPod = Callable[[str, str], Awaitable[tuple[int, object]]]
"""Namespace and name to HTTP status (0 without an answer) and the pod as it is now."""
Say = Callable[[World], Why]
"""What is to be said in a world; it is asked in a thread."""

#: Seconds for which an explanation serves although the cluster changed meanwhile, and how many times what it took to
#: work it out; and while nothing changed that is followed, though pods without a GPU may have.
_FRESH: Final = 5.0
_FRESH_TIMES: Final = 20.0
_STANDING: Final = 120.0
#: Nobody waits for the explanations of a list: after some they rest for as long as those took, times this.
_REST_TIMES: Final = 1.0
_MOST: Final = 2_000
#: Seconds until a kind of pod whose explanation failed is tried again for a list or an event.
_FAILED: Final = 300.0
#: Labels that tell pods of one controller apart (apps/v1 StatefulSet, batch/v1 Job).
_OWN_LABELS: Final = frozenset(
    {"statefulset.kubernetes.io/pod-name", "apps.kubernetes.io/pod-index", "batch.kubernetes.io/job-completion-index"}
)


class Explained(msgspec.Struct, frozen=True):
    """What is to be said of pods of one kind, in the name of one of them: `why` with pods of any namespace by name,
    `discreet` with those of its own namespace alone. It was found at this generation and time, in `took` seconds.
    """

    why: Why
    discreet: Why
    generation: int
    at: float
    took: float


class Unexplained(Enum):
    """Why nothing is said: the API server does not have the object any more, or something could not be read now."""

    GONE = "gone"
    UNREAD = "unread"


class Explainer:
    """One explanation is worked out at a time, by whoever asks first. `failed` is told a pod whose explanation raised,
    once for each kind of pod and inside the handler of the exception.
    """

    def __init__(
        self,
        cluster: Cluster,
        get_pod: GetPod,
        pods_on: PodsOn,
        clock: Callable[[], float],
        failed: Callable[[Pod], None],
    ) -> None:
        self._cluster = cluster
        self._get_pod = get_pod
        self._bystanders = Bystanders(cluster, pods_on, clock)
        self._clock = clock
        self._failed = failed
        #: A caller that goes away leaves its thread at work; there is never a second one.
        self._alone = threading.Lock()
        self._known: dict[bytes, Explained] = {}
        self._faulty: dict[bytes, float] = {}
        self._turn = asyncio.Lock()
        self._rests_until = float("-inf")

    def known(self, pod: Pod) -> Explained | None:
        """What was last said of this pod or of one that is alike, however old."""
        return self._known.get(likeness(pod))

    async def explain(self, pod: Pod) -> Explained | Unexplained:
        """Why the pod waits, or where it is."""
        key = likeness(pod)
        found = self._known.get(key)
        if found is not None and self._fresh(found):
            return found
        async with self._turn:
            found = self._known.get(key)
            return found if found is not None and self._fresh(found) else await self._work_out(pod)

    async def judge(self, pod: Pod, candidate: Candidate | None, say: Say) -> Explained | Unexplained:
        """What is to be said of a pod that is not there, with the nodes nearest to taking it in the world; with none of
        them where no candidate is given.
        """
        async with self._turn:
            generation, began = self._cluster.generation, self._clock()
            if candidate is None:
                both: tuple[Why, Why] | None = _answer(pod.namespace, excerpt_of(self._cluster, pod, [], {}), [], say)
            else:
                both = await self._among_nearest(candidate, say)
            ended = self._clock()
        return Unexplained.UNREAD if both is None else Explained(*both, generation, ended, ended - began)

    async def attempt(self, pod: Pod) -> Explained | None:
        """The same for one of many pods, which a fault that one kind of them meets must not hold up."""
        key, now = likeness(pod), self._clock()
        if now < self._faulty.get(key, now):
            return None
        try:
            found = await self.explain(pod)
        except Exception:  # noqa: BLE001 - logged with its trace by `failed`
            if key not in self._faulty:
                self._failed(pod)
            if len(self._faulty) >= _MOST:
                self._faulty.clear()
            self._faulty[key] = now + _FAILED
            return None
        self._faulty.pop(key, None)
        return found if isinstance(found, Explained) else None

    async def explain_some(self, pods: Iterable[Pod], seconds: float) -> None:
        """Explain pods that have no fresh explanation, those without any first, for about so long; none while somebody
        else has one worked out.
        """
        began = self._clock()
        if began < self._rests_until:
            return
        kinds: dict[bytes, Pod] = {}
        for pod in pods:
            kinds.setdefault(likeness(pod), pod)
        lacking = [key for key in kinds if not self._fresh(self._known.get(key))]
        for key in sorted(lacking, key=lambda key: self._known[key].at if key in self._known else float("-inf")):
            if self._turn.locked() or self._clock() >= began + seconds:
                break
            await self.attempt(kinds[key])
        ended = self._clock()
        self._rests_until = max(self._rests_until, ended + _REST_TIMES * (ended - began))

    def _fresh(self, found: Explained | None) -> bool:
        if found is None:
            return False
        lasts = _STANDING if found.generation == self._cluster.generation else _FRESH
        return self._clock() - found.at < max(lasts, _FRESH_TIMES * found.took)

    async def _work_out(self, pod: Pod) -> Explained | Unexplained:
        generation, began = self._cluster.generation, self._clock()
        status, tree = await self._get_pod(pod.namespace, pod.name)
        if status != 200 or not isinstance(tree, Mapping):
            return Unexplained.GONE if status == 404 else Unexplained.UNREAD
        manifest = Manifest("the cluster", tree, "Pod", name=pod.name, namespace=pod.namespace)
        now = read_pod(tree, [])
        both = await self._say(manifest, now)
        if both is None:
            return Unexplained.UNREAD
        ended = self._clock()
        while len(self._known) >= _MOST:
            del self._known[next(iter(self._known))]
        # It may have got a node since, which says nothing of those that were alike.
        found = self._known[likeness(now)] = Explained(*both, generation, ended, ended - began)
        return found

    async def _say(self, manifest: Manifest, pod: Pod) -> tuple[Why, Why] | None:
        """The pod as the API server has it, with and without names of others; None where a node could not be read."""
        cluster = self._cluster

        def say(world: World) -> Why:
            return why_standing(manifest, world)

        if pod.terminal or pod.spec.node_name or pod.spec.gates:
            answer = _answer(pod.namespace, excerpt_of(cluster, pod, [pod.spec.node_name], {}), [], say)
            line = await self._line(pod) if QUOTA_GATE in pod.spec.gates else ""
            return (msgspec.structs.replace(answer[0], line=line),) * 2
        _, candidate = as_stored(manifest, World.of(cluster))
        return await self._among_nearest(candidate, say)

    async def _among_nearest(self, candidate: Candidate, say: Say) -> tuple[Why, Why] | None:
        cluster, pod = self._cluster, candidate.pod
        use = None if candidate.request is None else quota_use_of(candidate.request, cluster)
        found = {name: verdict async for name, verdict in in_pieces(judged(candidate, cluster, use))}
        names = sample(found, cluster)
        others = await self._bystanders.read(names)
        if others is None:
            return None
        seen = [item async for some in in_pieces(around(pod, cluster)) for item in some]
        reasons = {name: verdict.reason for name, verdict in found.items()}
        excerpt = excerpt_of(cluster, pod, names, reasons, use, seen)
        return await asyncio.to_thread(self._try, pod.namespace, excerpt, others, say)

    def _try(self, namespace: str, excerpt: Excerpt, others: list[Pod], say: Say) -> tuple[Why, Why]:
        with self._alone:
            return _answer(namespace, excerpt, others, say)

    async def _line(self, pod: Pod) -> str:
        """The place in the quota line; a long one is walked in short steps."""
        # The first step looks at all pods and nodes: a turn of its own.
        await asyncio.sleep(0)
        async with aclosing(in_pieces(places(self._cluster))) as line:
            async for record, place in line:
                if record.key == key_of(pod):
                    return line_text(pod, place, self._cluster)
        return ""


def likeness(pod: Pod) -> bytes:
    """Equal for pods about which the same is to be said: every node treats them alike, and none has a place in a line
    or on a node.
    """
    own = {key: value for key, value in pod.annotations.items() if key.startswith(PREFIX)}
    labels = {key: value for key, value in pod.labels.items() if key not in _OWN_LABELS}
    alone = key_of(pod) if QUOTA_GATE in pod.spec.gates or pod.spec.node_name else ""
    parts = (pod.namespace, labels, own, pod.owner, pod.deleting, pod.claims, pod.spec, alone)
    return msgspec.json.encode(parts, order="deterministic")


def _answer(own: str, excerpt: Excerpt, others: list[Pod], say: Say) -> tuple[Why, Why]:
    """With pods of all namespaces by name, and with those of the pod's own alone."""
    strangers: set[str] = set()

    def anybody(namespace: str) -> bool:
        strangers.add(namespace)
        return True

    world = excerpt.world(others)
    world.may_name = anybody
    why = say(world)
    if strangers <= {own}:
        return why, why
    # What is said may have put pods into the world.
    world = excerpt.world(others)
    world.may_name = lambda namespace: namespace == own
    return why, say(world)
