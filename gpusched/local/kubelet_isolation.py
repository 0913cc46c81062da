"""Mounts of a kubelet's own: how it gets them, and why it cannot on some machines."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import msgspec

_PROBE_SECONDS: Final = 10
#: The kubelet looks for either, and only reads them where its containers are pretended.
_CONTROL_GROUPS: Final = (Path("/sys/fs/cgroup/cgroup.controllers"), Path("/sys/fs/cgroup/memory"))


class Isolation(msgspec.Struct, frozen=True):
    """The words before a command that gives it mounts of its own; `user_namespace` where root is only pretended."""

    words: tuple[str, ...]
    user_namespace: bool


def isolation(user: int) -> Isolation:
    """Root gets mounts at once, other users as root of a user namespace."""
    pretended = user != 0
    words = ["unshare", *(["--user", "--map-root-user"] if pretended else []), "--mount", "--propagation", "private"]
    return Isolation(tuple(words), pretended)


def missing(control_groups: tuple[Path, ...] = _CONTROL_GROUPS) -> str | None:
    """Why a kubelet cannot run on this machine, None if it can."""
    if sys.platform != "linux":
        return f"a kubelet needs Linux, and this is {sys.platform}"
    if not any(path.exists() for path in control_groups):
        return "a kubelet needs control groups, and /sys/fs/cgroup has none"
    if shutil.which("unshare") is None:
        return "a kubelet needs mounts of its own, and unshare of util-linux is not on the PATH"
    # The first mount of every start: containers and hardened kernels refuse it or the namespace.
    command = [*isolation(os.geteuid()).words, "mount", "-t", "tmpfs", "tmpfs", "/var/lib"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=_PROBE_SECONDS, check=False)
    except (OSError, subprocess.SubprocessError) as error:
        return f"a kubelet needs mounts of its own: {error}"
    return None if answer.returncode == 0 else f"a kubelet needs mounts of its own: {answer.stderr.strip()}"
