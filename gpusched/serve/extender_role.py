"""The extender's side of a process: who leads, what the leader does, and the answers that only it may give."""

import asyncio
import time
from collections.abc import Callable, Sequence

import msgspec

from gpusched.kube.events import Recorder
from gpusched.kube.leader import Election, Terms
from gpusched.kube.session import Session
from gpusched.obs.decisions import DecisionLog
from gpusched.obs.logging import Log
from gpusched.obs.metrics import Metrics
from gpusched.serve.api import ServiceApi
from gpusched.serve.binding import Binder, BindTimes
from gpusched.serve.explaining.explainer import Explainer
from gpusched.serve.extender_answers import extender_answers
from gpusched.serve.extender_app import ExtenderAnswers
from gpusched.serve.feed import Feed
from gpusched.serve.following import Following
from gpusched.serve.gates import Gates
from gpusched.serve.labeller import Labeller
from gpusched.serve.leadership import Duty, Leadership
from gpusched.serve.options import LEASE, Options
from gpusched.serve.overtaken import Overtaken
from gpusched.serve.predecessor import SETTLED_ANNOTATION, Predecessor, carried_out_within, settled_after
from gpusched.serve.telling.announcer import Announcer
from gpusched.serve.telling.pending import Pending
from gpusched.serve.telling.stale_policies import bad_configuration
from gpusched.serve.telling.told import Told
from gpusched.serve.wake import Waker
from gpusched.state.cluster import Cluster
from gpusched.state.events import Kind


class Surroundings(msgspec.Struct, frozen=True):
    """What the parts of a process share. `on_bad_config` are told the errors of a configuration that is not used."""

    options: Options
    cluster: Cluster
    session: Session
    api: ServiceApi
    explainer: Explainer
    feed: Feed
    following: Following
    decisions: DecisionLog
    metrics: Metrics
    log: Log
    tasks: asyncio.TaskGroup
    on_bad_config: list[Callable[[Sequence[str]], None]] = []


class ExtenderRole:
    """Made before anything runs; `start` begins the election, or the one term of a process that leads by order."""

    def __init__(self, around: Surroundings, waker: Waker) -> None:
        cluster, api, metrics, log = around.cluster, around.api, around.metrics, around.log
        options = around.options
        self._around = around
        self._labeller = Labeller(cluster, api.label_node, metrics, log, time.monotonic)
        self._gates = Gates(cluster, api.lift_gate, metrics, log, time.monotonic)
        self.binder = Binder(
            cluster,
            api,
            around.tasks,
            metrics,
            time.monotonic,
            around.decisions.record,
            leading=lambda: self.leadership.ready,
            times=BindTimes(carried_out=carried_out_within(options.request_limit)),
        )
        self.binder.released = waker.touch_free
        self._overtaken = Overtaken(waker.touch_pods, time.monotonic)
        terms = Terms.lasting(options.lease)
        self._election = Election(
            around.session,
            options.namespace,
            LEASE,
            options.identity,
            on_start=lambda: self.leadership.start(self._election.predecessor),
            on_stop=self._lost,
            terms=terms,
        )
        predecessor = Predecessor(self._election, time.monotonic)
        self._election.settled = lambda: self.binder.settled and predecessor.settled
        self._election.annotations = {SETTLED_ANNOTATION: f"{settled_after(terms, options.request_limit):g}"}
        self._candidacy: asyncio.Task[None] | None = None
        self._stepping_down = False
        self.leadership = Leadership(
            lambda: not options.leader_elect or (self._election.leading and not self._stepping_down),
            self._relist,
            (
                self._labeller.run,
                self._gates.run,
                waker.run,
                self.binder.settle_forever,
                *_announcing(around, lambda: self.leadership.ready),
            ),
            metrics,
            log,
            predecessor.wait,
        )

    def start(self) -> None:
        """Begin."""
        options, tasks = self._around.options, self._around.tasks
        self._around.feed.on_node.append(self._labeller.touch)
        self._around.feed.on_room.append(self._overtaken.made_room)
        self._around.feed.on_change.append(self._gates.touch)
        tasks.create_task(self.leadership.run(), name="leadership")
        if options.leader_elect:
            self._candidacy = tasks.create_task(self._election.run(), name="election")
        else:
            self.leadership.start()
        if options.pod_name:
            tasks.create_task(self.leadership.keep_label(self._label), name="leader label")

    async def step_down(self) -> None:
        """Finish the bindings under way and let another replica lead, at the beginning of an orderly end."""
        self._stepping_down = True
        await self.binder.finish()
        if self._candidacy is not None:
            self._candidacy.cancel()
            await asyncio.wait({self._candidacy})

    def closed(self) -> str | None:
        """Why the extender must not be answered by this replica."""
        closed = self.leadership.closed()
        holder = self._election.holder
        return f"{closed} (leader: {holder})" if closed and holder not in {"", self._election.identity} else closed

    def answers(self) -> ExtenderAnswers:
        """The four answers, watched by logs and metrics."""
        return extender_answers(self._around.cluster, self._around.decisions, self._overtaken, self.binder.answer)

    def _lost(self) -> None:
        self.leadership.stop()

    async def _relist(self) -> None:
        await self._around.following.wait_synced()
        await self._around.following.relist(Kind.POD)

    async def _label(self, leading: bool) -> str | None:
        options, api = self._around.options, self._around.api
        problem = await api.label_leader(options.namespace, options.pod_name, leading=leading)
        # Who vanished cannot take its own label off, and its node may look well for a while.
        former = self._election.predecessor.rpartition("_")[0]
        if problem is None and leading and former not in {"", options.pod_name}:
            return await api.label_leader(options.namespace, former, leading=False)
        return problem


def _announcing(around: Surroundings, leads: Callable[[], bool]) -> tuple[Duty, Duty]:
    """What finds out what there is to tell, and what writes it."""
    recorder = Recorder(around.session, around.options.identity, on_drop=around.metrics.events_dropped.inc)
    told = Told(recorder.record, lambda: recorder.full, time.monotonic)
    pending = Pending(around.cluster, around.explainer, told, time.monotonic)

    def failed() -> None:
        around.metrics.failures.labels("events").inc()
        around.log.exception("events could not be found out")  # noqa: LOG004 - called while it is handled

    def trusted() -> bool:
        return around.following.closed() is None

    def bad_config(errors: Sequence[str]) -> None:
        # All replicas read the same file; one of them says so.
        if leads():
            told.tell(bad_configuration(errors, around.options.namespace))

    around.on_bad_config.append(bad_config)

    return Announcer(around.cluster, pending, told, trusted, time.monotonic, failed).run, recorder.run
