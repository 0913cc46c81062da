"""The local control plane: starts the components, gives access to them, and leaves nothing behind."""

import json
import ssl
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import gettempdir
from types import TracebackType
from typing import Final, Self

import msgspec

from certs.issue import issue_ca, issue_leaf
from gpusched.local import arguments
from gpusched.local.api import Api
from gpusched.local.arguments import Layout
from gpusched.local.binaries import Binaries
from gpusched.local.cluster import Operations
from gpusched.local.credentials import IDENTITIES, Tokens, kubeconfig, service_account_keys, write_private
from gpusched.local.errors import ChildDiedError, LocalError, StartError
from gpusched.local.folders import cache_folder, keep_logs
from gpusched.local.guard import Guard
from gpusched.local.options import Options
from gpusched.local.ports import LOOPBACK, free_ports, taken
from gpusched.local.process import Child, last_lines, stop

#: Between choosing a port and binding it, someone else may have taken it.
_ATTEMPTS: Final = 3
_PORT_TAKEN: Final = "address already in use"
#: Longer than anyone leaves a demo running.
_LIFETIME: Final = timedelta(days=365)
_NO_ROOM: Final = "no space left on device"
_PROBE_SECONDS: Final = 5.0
#: Key of the client of the scheduler's own server; no identity has such a name.
_SCHEDULER: Final = "/kube-scheduler"


