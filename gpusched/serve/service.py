"""The composition root of the service: what is made of what, in which order it starts and how it ends."""

import asyncio
import contextlib
import gc
import socket
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, NamedTuple

from fastapi import FastAPI

from gpusched.core.pod import Pod
from gpusched.kube.objects import reflectors
from gpusched.kube.session import Session
from gpusched.obs.decisions import DecisionLog
from gpusched.obs.inventory import Inventory
from gpusched.obs.logging import Log
from gpusched.obs.metrics import Metrics
from gpusched.policy.model import Config
from gpusched.serve import admin_app, extender_app
from gpusched.serve.admin_app import Readiness
from gpusched.serve.api import ServiceApi
from gpusched.serve.certificates.files import FollowedFiles, certificate_files
from gpusched.serve.certificates.kept import KeptCertificates
from gpusched.serve.config_file import ConfigFile, Loader
from gpusched.serve.explaining.explainer import Explainer
from gpusched.serve.extender_role import ExtenderRole, Surroundings
from gpusched.serve.feed import Feed
from gpusched.serve.following import Following
from gpusched.serve.live_cluster import LiveCluster
from gpusched.serve.options import LOOPBACK, Options
from gpusched.serve.server import Listener, Servers, open_socket
from gpusched.serve.tls import LiveContext
from gpusched.serve.view.role import view_endpoints
from gpusched.serve.wake import Waker
from gpusched.state.events import Kind
from gpusched.wire.decision import Observer
from webhook import app as webhook_app
from webhook.edge import Edge
from webhook.memo import Memo
from webhook.review import Judged, answer_review

_LAG_PERIOD: Final = 0.1
_LABELS_PERIOD: Final = 0.5


class _Gate(NamedTuple):
    """An open port, and its TLS context; plain HTTP without one."""

    socket: socket.socket
    tls: LiveContext | None
    files: FollowedFiles | None

    def listener(self, app: FastAPI) -> Listener:
        """The port with what is served on it."""
        return Listener(app, self.socket, None if self.tls is None else self.tls.context)


class _Finished(Exception):  # noqa: N818 - ends the task group, no error
    """All servers have ended."""


