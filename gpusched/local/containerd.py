"""The container runtime of a node: the machine's containerd and runc, with a folder, a network and an image of ours."""

import contextlib
import hashlib
import io
import json
import os
import shutil
import signal
import subprocess
import tarfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from gpusched.local.errors import StartError

#: All images of the node are one: its program prints its environment, and waits.
IMAGES: Final = ("gpusched.local/pause:1", "registry.example/app:1")
#: The variable that it prints as the last.
_LAST: Final = "PAUSED"
#: The handler of RuntimeClasses that has a runtime of its own, which keeps a journal.
HANDLER: Final = "nvidia"
_PROGRAMS: Final = ("containerd", "containerd-shim-runc-v2", "ctr", "nsenter", "runc", "setpriv")
_CONTROL_GROUPS: Final = Path("/sys/fs/cgroup")
_ASK_SECONDS: Final = 15.0
_EMPTY_SECONDS: Final = 10.0
#: Containers of a network that is there on paper only: https://www.cni.dev/docs/spec/. The address is of RFC 5737.
_NETWORK: Final = """#!/bin/sh
case $CNI_COMMAND in
ADD) echo '{"cniVersion": "1.0.0", "interfaces": [{"name": "eth0", "sandbox": "'"$CNI_NETNS"'"}],' \
  '"ips": [{"interface": 0, "address": "192.0.2.1/32"}]}' ;;
VERSION) echo '{"cniVersion": "1.0.0", "supportedVersions": ["0.4.0", "1.0.0"]}' ;;
esac
"""
_CRI: Final = 'plugins."io.containerd.grpc.v1.cri"'


def missing(user: int | None = None) -> str | None:
    """Why real containers cannot run on this machine, None if they can."""
    if (os.geteuid() if user is None else user) != 0:
        return "containerd needs root"
    if not _hierarchies():
        return f"no control groups of version 1 in {_CONTROL_GROUPS}, the only ones that this was tried with"
    absent = [name for name in _PROGRAMS if shutil.which(name) is None]
    return f"not on the PATH: {', '.join(absent)}" if absent else None


def printed(log: Path) -> dict[str, str]:
    """The variables that a container has printed into its log; empty until it has printed all."""
    # Time, stream and tag stand before what was said: the log format of the CRI.
    lines = [line.split(" ", 3)[-1].partition("=") for line in log.read_text(encoding="utf-8").splitlines()]
    variables = {name: value for name, _, value in lines}
    return variables if variables.pop(_LAST, None) == "yes" else {}


def end_namespace(parent: int) -> None:
    """Kill the first process of the namespace that `unshare` with this id waits for, and by that all in it.

    `unshare` ends when they are gone; killed itself, it would be gone before them.
    """
    with contextlib.suppress(OSError):
        for child in Path(f"/proc/{parent}/task/{parent}/children").read_text(encoding="utf-8").split():
            os.kill(int(child), signal.SIGKILL)