class ControlPlane(Operations):
    """etcd, kube-apiserver, kube-scheduler, kube-controller-manager and kwok, as a context manager.

    Entering returns when the API server and the scheduler are ready; leaving stops all and removes their folder. When
    it is left by an error, or something had died, the logs are kept in the cache, see `kept_logs`. `progress` is told
    what is going on, line by line.
    """

    kept_logs: Path | None = None

    def __init__(
        self, binaries: Binaries, options: Options | None = None, progress: Callable[[str], None] = lambda _line: None
    ) -> None:
        self._binaries = binaries
        self._options = options or Options()
        self._progress = progress
        self._guard: Guard | None = None
        self._children: dict[str, Child] = {}
        self._apis: dict[str, Api] = {}

    def __enter__(self) -> Self:
        if self._options.secure_port and taken(self._options.secure_port):
            raise StartError(f"port {self._options.secure_port} is taken; choose another, or 0 for any free one")
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                self._start()
            except ChildDiedError as error:
                again = _PORT_TAKEN in last_lines(error.log, 40) and attempt < _ATTEMPTS
                self._leave(failed=not again)
                if not again:
                    raise StartError(f"{error}{self._advice(str(error))}") from error
                self._progress("a port was taken by someone else meanwhile: once more with others")
            except (LocalError, OSError) as error:
                self._leave(failed=True)
                raise StartError(f"{error}{self._advice(str(error))}") from error
            except BaseException:
                self._leave(failed=False)
                raise
            else:
                return self
        raise AssertionError("the last attempt returns or raises")

    def __exit__(
        self, _kind: type[BaseException] | None, error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        dead = [child.name for child in self._children.values() if not child.running]
        self._leave(failed=bool(dead) or isinstance(error, Exception))

    @property
    def server(self) -> str:
        """URL of the API server."""
        return self._layout.server

    @property
    def ca(self) -> Path:
        """The certificate, PEM, by which clients know the API server and the scheduler."""
        return self._layout.authority

    @property
    def folder(self) -> Path:
        """Folder of this run, gone afterwards; there is room for files of the caller."""
        return self._layout.folder

    @property
    def logs(self) -> Path:
        """Folder of the logs, one file a component."""
        return self._layout.logs

    @property
    def children(self) -> Mapping[str, Child]:
        """The running components by name, such as `kube-scheduler`."""
        return self._children

    def token_for(self, identity: str) -> str:
        """The bearer token of an identity."""
        return self._tokens[identity]

    def api(self, identity: str) -> Api:
        """A client that speaks as this identity."""
        if identity not in self._apis:
            context = ssl.create_default_context(cafile=str(self.ca))
            login = {"Authorization": f"Bearer {self._tokens[identity]}"}
            self._apis[identity] = Api(self.server, context, login)
        return self._apis[identity]

    def scheduler_api(self) -> Api:
        """A client of kube-scheduler's own server, which answers `/metrics` and `/readyz`."""
        if _SCHEDULER not in self._apis:
            context = ssl.create_default_context(cafile=str(self.ca))
            self._apis[_SCHEDULER] = Api(f"https://{LOOPBACK}:{self._layout.scheduler_port}", context, {})
        return self._apis[_SCHEDULER]

    def kubeconfig(self, identity: str = "admin") -> Path:
        """The kubeconfig of an identity."""
        path = self._layout.kubeconfig(identity)
        if not path.exists():
            write_private(path, kubeconfig(self.server, self.ca, self._tokens[identity]))
        return path

    def check(self) -> None:
        """Make sure that every component runs.

        Raises:
            ChildDiedError: one has died; the error says which, how, and what it said last.

        """
        for child in self._children.values():
            child.check()

    def restart_scheduler(self, configuration: Mapping[str, object] | None = None) -> None:
        """Stop kube-scheduler and start it with another KubeSchedulerConfiguration; returns when it is ready.

        Raises:
            ChildDiedError: it did not accept the configuration.

        """
        client = self._apis.pop(_SCHEDULER, None)
        if client is not None:
            client.close()
        self.stop("kube-scheduler")
        self._start_scheduler(self._options.scheduler if configuration is None else configuration)
        self._await_scheduler()

    def spawn_scheduler(self, name: str, configuration: Path, port: int) -> Child:
        """Start one more kube-scheduler, whose own server is at this port."""
        layout = msgspec.structs.replace(self._layout, scheduler_port=port)
        words = arguments.scheduler(layout, self._options, configuration)
        return self.spawn(name, [str(self._binaries["kube-scheduler"]), *words])

    def restart_api_server(self, meanwhile: Callable[[], None] = lambda: None) -> None:
        """Kill kube-apiserver, do something, and start it anew where it was; returns when it is ready.

        Raises:
            StartError: it did not get ready.

        """
        self._children["kube-apiserver"].kill()
        self.stop("kube-apiserver")
        meanwhile()
        self._start_api_server()

    def keep_logs(self) -> Path | None:
        """Copy the logs into the cache now; None where they could not be written."""
        self.kept_logs = keep_logs(self._layout.logs, cache_folder())
        return self.kept_logs

    def spawn(self, name: str, command: Sequence[str], environment: Mapping[str, str] | None = None) -> Child:
        """Start a further program that lives and dies with this control plane; its log is `logs/<name>.log`.

        Raises:
            OSError: the program cannot be started.

        """
        if self._guard is None:
            raise RuntimeError("the control plane is not entered")
        log = self._layout.logs / f"{name}.log"
        child = self._guard.spawn(name, command, log, folder=self._layout.folder, environment=environment)
        self._children[name] = child
        return child

    def stop(self, name: str) -> None:
        """Stop one component; it does not count as dead afterwards."""
        child = self._children.pop(name, None)
        if child is not None:
            stop([child], self._options.stop_seconds)

    def _start(self) -> None:
        options = self._options
        etcd_port, peer_port, api_port, scheduler_port = free_ports(4)
        self._guard = Guard(options.parent).__enter__()
        self._layout = Layout(self._guard.folder, etcd_port, peer_port, options.secure_port or api_port, scheduler_port)
        self._tokens = Tokens({**IDENTITIES, **options.identities})
        self._write_files()
        self._progress(f"starting Kubernetes {self._binaries.version}")
        self._spawn("etcd", arguments.etcd(self._layout))
        self._start_api_server()
        self._spawn("kube-controller-manager", arguments.controller_manager(self._layout, options))
        self._spawn("kwok", arguments.kwok(self._layout, options))
        self._start_scheduler(options.scheduler)
        self._await_scheduler()
        self._progress(f"ready: {self.server}")

    def _write_files(self) -> None:
        layout = self._layout
        layout.logs.mkdir()
        authority = issue_ca("gpusched-local", datetime.now(UTC), _LIFETIME)
        leaf = issue_leaf(authority, (LOOPBACK, "localhost"), datetime.now(UTC), _LIFETIME)
        write_private(layout.authority, authority.certificate)
        write_private(layout.folder / "server.crt", leaf.certificate)
        write_private(layout.folder / "server.key", leaf.key)
        private, public = service_account_keys()
        write_private(layout.folder / "service-account.key", private)
        write_private(layout.folder / "service-account.pub", public)
        write_private(layout.folder / "tokens.csv", self._tokens.file())
        if self._options.audit:
            write_private(layout.folder / "audit-policy.json", json.dumps(arguments.audit_policy()))
        for identity in ("admin", "scheduler", "kcm", "kwok", "gpusched"):
            self.kubeconfig(identity)

    def _spawn(self, name: str, words: list[str]) -> None:
        self.spawn(name, [str(self._binaries[name]), *words])

    def _start_api_server(self) -> None:
        self._spawn("kube-apiserver", arguments.api_server(self._layout, self._options))
        self._await(lambda: self._ready(self.api("admin")), "kube-apiserver")

    def _start_scheduler(self, given: Mapping[str, object]) -> None:
        path = self._layout.folder / "scheduler.json"
        path.write_text(
            json.dumps(arguments.scheduler_configuration(given, self.kubeconfig("scheduler")), indent=1),
            encoding="utf-8",
        )
        self._spawn("kube-scheduler", arguments.scheduler(self._layout, self._options, path))

    def _await_scheduler(self) -> None:
        self._await(lambda: self._ready(self.scheduler_api()), "kube-scheduler")

    def _ready(self, client: Api) -> bool:
        try:
            return client.request("GET", "/readyz", timeout=_PROBE_SECONDS).status == 200
        except OSError:
            return False

    def _await(self, probe: Callable[[], bool], name: str) -> None:
        try:
            self.wait_until(probe, self._options.start_seconds, f"{name} ready")
        except ChildDiedError:
            raise
        except LocalError as error:
            log = self._layout.logs / f"{name}.log"
            raise StartError(f"{error}; the end of {log.name}:\n{last_lines(log)}") from error

    def _leave(self, *, failed: bool) -> None:
        """Stop everything; an interrupt meanwhile makes it quicker, not less thorough."""
        guard, self._guard = self._guard, None
        if guard is None:
            return
        try:
            if failed:
                self.keep_logs()
            for api in self._apis.values():
                api.close()
            children = dict(self._children)
            server = [children.pop(name) for name in ("kube-apiserver", "etcd") if name in children]
            # An API server whose etcd is gone never ends by itself.
            stop(children.values(), self._options.stop_seconds)
            for child in server:
                stop([child], self._options.stop_seconds)
        finally:
            guard.close()
            self._apis.clear()
            self._children.clear()

    def _advice(self, text: str) -> str:
        full = f"\nThe disk of {self._options.parent or gettempdir()} is full." if _NO_ROOM in text.lower() else ""
        return full + (f"\nThe logs are kept in {self.kept_logs}" if self.kept_logs else "")