class Service:
    """One process of gpusched. `stop` may be called at any time, also from a signal handler of the loop: once for an
    orderly end, twice for one without delay.
    """

    def __init__(self, options: Options, log: Log, load_config: Loader, metrics: Metrics | None = None) -> None:
        self.options = options
        self.metrics = metrics or Metrics()
        self.cluster = LiveCluster(options.config)
        #: Ports by name (webhook, extender, admin) once `listening` is set.
        self.ports: dict[str, int] = {}
        self.listening = asyncio.Event()
        self._log = log
        self._stopping = asyncio.Event()
        self._hurry = asyncio.Event()
        self._decisions = DecisionLog(log, self.metrics, time.monotonic)
        path = options.config_file
        self._config_file = None if path is None else ConfigFile(path, load_config, self.metrics, log)
        self._relisting = False

    def stop(self) -> None:
        """End."""
        if self._stopping.is_set():
            self._hurry.set()
        self._stopping.set()

    async def run(self) -> None:
        """Serve until stopped.

        Raises:
            OSError: a port cannot be opened or a certificate not be read.
            ValueError: a certificate cannot be used.
            ConfigurationError: the kubeconfig cannot be used.

        """
        options = self.options
        # Modules and what they hold stay, and walking them is most of what a full collection takes.
        gc.freeze()
        with contextlib.ExitStack() as stack:
            gates = self._gates(stack)
            session = await Session.open(options.kubeconfig, options.context, in_cluster=options.in_cluster)
            try:
                async with session, asyncio.TaskGroup() as tasks:
                    await self._run(session, gates, tasks)
                    raise _Finished  # noqa: TRY301 - how a task group is ended from inside
            except* _Finished:
                self._log.info("stopped")

    def _gates(self, stack: contextlib.ExitStack) -> dict[str, _Gate]:
        """Open the ports, so that whatever is wrong with them shows before anything runs. The stack closes them."""
        options = self.options
        asked: list[tuple[str, int, Path | None]] = [("admin", options.admin_port, None)]
        if options.webhook:
            asked.append(("webhook", options.webhook_port, options.webhook_certificates))
        if options.extender:
            asked.append(("extender", options.extender_port, options.extender_certificates))
        gates = {}
        for name, port, directory in asked:
            secure = directory is not None or name in options.own_certificates
            tls = LiveContext(self.metrics.certificate_expiry.labels(name).set) if secure else None
            files = None if tls is None or directory is None else self._follow(name, directory, tls)
            host = LOOPBACK if tls is None and name != "admin" else options.host
            gates[name] = _Gate(stack.enter_context(open_socket(host, port)), tls, files)
        return gates

    def _follow(self, name: str, directory: Path, tls: LiveContext) -> FollowedFiles:
        return FollowedFiles(name, certificate_files(directory, clients=name == "extender"), tls, self._log)

    async def _run(self, session: Session, gates: dict[str, _Gate], tasks: asyncio.TaskGroup) -> None:
        options, log, metrics = self.options, self._log, self.metrics
        feed = Feed(self.cluster, metrics)
        feed.on_node.append(self.cluster.note_labels)
        followers = reflectors(session, lambda: self.cluster.resources, feed.apply)
        following = Following(followers, tasks, time.monotonic, options.max_age)
        following.export(metrics)
        api = ServiceApi(session, lambda: datetime.now(UTC), options.request_limit)
        around = Surroundings(
            options,
            self.cluster,
            session,
            api,
            Explainer(self.cluster, api.get_pod, api.pods_on, time.monotonic, self._unexplained),
            feed,
            following,
            self._decisions,
            metrics,
            log,
            tasks,
            [] if self._config_file is None else self._config_file.on_bad,
        )
        waker = Waker(self.cluster, api.wake, metrics, log, time.monotonic)
        feed.on_policy.append(waker.touch)
        extender = ExtenderRole(around, waker) if options.extender else None
        if extender is None:
            # At 0 for ever it would look like a service that nobody leads.
            metrics.registry.unregister(metrics.leader)
        contexts = {name: gate.tls for name, gate in gates.items() if gate.tls is not None}
        kept = KeptCertificates(options, session, contexts, metrics, log)
        readiness = Readiness(
            lambda: self._closed(following) or kept.closed(),
            lambda: [*self._details(following, extender), *kept.lines()],
        )
        endpoints = view_endpoints(around, readiness, self.cluster, self._failed)
        apps = {"admin": admin_app.create_app(readiness, metrics, Inventory(self.cluster), endpoints)}
        if options.webhook:
            apps["webhook"] = self._webhook(self._edge(readiness, lambda: self._closed(following)))
        if extender is not None:
            role = extender
            edge = self._edge(readiness, lambda: self._closed(following) or role.closed())
            apps["extender"] = extender_app.create_app(role.answers(), edge, standby=lambda: not role.leadership.ready)
            extender.start()
        servers = Servers([gates[name].listener(app) for name, app in apps.items()])
        following.start()
        background = [self._watch_lag(), self._after_sync(following), self._wait_for_end(readiness, servers, extender)]
        background.append(following.tell(log))
        background += [gate.files.watch() for gate in gates.values() if gate.files is not None]
        background += kept.tasks(leads=lambda: extender is None or extender.leadership.ready)
        if self._config_file is not None:
            background.append(self._config_file.watch(self._take(following, waker)))
        for task in background:
            tasks.create_task(task)
        self.ports = {name: gate.socket.getsockname()[1] for name, gate in gates.items()}
        log.info("listening", role=str(options.role), server=session.server, **self.ports)
        self.listening.set()
        await servers.run()
        if extender is not None:
            await extender.binder.finish()

    def _webhook(self, edge: Edge) -> FastAPI:
        cluster, memo = self.cluster, Memo[Judged]()

        def mutate(body: bytes, observe: Observer) -> bytes:
            return answer_review(body, cluster, mutating=True, observe=observe, memo=memo)

        def validate(body: bytes, observe: Observer) -> bytes:
            return answer_review(body, cluster, mutating=False, observe=observe, memo=memo)

        return webhook_app.create_app(self._decisions.watched(mutate), self._decisions.watched(validate), edge)

    def _edge(self, readiness: Readiness, closed: Callable[[], str | None]) -> Edge:
        return Edge(
            time.monotonic,
            closed=closed,
            draining=lambda: readiness.draining,
            record=self.metrics.record_request,
            failed=self._failed,
        )

    def _failed(self, where: str) -> None:
        self.metrics.failures.labels(where).inc()
        self._log.exception("request failed", endpoint=where)

    def _unexplained(self, pod: Pod) -> None:
        self.metrics.failures.labels("explanation").inc()
        self._log.exception("pod could not be explained", namespace=pod.namespace, pod=pod.name)

    def _closed(self, following: Following) -> str | None:
        return "configuration changed, pods are listed anew" if self._relisting else following.closed()

    def _details(self, following: Following, extender: ExtenderRole | None) -> list[str]:
        lines = following.lines()
        lines.append(f"labels: {'complete' if self.cluster.labelled else 'not complete yet'}")
        if extender is not None:
            lines.append(f"extender: {extender.closed() or 'this replica leads'}")
        if self._config_file is not None:
            lines += self._config_file.lines()
        return lines

    def _take(self, following: Following, waker: Waker) -> Callable[[Config], Awaitable[None]]:
        async def take(config: Config) -> None:
            if self.cluster.configure(config):
                self._relisting = True
                await following.relist(Kind.POD)
                self._relisting = False
            waker.touch_all()

        return take

    async def _after_sync(self, following: Following) -> None:
        await following.wait_synced()
        self._log.info("synced", nodes=len(self.cluster.nodes), gpu_pods=len(self.cluster.pods))
        # What was read now stays: the collector need not walk it again.
        gc.collect()
        gc.freeze()
        while not self.cluster.settle_labels():  # noqa: ASYNC110 - a look at a set, twice a second
            await asyncio.sleep(_LABELS_PERIOD)
        self._log.info("all nodes carry their labels")

    async def _watch_lag(self) -> None:
        while True:
            asked = time.monotonic()
            await asyncio.sleep(_LAG_PERIOD)
            self.metrics.loop_lag.observe(max(0.0, time.monotonic() - asked - _LAG_PERIOD))

    async def _wait_for_end(self, readiness: Readiness, servers: Servers, extender: ExtenderRole | None) -> None:
        await self._stopping.wait()
        readiness.draining = True
        self._log.info("stopping", drain_seconds=self.options.drain)
        if extender is not None:
            await extender.step_down()
        try:
            async with asyncio.timeout(self.options.drain):
                await self._hurry.wait()
        except TimeoutError:
            pass
        servers.stop()