class Containerd:
    """containerd below a folder that exists; whoever uses it starts `command`, and ends it before `clear`."""

    def __init__(self, folder: Path, pause: Path) -> None:
        self._folder = folder
        self._pause = pause
        #: The group is the node's own, and that of its containers.
        self.control_group = f"/gpusched-{hashlib.sha256(bytes(folder)).hexdigest()[:12]}"

    @property
    def socket(self) -> Path:
        """Where it answers, to the kubelet and to `ctr`."""
        return self._folder / "cri.sock"

    @property
    def command(self) -> list[str]:
        """The program and its arguments, without what encloses it."""
        return [_program("containerd"), "--config", str(self._folder / "containerd.toml")]

    def write(self) -> None:
        """Write its files: the configuration, a network, the runtime of the handler, the archive of the images.

        Also makes the control groups, which `clear` removes.
        """
        for hierarchy in _hierarchies():
            group = hierarchy / self.control_group.lstrip("/")
            group.mkdir()
            # A group without these takes no process.
            for name in filter(lambda name: (hierarchy / name).exists(), ("cpuset.cpus", "cpuset.mems")):
                (group / name).write_bytes((hierarchy / name).read_bytes())
        networks = self._folder / "networks"
        networks.mkdir()
        plugins = [{"type": "paper"}]
        tree = {"cniVersion": "1.0.0", "name": "paper", "plugins": plugins}
        (networks / "paper.conflist").write_text(json.dumps(tree), encoding="utf-8")
        for name in ("paper", "loopback"):
            _write_script(networks / name, _NETWORK)
        runtime = f'#!/bin/sh\necho "$@" >> {self._calls}\nexec {_program("runc")} "$@"\n'
        _write_script(self._folder / "nvidia-runtime", runtime)
        (self._folder / "containerd.toml").write_text(self._configuration(), encoding="utf-8")
        (self._folder / "images.tar").write_bytes(archive(self._pause.read_bytes(), IMAGES))

    def answers(self) -> bool:
        """Whether it is ready."""
        return self._ask("version").returncode == 0

    def load(self) -> None:
        """Give it the images; it must answer already.

        Raises:
            StartError: it does not take them.

        """
        answer = self._ask("--namespace", "k8s.io", "images", "import", "--no-unpack", str(self._folder / "images.tar"))
        if answer.returncode != 0:
            raise StartError(f"containerd does not take its image: {answer.stderr.strip()}")

    def handled(self) -> set[str]:
        """Ids of the containers, sandboxes too, that were made by the runtime of the handler."""
        lines = self._calls.read_text(encoding="utf-8").splitlines() if self._calls.exists() else []
        return {words[-1] for words in map(str.split, lines) if "create" in words}

    def clear(self) -> None:
        """Remove the control groups of its containers, which have ended; nobody does if this process is killed.

        Raises:
            OSError: a process is still there.

        """
        end = time.monotonic() + _EMPTY_SECONDS
        name = self.control_group.lstrip("/")
        # Also where version 2 stands beside version 1.
        for top in _CONTROL_GROUPS.glob(f"*/{name}"):
            inner = sorted((path for path in top.rglob("*") if path.is_dir()), key=lambda path: -len(path.parts))
            for group in (*inner, top):
                _remove(group, end)

    @property
    def _calls(self) -> Path:
        return self._folder / "nvidia-runtime.calls"

    def _ask(self, *words: str) -> subprocess.CompletedProcess[str]:
        command = [_program("ctr"), "--address", str(self.socket), "--connect-timeout", "2s", *words]
        return subprocess.run(command, capture_output=True, text=True, timeout=_ASK_SECONDS, check=False)

    def _configuration(self) -> str:
        # Without the plugin "opt" it makes no folder in /opt, without AppArmor it loads no profile into the kernel. The
        # snapshotter works on any file system. Not even root may lower the score of a process in some machines.
        return f"""version = 2
root = "{self._folder}/containerd"
state = "/run/containerd/state"
disabled_plugins = ["io.containerd.internal.v1.opt"]
[grpc]
  address = "{self.socket}"
[{_CRI}]
  sandbox_image = "{IMAGES[0]}"
  restrict_oom_score_adj = true
  disable_apparmor = true
[{_CRI}.cni]
  bin_dir = "{self._folder}/networks"
  conf_dir = "{self._folder}/networks"
[{_CRI}.containerd]
  snapshotter = "native"
  default_runtime_name = "runc"
[{_CRI}.containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
[{_CRI}.containerd.runtimes.{HANDLER}]
  runtime_type = "io.containerd.runc.v2"
[{_CRI}.containerd.runtimes.{HANDLER}.options]
  BinaryName = "{self._folder}/nvidia-runtime"
"""


def _hierarchies() -> list[Path]:
    """The control group hierarchies of version 1."""
    return [path for path in sorted(_CONTROL_GROUPS.glob("*")) if (path / "release_agent").exists()]


def archive(program: bytes, names: Sequence[str]) -> bytes:
    """An image of one layer with one program, in the format of `docker save`, under several names."""
    layer = _tar({"pause": (program, 0o755)})
    image = {
        "architecture": {"aarch64": "arm64", "x86_64": "amd64"}.get(os.uname().machine, os.uname().machine),
        "os": "linux",
        "config": {"Entrypoint": ["/pause"]},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(layer).hexdigest()}"]},
    }
    listing = [{"Config": "config.json", "RepoTags": list(names), "Layers": ["layer.tar"]}]
    return _tar(
        {
            "config.json": (json.dumps(image).encode(), 0o644),
            "layer.tar": (layer, 0o644),
            "manifest.json": (json.dumps(listing).encode(), 0o644),
        }
    )


def _tar(files: dict[str, tuple[bytes, int]]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as file:
        for name, (content, mode) in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(content), mode
            file.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()


def _program(name: str) -> str:
    path = shutil.which(name)
    if path is None:
        raise StartError(f"{name} is not on the PATH")
    return path


def _write_script(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)


def _remove(group: Path, end: float) -> None:
    """Remove an empty control group; those of a killed namespace take a moment to become it."""
    while True:
        try:
            group.rmdir()
        except FileNotFoundError:
            return
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.05)
        else:
            return
