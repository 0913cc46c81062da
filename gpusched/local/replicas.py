"""Several replicas of gpusched on a local control plane, behind what stands in for their two Services."""

import threading
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from types import TracebackType
from typing import Final, Self

import msgspec

from gpusched.core.names import OWN_NAMESPACE
from gpusched.local.control_plane import ControlPlane
from gpusched.local.errors import LocalError
from gpusched.local.forwarder import Forwarder
from gpusched.local.installed import SERVICE, Installed, serving_environment
from gpusched.local.ports import free_ports

_PODS: Final = "/api/v1/namespaces/gpusched-system/pods"
_LEADER: Final = "gpusched.io/leader"
_EXISTS: Final = 409
_READY_SECONDS: Final = 60.0
#: kubelet, endpoints controller and kube-proxy together take longer.
_LOOK_SECONDS: Final = 0.1
_UNPRIVILEGED: Final = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}


class Replica(msgspec.Struct, frozen=True):
    """One process: its name, which is that of its pod, and its own ports."""

    name: str
    webhook: int
    extender: int
    admin: int

    @property
    def ports(self) -> dict[str, int]:
        """The ports by the names of the command line."""
        return {"webhook": self.webhook, "extender": self.extender, "admin": self.admin}


class Replicas(Installed):
    """As `Installed`, with several processes. Each has a pod object, never run, for the leader's label.

    Webhook calls go to any ready replica, the extender's to the ready one whose pod has the label.
    """

    def __init__(
        self,
        plane: ControlPlane,
        count: int = 2,
        *,
        config: Mapping[str, object] | None = None,
        arguments: Sequence[str] = (),
    ) -> None:
        super().__init__(plane, config=config, arguments=arguments)
        self._cluster = plane
        ports = free_ports(3 * count)
        self.replicas = [Replica(f"{SERVICE}-{index}", *ports[3 * index : 3 * index + 3]) for index in range(count)]
        self._webhook = Forwarder(self._webhook_port)
        self._leader = Forwarder(self._extender_port)
        self._ended = threading.Event()
        self._follower = threading.Thread(target=self._follow, name="endpoints", daemon=True)
        self._services = ExitStack()

    def __enter__(self) -> Self:
        self._services.enter_context(self._webhook)
        self._services.enter_context(self._leader)
        self._follower.start()
        try:
            super().__enter__()
        except BaseException:
            self._close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            super().__exit__(kind, error, trace)
        finally:
            self._close()

    def start(self) -> None:
        """Start all replicas and wait until they are ready and one leads.

        Raises:
            LocalError: that did not come about in time.

        """
        for replica in self.replicas:
            self.start_replica(replica)
            # The first one issues the certificates of all.
            self.wait_ready(replica)
        self._cluster.wait_until(self.leader, _READY_SECONDS, "a leader")

    def stop(self) -> None:
        """Stop all replicas with SIGTERM, those that follow first."""
        for replica in sorted(self.replicas, key=lambda replica: replica == self.leader()):
            self._cluster.stop(replica.name)

    def kill(self) -> None:
        """Kill all replicas with SIGKILL."""
        for replica in self.replicas:
            self.kill_replica(replica)

    def start_replica(self, replica: Replica) -> None:
        """Start one process, and its pod where it has none yet."""
        pod = self._cluster.create(_pod(replica.name))
        if pod.status != _EXISTS:
            pod.expect()
        command = [*self.command(replica.ports), "--pod-name", replica.name]
        self._cluster.spawn(replica.name, command, environment=serving_environment())

    def wait_ready(self, replica: Replica) -> None:
        """Wait until it is ready, which includes that its caches are filled.

        Raises:
            LocalError: it died or was not ready in time.

        """
        self._cluster.wait_until(lambda: self.ready(replica) or None, _READY_SECONDS, f"{replica.name} ready")

    def kill_replica(self, replica: Replica) -> None:
        """Kill one process with SIGKILL; its pod stays as it is."""
        self._cluster.children[replica.name].kill()
        self._cluster.stop(replica.name)

    def ready(self, replica: Replica) -> bool:
        """Whether its readiness probe succeeds."""
        return self.admin("/readyz", replica.admin)[0] == 200

    def leads(self, replica: Replica) -> bool:
        """Whether it answers the extender."""
        return "extender: this replica leads" in self.admin("/readyz", replica.admin)[1]

    def leader(self) -> Replica | None:
        """The replica that answers the extender."""
        return next((replica for replica in self.replicas if self.leads(replica)), None)

    def labelled(self) -> list[Replica]:
        """The replicas whose pods have the leader's label."""
        found = self._cluster.get(_PODS, query={"labelSelector": f"{_LEADER}=true"})["items"]
        names = {item["metadata"]["name"] for item in found} if isinstance(found, list) else set()
        return [replica for replica in self.replicas if replica.name in names]

    def _follow(self) -> None:
        while not self._ended.wait(_LOOK_SECONDS):
            with suppress(LocalError, OSError):
                ready = [replica for replica in self.replicas if self.ready(replica)]
                self._webhook.targets = [replica.webhook for replica in ready]
                self._leader.targets = [replica.extender for replica in self.labelled() if replica in ready]

    def _close(self) -> None:
        self._ended.set()
        self._follower.join()
        self._services.close()


def _pod(name: str) -> dict[str, object]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": OWN_NAMESPACE, "labels": {"app.kubernetes.io/name": SERVICE}},
        "spec": {
            "schedulerName": "none",
            # Of the namespace's PodSecurity level.
            "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
            "containers": [{"name": SERVICE, "image": SERVICE, "securityContext": _UNPRIVILEGED}],
        },
    }
