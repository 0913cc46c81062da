"""gpusched on a local control plane: installed from its own manifests, served by a process, called by the scheduler."""

import base64
import http.client
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import yaml

from certs.profile import EXTENDER_SERVICE
from gpusched.core.resources import GpuResources
from gpusched.local.control_plane import ControlPlane
from gpusched.local.credentials import write_private
from gpusched.local.errors import LocalError, StartError
from gpusched.local.ports import LOOPBACK, free_ports
from gpusched.local.second_scheduler import SECOND, start_second_scheduler
from gpusched.policy.config import parse_config
from gpusched.wire.scheduler_config import Endpoint, extender_stanza, managed_resources, scheduler_config

#: The name of the process among the control plane's children.
SERVICE: Final = "gpusched"
#: Among the arguments of `gpusched serve`: the extender has no certificate, so there are no files for kube-scheduler.
PLAIN_EXTENDER: Final = "--extender-plain-http"
_START_SECONDS: Final = 60.0
_ADMIN_SECONDS: Final = 5.0
_Tree = dict[str, object]


def manifests_folder() -> Path:
    """Where the manifests are: in a checkout beside the package, in an installed one inside it."""
    package = Path(__file__).resolve().parent.parent
    beside = package.parent / "manifests"
    return beside if (beside / "base").is_dir() else package / "_manifests"


def documents(path: Path) -> list[_Tree]:
    """The objects of a manifest file."""
    return [tree for tree in yaml.safe_load_all(path.read_text(encoding="utf-8")) if tree]


