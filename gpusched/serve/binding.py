"""Binds pods: checks again, reserves, sends the binding, and keeps the reservation until the outcome is certain.

Between the check and the reservation nothing is awaited, so of two binds that race for one slot exactly one gets it.
A reservation is released once, and only when the pod is certain not to come: a request that timed out may still be
carried out.
"""

import asyncio
from collections.abc import Callable
from typing import Final

import msgspec

from gpusched.core.codes import REASON_TEXT
from gpusched.core.read_pod import read_pod
from gpusched.core.usage import Holder
from gpusched.obs.metrics import Metrics
from gpusched.placement.fit import reason
from gpusched.placement.request import Request, request_of
from gpusched.serve.promise import Attempt, BindingApi, Promise, Verdict, Whereabouts, whereabouts
from gpusched.state.cluster import Cluster
from gpusched.wire.decision import Decision
from gpusched.wire.extender import ExtenderBindingArgs, ExtenderBindingResult

_ARGS: Final = msgspec.json.Decoder(ExtenderBindingArgs)
#: The part of kube-scheduler's httpTimeout after which a bind is answered even if its outcome is not known.
_ANSWER_SHARE: Final = 0.8


class BindTimes(msgspec.Struct, frozen=True):
    """In seconds. `answer` must stay below the scheduler's httpTimeout, or it takes a bind for failed that was none;
    without it, it is a share of the one configured at the moment. No binding that was begun longer than `carried_out`
    ago can still be worked on. `settle` is the pause between two looks at open promises.
    """

    answer: float | None = None
    carried_out: float = 6.0
    settle: float = 2.0


_TIMES: Final = BindTimes()


