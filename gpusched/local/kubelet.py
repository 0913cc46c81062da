"""A node with a real kubelet: its GPUs, and mostly its containers, are pretended, what it decides is not."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Final, Literal, Self

import msgspec

from gpusched.local import containerd
from gpusched.local.arguments import REAL_KUBELET
from gpusched.local.containerd import Containerd
from gpusched.local.control_plane import ControlPlane
from gpusched.local.errors import LocalError, StartError
from gpusched.local.kubelet_configuration import configuration
from gpusched.local.kubelet_isolation import isolation
from gpusched.local.ports import free_ports

RESOURCE: Final = "nvidia.com/gpu"
_ENCLOSURE: Final = Path(__file__).with_name("kubelet_enclosure.sh")
_START_SECONDS: Final = 60.0
_ASK_SECONDS: Final = 15.0
#: The enclosure puts empty folders over these.
_COVERED: Final = (Path("/var/lib"), Path("/var/log"))
#: And over this where there are real containers: their shims have sockets in it, their networks names.
_RUN: Final = Path("/run")
#: Linux takes 107 bytes for the path of a socket; this is the longest below the folder of a node.
_LONGEST_SOCKET: Final = "device-plugins/gpusched-fake-gpu.sock"
_SOCKET_BYTES: Final = 107


class Grant(msgspec.Struct, frozen=True, order=True):
    """Devices of one container, as podresources tells; `devices` are ids such as `GPU-0::2`."""

    pod: str
    container: str
    devices: tuple[str, ...]


class Order(msgspec.Struct, frozen=True):
    """What the runtime was told to make: a sandbox, with `handler`, or a container, with `env`."""

    namespace: str
    pod: str
    container: str = ""
    handler: str = ""
    env: dict[str, str] = {}


class Kubelet:
    """One node, as a context manager over a control plane that is entered already.

    Entering returns when the node is Ready and offers `gpus` × `replicas` of nvidia.com/gpu; leaving stops all and
    deletes the Node. `labels` are those of the Node. `packed`: the plugin prefers replicas of a GPU that is in use
    already. With the runtime `fake`, containers never end by themselves and have no network, logs or init containers;
    with `containerd`, see `containerd.missing`, they are processes that print their environment, without a network.
    """

    def __init__(
        self,
        plane: ControlPlane,
        programs: Mapping[str, Path],
        name: str = "real",
        *,
        labels: Mapping[str, str] | None = None,
        gpus: int = 1,
        replicas: int = 1,
        packed: bool = False,
        runtime: Literal["containerd", "fake"] = "fake",
    ) -> None:
        self.name = name
        self._plane = plane
        self._programs = programs
        self._labels = {**(labels or {}), REAL_KUBELET: "true"}
        self._plugin = ["--gpus", str(gpus), "--replicas", str(replicas), *(["--packed"] if packed else [])]
        self._slots = gpus * replicas
        self._isolation = isolation(os.geteuid())
        self._folder = plane.folder / name
        self._containerd = Containerd(self._folder, programs["pause"]) if runtime == "containerd" else None

    def __enter__(self) -> Self:
        self._check_paths()
        self._folder.mkdir(mode=0o700)
        try:
            self._start()
        except BaseException:
            self._leave()
            raise
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._leave()

    def start(self) -> None:
        """Start the kubelet and wait until it says that the node is ready.

        Raises:
            LocalError: it died or did not get ready in time.

        """
        before = self._heartbeat()
        enclosed = self._enclosed() if self._containerd is None else self._joined()
        self._spawn("kubelet", [*enclosed, str(self._programs["kubelet"]), *self._arguments()])
        self._plane.wait_until(
            lambda: self._heartbeat() not in {"", before} and self._podresources.exists(),
            _START_SECONDS,
            f"node {self.name} ready",
        )

    def kill(self) -> None:
        """Kill the kubelet with SIGKILL; what it started goes on."""
        self._kill("kubelet")

    def start_plugin(self) -> None:
        """Start the device plugin; it registers by itself."""
        folder = ["--folder", str(self._folder / "device-plugins"), "--unhealthy", str(self._folder / "unhealthy")]
        self._spawn("gpu-plugin", [str(self._programs["gpu-plugin"]), *folder, *self._plugin])

    def kill_plugin(self) -> None:
        """Kill the device plugin with SIGKILL."""
        self._kill("gpu-plugin")

    def set_unhealthy(self, *gpus: str) -> None:
        """Let these GPUs, such as `GPU-1`, be sick from now on, and all others be well."""
        fresh = self._folder / "unhealthy.new"
        fresh.write_text("".join(f"{gpu}\n" for gpu in gpus), encoding="utf-8")
        fresh.rename(self._folder / "unhealthy")

    def wait_for_slots(self, count: int) -> None:
        """Wait until so many nvidia.com/gpu are offered by the Node.

        Raises:
            LocalError: it does not in time.

        """
        what = f"node {self.name} offers {count} {RESOURCE}"
        self._plane.wait_until(lambda: self._allocatable() == str(count), _START_SECONDS, what)

    def grants(self, namespace: str) -> list[Grant]:
        """Which devices the containers of a namespace have, by pod, from the kubelet's podresources.

        Raises:
            LocalError: the kubelet does not answer.

        """
        command = [str(self._programs["pod-resources"]), "--socket", str(self._podresources)]
        try:
            answer = subprocess.run(command, capture_output=True, text=True, timeout=_ASK_SECONDS, check=True)
        except subprocess.CalledProcessError as error:
            raise LocalError(f"podresources of {self.name}: {error.stderr.strip()}") from error
        pods = [pod for pod in json.loads(answer.stdout).get("podResources", ()) if pod["namespace"] == namespace]
        return sorted(grant for pod in pods for grant in _grants(pod))

    def orders(self, namespace: str) -> list[Order]:
        """What the fake runtime was told to make for a namespace, in its order."""
        lines = self._journal.read_text(encoding="utf-8").splitlines()
        orders = (msgspec.json.decode(line, type=Order) for line in lines)
        return [order for order in orders if order.namespace == namespace]

    def environment(self, namespace: str, pod: str, container: str) -> dict[str, str]:
        """What a real container of containerd has told in its log; empty until it has."""
        logs = self._folder.glob(f"pods/{namespace}_{pod}_*/{container}/0.log")
        return {name: value for log in logs for name, value in containerd.printed(log).items()}

    def handled(self) -> set[str]:
        """Ids of the containers that containerd has made with the runtime of the handler `nvidia`, sandboxes too."""
        return set() if self._containerd is None else self._containerd.handled()

    @property
    def _path(self) -> str:
        return f"/api/v1/nodes/{self.name}"

    @property
    def _runtime_socket(self) -> Path:
        return self._folder / "cri.sock"

    @property
    def _journal(self) -> Path:
        return self._folder / "orders.jsonl"

    @property
    def _podresources(self) -> Path:
        return self._folder / "root" / "pod-resources" / "kubelet.sock"

    def _start(self) -> None:
        for part in ("root", "device-plugins", "pki", "plugins", "pods"):
            (self._folder / part).mkdir()
        self._write_configuration()
        (self._folder / "unhealthy").touch()
        if self._containerd is None:
            words = ["--socket", str(self._runtime_socket), "--journal", str(self._journal)]
            self._spawn("fake-cri", [str(self._programs["fake-cri"]), *words])
            self._plane.wait_until(self._runtime_socket.exists, _START_SECONDS, "fake-cri ready")
        else:
            self._containerd.write()
            self._spawn("containerd", [*self._enclosed(), *self._containerd.command])
            self._plane.wait_until(self._containerd.answers, _START_SECONDS, "containerd ready")
            self._containerd.load()
        self.start()
        self.start_plugin()
        self.wait_for_slots(self._slots)

    def _enclosed(self) -> list[str]:
        """The words before the first command of the node: mounts of its own, with containers also process ids."""
        ids = [] if self._containerd is None else ["--pid", "--fork", "--kill-child", "--mount-proc"]
        covered = "" if self._containerd is None else str(_RUN)
        return [*self._isolation.words, *ids, "/bin/sh", str(_ENCLOSURE), str(self._folder), covered]

    def _joined(self) -> list[str]:
        """The words before a command that joins containerd; it dies with the process that `_spawn` gives."""
        namespaces = Path("/proc", str(self._plane.children[self._child("containerd")].pid), "ns")
        names = [f"--mount={namespaces / 'mnt'}", f"--pid={namespaces / 'pid_for_children'}"]
        return ["nsenter", *names, "setpriv", "--pdeathsig", "KILL"]

    def _leave(self) -> None:
        for part in ("gpu-plugin", "kubelet", "fake-cri"):
            self._plane.stop(self._child(part))
        if self._containerd is not None:
            enclosure = self._plane.children.get(self._child("containerd"))
            if enclosure is not None:
                containerd.end_namespace(enclosure.pid)
            self._plane.stop(self._child("containerd"))
        self._plane.request("DELETE", self._path)
        shutil.rmtree(self._folder, ignore_errors=True)
        if self._containerd is not None:
            self._containerd.clear()

    def _child(self, part: str) -> str:
        return f"{self.name}-{part}"

    def _spawn(self, part: str, command: list[str]) -> None:
        self._plane.spawn(self._child(part), command)

    def _kill(self, part: str) -> None:
        self._plane.children[self._child(part)].kill()
        self._plane.stop(self._child(part))

    def _check_paths(self) -> None:
        needed = [self._folder, *self._programs.values()]
        tops = _COVERED if self._containerd is None else (*_COVERED, _RUN)
        covered = [path for path in needed if any(top in path.resolve().parents for top in tops)]
        if covered:
            seen = " and ".join(map(str, tops))
            raise StartError(f"a kubelet sees nothing of {seen}, so that {covered[0]} may not be there")
        if len(bytes(self._folder / _LONGEST_SOCKET)) > _SOCKET_BYTES:
            raise StartError(f"{self._folder} is too long a path for the sockets in it")

    def _heartbeat(self) -> str:
        """When the node last said that it is ready; empty if it did not, or says that it is not."""
        answer = self._plane.request("GET", self._path)
        conditions = _mapping(_mapping(answer.tree).get("status")).get("conditions") if answer.ok else None
        ready = [item for item in conditions or () if item["type"] == "Ready"] if isinstance(conditions, list) else []
        return str(ready[0]["lastHeartbeatTime"]) if ready and ready[0]["status"] == "True" else ""

    def _allocatable(self) -> str:
        status = _mapping(self._plane.get(self._path).get("status"))
        return str(_mapping(status.get("allocatable")).get(RESOURCE, "0"))

    def _arguments(self) -> list[str]:
        labels = ",".join(f"{key}={value}" for key, value in sorted(self._labels.items()))
        return [
            f"--config={self._folder / 'kubelet.json'}",
            f"--kubeconfig={self._plane.kubeconfig()}",
            f"--hostname-override={self.name}",
            f"--root-dir={self._folder / 'root'}",
            f"--cert-dir={self._folder / 'pki'}",
            f"--node-labels={labels}",
            "--v=2",
        ]

    def _write_configuration(self) -> None:
        (port,) = free_ports(1)
        tree = configuration(
            self._folder, self._runtime_socket, port, user_namespace=isolation(os.geteuid()).user_namespace
        )
        if self._containerd is not None:
            tree |= {"cgroupsPerQOS": True, "cgroupRoot": self._containerd.control_group}
        (self._folder / "kubelet.json").write_text(json.dumps(tree, indent=1), encoding="utf-8")


def _grants(pod: Mapping[str, object]) -> Iterator[Grant]:
    containers = pod.get("containers")
    for container in containers if isinstance(containers, list) else ():
        given = [item for item in container.get("devices", ()) if item["resourceName"] == RESOURCE]
        devices = tuple(sorted(device for item in given for device in item["deviceIds"]))
        if devices:
            yield Grant(str(pod["name"]), str(container["name"]), devices)


def _mapping(tree: object) -> Mapping[str, object]:
    return tree if isinstance(tree, Mapping) else {}