class Installed:
    """gpusched installed and running, as a context manager over a control plane that is entered already.

    `config` is a gpusched configuration as a tree. `arguments` go to `gpusched serve` as they are. With
    `extender=False` kube-scheduler is left without the extender. Where the configuration has a secondScheduler, that
    one runs beside kube-scheduler and has the extender; the control plane must have its identity. Certificates are
    those that gpusched keeps in Secrets, and caBundles are written by itself; with `own_certificates=False` they are
    files, good without an API server too.
    """

    def __init__(
        self,
        plane: ControlPlane,
        *,
        config: Mapping[str, object] | None = None,
        arguments: Sequence[str] = (),
        extender: bool = True,
        own_certificates: bool = True,
    ) -> None:
        self._plane = plane
        self._config: _Tree = {"apiVersion": "gpusched.io/v1alpha1", "kind": "Config", **(config or {})}
        self._arguments = list(arguments)
        self._extender = extender
        self._own_certificates = own_certificates
        self._second = bool(self._config.get("secondScheduler"))
        self._webhook_port, self._extender_port, self._admin_port = free_ports(3)
        self._folder = plane.folder / f"gpusched-{self._admin_port}"

    def __enter__(self) -> Self:
        try:
            self._install()
        except LocalError:
            # A webhook left behind without its service would refuse every pod that comes after.
            with suppress(LocalError):
                self._remove()
            raise
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._remove()

    def _install(self) -> None:
        base = manifests_folder() / "base"
        for name in ("namespace", "rbac", "config"):
            self._plane.apply(documents(base / f"{name}.yaml"))
        self._plane.apply(self._service_objects())
        self._folder.mkdir(mode=0o700, exist_ok=True)
        self.configure({})
        self.start()
        self._plane.apply(self.webhooks())
        if self._own_certificates:
            self._await_bundles()
            self.certificates.mkdir(exist_ok=True)
            (self.certificates / "ca.crt").write_bytes(next(iter(self.bundles().values())))
            if PLAIN_EXTENDER not in self._arguments:
                self._issue()
        self._plane.apply(documents(base / "policy.yaml"))
        if self._extender and self._second:
            self._plane.apply(documents(base.parent / "overlays" / "managed" / "scheduler-rbac.yaml"))
            start_second_scheduler(self._plane, self.scheduler_configuration())
        elif self._extender:
            self._plane.restart_scheduler(self.scheduler_configuration())

    def _remove(self) -> None:
        if self._extender and self._second:
            self._plane.stop(SECOND)
        elif self._extender:
            self._plane.restart_scheduler()
        base = manifests_folder() / "base"
        for tree in [*documents(base / "webhooks.yaml"), *documents(base / "policy.yaml"), *self._service_objects()]:
            self._plane.delete(tree)
        self.stop()

    @property
    def admin_url(self) -> str:
        """URL of the page, health, readiness and metrics."""
        return f"http://{LOOPBACK}:{self._admin_port}"

    @property
    def webhook_url(self) -> str:
        """URL of the webhook."""
        return f"https://{LOOPBACK}:{self._webhook_port}"

    @property
    def certificates(self) -> Path:
        """Folder of files for callers: `ca.crt` of the webhook, and in `scheduler` what kube-scheduler reads."""
        return self._folder / "certs"

    @property
    def log(self) -> Path:
        """What the service says."""
        return self._plane.logs / f"{SERVICE}.log"

    def configure(self, changes: Mapping[str, object]) -> None:
        """Write the configuration file, with these top-level fields replaced; a running service reads it by itself."""
        self._config = {**self._config, **changes}
        # Put in place as a whole, as a mounted ConfigMap is: the service may look at any time.
        draft = self._folder / "config.yaml.new"
        write_private(draft, yaml.safe_dump(self._config)).replace(self._folder / "config.yaml")

    def start(self) -> None:
        """Start the service and wait until it is ready, which includes that its caches are filled.

        Raises:
            LocalError: it died or did not get ready in time.

        """
        self._plane.spawn(SERVICE, self.command(), environment=serving_environment())
        self._plane.wait_until(lambda: self.admin("/readyz")[0] == 200 or None, _START_SECONDS, "gpusched ready")

    def stop(self) -> None:
        """Stop the service with SIGTERM and wait for it."""
        self._plane.stop(SERVICE)

    def kill(self) -> None:
        """Kill the service with SIGKILL."""
        child = self._plane.children[SERVICE]
        child.kill()
        self._plane.stop(SERVICE)

    def admin(self, path: str, port: int | None = None) -> tuple[int, str]:
        """Status and body of a path of the admin port, or of another's; status 0 when nobody answers."""
        connection = http.client.HTTPConnection(LOOPBACK, port or self._admin_port, timeout=_ADMIN_SECONDS)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read().decode("utf-8", "replace")
        except (OSError, http.client.HTTPException) as error:
            return 0, str(error)
        finally:
            connection.close()

    def metric(self, name: str, **labels: str) -> float:
        """Sum of the samples of a metric whose labels include these; 0 when there is none."""
        _, text = self.admin("/metrics")
        return sum(
            value for sample, value in _samples(text, name) if all(f'{k}="{v}"' in sample for k, v in labels.items())
        )

    def _issue(self) -> None:
        """Write what kube-scheduler reads, as `gpusched certs issue` does."""
        command = [sys.executable, "-m", "gpusched", "certs", "issue", str(self.certificates / "scheduler")]
        command += ["--kubeconfig", str(self._plane.kubeconfig())]
        ran = subprocess.run(command, env=serving_environment(), capture_output=True, text=True, check=False)
        if ran.returncode:
            raise StartError(f"gpusched certs issue: {ran.stderr.strip()}")

    def bundles(self) -> dict[str, bytes]:
        """The caBundles that the API server has, by name of the webhook; empty for one without."""
        found = {}
        for tree in self.webhooks():
            hooks = self._plane.get(_path(tree))["webhooks"]
            for hook in hooks if isinstance(hooks, list) else []:
                found[hook["name"]] = base64.b64decode(hook["clientConfig"].get("caBundle", ""))
        return found

    def webhooks(self) -> list[_Tree]:
        """The shipped webhook configurations, with the address of this process in place of the Service."""
        bundle = {} if self._own_certificates else {"caBundle": self._bundle()}
        trees = documents(manifests_folder() / "base" / "webhooks.yaml")
        for tree in trees:
            hooks = tree["webhooks"]
            for hook in hooks if isinstance(hooks, list) else []:
                path = hook["clientConfig"]["service"]["path"]
                hook["clientConfig"] = {"url": f"{self.webhook_url}{path}", **bundle}
        return trees

    def scheduler_configuration(self, *, break_glass: bool = False) -> _Tree:
        """What `gpusched config scheduler` prints, with the files of this run."""
        config, _ = parse_config(self._config)
        resources = GpuResources({item.name: item.vendor for item in config.resources})
        names = managed_resources(resources, ())
        endpoint = Endpoint(f"https://{LOOPBACK}:{self._extender_port}", str(self.certificates / "scheduler"))
        stanza = extender_stanza(config, endpoint, names, break_glass=break_glass)
        return scheduler_config(stanza, config.second_scheduler)

    def _service_objects(self) -> list[_Tree]:
        """The shipped Services, which nothing stands behind here; that of the extender where it is offered."""
        trees = documents(manifests_folder() / "base" / "service.yaml")
        return [tree for tree in trees if _name(tree) != EXTENDER_SERVICE or PLAIN_EXTENDER not in self._arguments]

    def _bundle(self) -> str:
        return base64.b64encode((self.certificates / "ca.crt").read_bytes()).decode()

    def _await_bundles(self) -> None:
        """The service writes them once it leads."""
        self._plane.wait_until(lambda: all(self.bundles().values()), _START_SECONDS, "caBundles written")

    def _certificate_arguments(self) -> list[str]:
        if self._own_certificates:
            return ["--certs", "secret"]
        issued = (self.certificates / "ca.crt").exists()
        return ["--cert-dir", str(self.certificates), *([] if issued else ["--self-signed"])]

    def command(self, ports: Mapping[str, int] | None = None) -> list[str]:
        """The command line of a process, by default on the ports that API server and scheduler know."""
        ports = ports or {"webhook": self._webhook_port, "extender": self._extender_port, "admin": self._admin_port}
        return [
            sys.executable,
            "-m",
            "gpusched",
            "serve",
            "--kubeconfig",
            str(self._plane.kubeconfig("gpusched")),
            "--config",
            str(self._folder / "config.yaml"),
            *self._certificate_arguments(),
            "--host",
            LOOPBACK,
            *(word for name, port in ports.items() for word in (f"--{name}-port", str(port))),
            "--drain-seconds",
            "0.5",
            "--admin-access",
            "open",
            *self._arguments,
        ]


def _path(tree: Mapping[str, object]) -> str:
    plural = f"{str(tree['kind']).lower()}s".replace("policys", "policies")
    return f"/apis/admissionregistration.k8s.io/v1/{plural}/{_name(tree)}"


def serving_environment() -> dict[str, str]:
    """The caller's environment, with the package that runs now found first."""
    root = str(Path(__file__).resolve().parent.parent.parent)
    paths = [root, *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}


def _name(tree: Mapping[str, object]) -> str:
    metadata = tree.get("metadata")
    return str(metadata.get("name")) if isinstance(metadata, Mapping) else ""


def _samples(text: str, name: str) -> Iterator[tuple[str, float]]:
    for line in text.splitlines():
        sample, _, value = line.rpartition(" ")
        if sample == name or sample.startswith(f"{name}{{"):
            yield sample, float(value)