class Binder:
    """Owns the promises. `tasks` runs what must outlive a call; `leading` is asked again right before a promise is
    made; `released` is told whenever slots become free.
    """

    def __init__(
        self,
        cluster: Cluster,
        api: BindingApi,
        tasks: asyncio.TaskGroup,
        metrics: Metrics,
        clock: Callable[[], float],
        record: Callable[[Decision, float], None],
        leading: Callable[[], bool] = lambda: True,
        times: BindTimes = _TIMES,
    ) -> None:
        self.released: Callable[[], None] = lambda: None
        self._cluster = cluster
        self._api = api
        self._tasks = tasks
        self._metrics = metrics
        self._clock = clock
        self._record = record
        self._leading = leading
        self._times = times
        self._promises: dict[str, Promise] = {}
        metrics.reservations.set_function(lambda: len(self._promises))

    async def answer(self, body: bytes) -> bytes:
        """ExtenderBindingArgs to ExtenderBindingResult; success is answered only when it is confirmed."""
        started = self._clock()
        try:
            args = _ARGS.decode(body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            args = ExtenderBindingArgs()
            attempt = Attempt("unreadable", f"gpusched cannot read the request: {error}")
        else:
            attempt = await self._bind(args)
        decision = Decision("bind", args.pod_namespace, args.pod_name, args.pod_uid, code=attempt.code, node=args.node)
        self._record(decision, self._clock() - started)
        return msgspec.json.encode(ExtenderBindingResult(error=attempt.error))

    @property
    def settled(self) -> bool:
        """Whether no binding may still be carried out that nobody would remember after the end of this process."""
        return all(promise.bound for promise in self._promises.values())

    async def settle_forever(self) -> None:
        """Look after open promises until cancelled."""
        while True:
            await asyncio.sleep(self._times.settle)
            await self.settle()

    async def settle(self) -> None:
        """Look at every open promise once. Stops at the first one about which the API server does not answer."""
        for promise in list(self._promises.values()):
            if not promise.in_flight and not self._seen_on_a_node(promise):
                where = await self._look_up(promise)
                if not where.known:
                    return

    async def finish(self, seconds: float = 5.0) -> None:
        """Wait for the bindings under way, at the end of the process."""
        under_way = [promise.task for promise in self._promises.values() if promise.task is not None]
        if under_way:
            await asyncio.wait(under_way, timeout=seconds)

    async def _bind(self, args: ExtenderBindingArgs) -> Attempt:
        if not (args.pod_name and args.pod_namespace and args.pod_uid and args.node):
            return Attempt(
                "unreadable", "gpusched cannot read the request: a pod's name, namespace, UID and Node are needed"
            )
        seconds = self._times.answer or _ANSWER_SHARE * self._cluster.config.http_timeout_ms / 1000
        deadline = self._clock() + seconds
        try:
            async with asyncio.timeout(seconds):
                found = await self._inquire(args)
        except TimeoutError:
            return Attempt("unreachable", "gpusched: the API server did not answer in time when asked for the pod")
        if isinstance(found, Attempt):
            return found
        promise = self._promise(found, args)
        return promise if isinstance(promise, Attempt) else await self._send_or_join(promise, deadline)

    async def _inquire(self, args: ExtenderBindingArgs) -> Request | Attempt:
        """What the pod asks for, or why it cannot be bound, as far as that takes questions to the API server."""
        earlier = self._promises.get(args.pod_uid)
        if earlier is not None and not self._seen_on_a_node(earlier):
            refusal = await self._clear(earlier, args.node)
            if refusal is not None:
                return refusal
        return await self._request(args)

    async def _clear(self, earlier: Promise, node: str) -> Attempt | None:
        """Why a bind to this node must wait for an earlier one of the same pod; None when it need not."""
        if earlier.node == node:
            return None
        if not earlier.in_flight:
            await self._look_up(earlier)
        if self._promises.get(earlier.uid) is not earlier:
            return None
        return Attempt("unsettled", f"gpusched: an earlier bind of this pod to {earlier.node} is not settled yet")

    async def _request(self, args: ExtenderBindingArgs) -> Request | Attempt:
        """What the pod asks for; a pod that the watch has not brought yet, or that asks for no GPU, is looked up."""
        record = self._cluster.pods.get(args.pod_uid)
        if record is not None:
            bound_to = record.pod.spec.node_name
            if bound_to:
                return _already(bound_to, args.node)
            return request_of(record.pod, self._cluster)
        status, tree = await self._api.get_pod(args.pod_namespace, args.pod_name)
        where = whereabouts(status, tree, args.pod_uid)
        if not where.known:
            return Attempt("unreachable", "gpusched: the API server did not answer when asked for the pod")
        if where.gone:
            return Attempt("gone", "gpusched: the pod is gone, finished or replaced by another of its name")
        if where.node:
            return _already(where.node, args.node)
        return request_of(read_pod(tree, []), self._cluster)

    def _promise(self, request: Request, args: ExtenderBindingArgs) -> Promise | Attempt:
        """Check and reserve, without a pause between the two."""
        if not self._leading():
            return Attempt("standby", "gpusched: another replica leads by now")
        earlier = self._promises.get(args.pod_uid)
        if earlier is not None:
            if earlier.node != args.node:
                return Attempt("unsettled", f"gpusched: another bind of this pod to {earlier.node} is under way")
            return earlier
        promise = Promise(args.pod_namespace, args.pod_name, args.pod_uid, args.node, self._clock())
        if not request.demand.slots:
            return promise
        state = self._cluster.nodes.get(args.node)
        if state is None:
            return Attempt("unknown-node", f"gpusched: node {args.node} is not known")
        refused = reason(request, state, self._cluster)
        if refused is not None:
            return Attempt(str(refused), f"gpusched: {REASON_TEXT[refused]}")
        promise.seen = args.pod_uid in self._cluster.pods
        self._cluster.reserve(args.node, args.pod_uid, _holder(request))
        self._promises[args.pod_uid] = promise
        return promise

    async def _send_or_join(self, promise: Promise, deadline: float) -> Attempt:
        """The outcome, if it comes in time; the attempt itself goes on."""
        if promise.task is None or promise.task.done():
            promise.task = self._tasks.create_task(self._send(promise), name=f"bind {promise.uid}")
        done, _ = await asyncio.wait({promise.task}, timeout=max(0.0, deadline - self._clock()))
        if done:
            return promise.task.result()
        return Attempt("unknown", "gpusched: the API server has not confirmed the binding yet; its slots stay reserved")

    async def _send(self, promise: Promise) -> Attempt:
        promise.sent = self._clock()
        verdict, message = await self._api.bind(promise)
        self._metrics.bind_outcomes.labels(str(verdict)).inc()
        if verdict is Verdict.CONFLICT:
            return await self._after_conflict(promise, message)
        if verdict is Verdict.BOUND:
            promise.bound, promise.unknown_since = True, None
            return Attempt("bound")
        if verdict is Verdict.UNKNOWN:
            promise.unknown_since = promise.sent
            return Attempt("unknown", f"gpusched: the outcome of the binding is not known: {message}")
        if promise.unknown_since is None:
            self._release(promise)
        return Attempt("refused", f"gpusched: the pod was not bound: {message}")

    async def _after_conflict(self, promise: Promise, message: str) -> Attempt:
        """A pod that is on its node already may have got there by this very request: ask."""
        where = await self._look_up(promise)
        if not where.known:
            promise.unknown_since = promise.sent
            return Attempt("unknown", f"gpusched: {message}; and the API server did not say where the pod is")
        if where.gone:
            return Attempt("gone", f"gpusched: {message}")
        if where.node:
            return _already(where.node, promise.node)
        if promise.unknown_since is None:
            self._release(promise)
        return Attempt("conflict", f"gpusched: {message}")

    async def _look_up(self, promise: Promise) -> Whereabouts:
        """Ask where the pod is, and act on what is final."""
        sent, late = promise.sent, self._too_late(promise, self._clock())
        status, tree = await (
            self._api.touch_pod(promise) if late else self._api.get_pod(promise.namespace, promise.name)
        )
        where = whereabouts(status, tree, promise.uid)
        if not where.known:
            return where
        if where.gone or (where.node and where.node != promise.node):
            self._release(promise)
        elif where.node:
            promise.bound, promise.unknown_since = True, None
        elif late and not promise.in_flight and promise.sent == sent:
            self._release(promise)
        return where

    def _too_late(self, promise: Promise, asked: float) -> bool:
        """Whether the binding could no longer be carried out when the question was asked, not when it was answered."""
        return promise.unknown_since is not None and asked - promise.unknown_since >= self._times.carried_out

    def _seen_on_a_node(self, promise: Promise) -> bool:
        """Whether the watch has taken over: the pod was seen bound, finished or gone, and the books say so."""
        record = self._cluster.pods.get(promise.uid)
        over = promise.seen if record is None else bool(record.pod.spec.node_name)
        promise.seen = promise.seen or record is not None
        if over:
            self._promises.pop(promise.uid, None)
        return over

    def _release(self, promise: Promise) -> None:
        if self._promises.get(promise.uid) is promise:
            del self._promises[promise.uid]
            self._cluster.release(promise.uid)
            self.released()


def _holder(request: Request) -> Holder:
    return Holder(
        namespace=request.namespace,
        name=request.name,
        slots=request.demand.slots,
        claim_mib=request.demand.claim_mib,
        priority=request.priority,
    )


def _already(bound_to: str, wanted: str) -> Attempt:
    if bound_to == wanted:
        return Attempt("bound")
    return Attempt("conflict", f"gpusched: the pod is on node {bound_to} already")
