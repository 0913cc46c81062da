import sys

import pytest

from gpusched.local import kubelet_isolation
from gpusched.local.kubelet_isolation import Isolation, isolation, missing

NEEDS = "a kubelet needs mounts of its own"


@pytest.fixture
def groups(tmp_path):
    return (tmp_path,)


@pytest.fixture
def unshare(tmp_path, monkeypatch):
    """Puts a program of that name on the PATH, alone."""
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("PATH", str(tmp_path))

    def write(script: str) -> None:
        (tmp_path / "unshare").write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        (tmp_path / "unshare").chmod(0o755)

    return write


@pytest.mark.parametrize(
    ("user", "expected"),
    [
        (0, Isolation(("unshare", "--mount", "--propagation", "private"), user_namespace=False)),
        (
            1000,
            Isolation(
                ("unshare", "--user", "--map-root-user", "--mount", "--propagation", "private"), user_namespace=True
            ),
        ),
    ],
)
def test_only_root_goes_without_a_user_namespace(user, expected):
    assert isolation(user) == expected


def test_machine_that_lets_us_mount_lacks_nothing(groups, unshare, tmp_path):
    unshare(f'echo "$@" > {tmp_path}/asked')

    assert missing(groups) is None
    assert (tmp_path / "asked").read_text(encoding="utf-8").endswith("mount -t tmpfs tmpfs /var/lib\n")


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        (
            "echo unshare failed: Operation not permitted >&2; exit 1",
            f"{NEEDS}: unshare failed: Operation not permitted",
        ),
        ("exec sleep 100", f"{NEEDS}: "),
    ],
)
def test_machine_that_does_not_says_why(groups, unshare, monkeypatch, script, expected):
    monkeypatch.setattr(kubelet_isolation, "_PROBE_SECONDS", 0.2)
    monkeypatch.setenv("PATH", f"{groups[0]}:/usr/bin:/bin")
    unshare(script)

    assert missing(groups).startswith(expected)


def test_missing_program_is_named(groups, unshare):
    assert missing(groups) == f"{NEEDS}, and unshare of util-linux is not on the PATH"


def test_machine_without_control_groups(tmp_path, unshare):
    assert missing((tmp_path / "none",)) == "a kubelet needs control groups, and /sys/fs/cgroup has none"


def test_other_systems(monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")

    assert missing() == "a kubelet needs Linux, and this is darwin"
