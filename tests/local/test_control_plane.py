"""Starts that fail and stops in the middle, with programs that only pretend; the real ones are in tests/e2e."""

import errno
import json
import socket
from pathlib import Path

import pytest

from gpusched.local import control_plane
from gpusched.local.binaries import NAMES, Binaries
from gpusched.local.control_plane import ControlPlane
from gpusched.local.errors import LocalError, StartError
from gpusched.local.options import Options

SLEEP = "exec sleep 1000"


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "gpusched"


def plane(tmp_path: Path, options: Options | None = None, **scripts: str) -> ControlPlane:
    """A control plane of shell scripts; those that are not given sleep."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in NAMES:
        (folder / name).write_text("#!/bin/sh\n" + scripts.get(name.replace("-", "_"), SLEEP) + "\n", encoding="utf-8")
        (folder / name).chmod(0o755)
    (tmp_path / "run").mkdir()
    binaries = Binaries("1.37.2", {name: folder / name for name in NAMES})
    return ControlPlane(binaries, options or Options(parent=tmp_path / "run", start_seconds=20.0))


def left(tmp_path: Path) -> list[Path]:
    return list((tmp_path / "run").iterdir())


def test_component_that_dies_at_start_is_named_with_its_last_words_and_the_logs_are_kept(tmp_path, cache):
    started = plane(tmp_path, kube_apiserver="echo flag provided but not defined: -nonsense; exit 2")

    with pytest.raises(StartError) as caught:
        started.__enter__()

    lines = str(caught.value).splitlines()
    assert lines[:2] == [
        "kube-apiserver ended with status 2; the end of kube-apiserver.log:",
        "flag provided but not defined: -nonsense",
    ]
    assert lines[2] == f"The logs are kept in {started.kept_logs}"
    assert (started.kept_logs / "kube-apiserver.log").exists()
    assert started.kept_logs.parent == cache / "logs"
    assert left(tmp_path) == []


def test_port_taken_meanwhile_is_tried_again_with_others(tmp_path):
    count = tmp_path / "count"
    started = plane(
        tmp_path, etcd=f"echo x >> {count}; echo listen tcp 127.0.0.1:1: bind: address already in use; exit 1"
    )

    with pytest.raises(StartError, match="address already in use"):
        started.__enter__()

    assert count.read_text(encoding="utf-8").split() == ["x"] * 3
    assert left(tmp_path) == []


def test_fixed_port_that_is_taken_is_refused_before_anything_starts(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        started = plane(tmp_path, Options(parent=tmp_path / "run", secure_port=port))

        with pytest.raises(StartError, match=f"port {port} is taken; choose another, or 0 for any free one"):
            started.__enter__()
    assert left(tmp_path) == []


def test_not_ready_in_time_is_a_failure_that_leaves_nothing(tmp_path):
    options = Options(parent=tmp_path / "run", start_seconds=0.5)
    started = plane(tmp_path, options, kube_apiserver="echo etcd is not there; exec sleep 1000")

    with pytest.raises(
        StartError,
        match=r"kube-apiserver ready: not within 0\.5 seconds; the end of kube-apiserver.log:\netcd is not",
    ):
        started.__enter__()
    assert left(tmp_path) == []


def test_full_disk_is_said_and_leaves_nothing(tmp_path, monkeypatch):
    def full(*_arguments: object) -> Path:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(control_plane, "write_private", full)
    started = plane(tmp_path)

    with pytest.raises(StartError, match=rf"No space left on device\nThe disk of {tmp_path / 'run'} is full"):
        started.__enter__()
    assert left(tmp_path) == []


def test_ctrl_c_while_starting_leaves_nothing_and_keeps_no_logs(tmp_path, cache, monkeypatch):
    def interrupt(*_arguments: object) -> bool:
        raise KeyboardInterrupt

    monkeypatch.setattr(ControlPlane, "_ready", interrupt)
    started = plane(tmp_path)

    with pytest.raises(KeyboardInterrupt):
        started.__enter__()
    assert left(tmp_path) == []
    assert not (cache / "logs").exists()


@pytest.fixture
def pretending(monkeypatch):
    """Sleeping programs pass as ready."""
    monkeypatch.setattr(ControlPlane, "_ready", lambda *_arguments: True)


@pytest.mark.usefixtures("pretending")
def test_second_ctrl_c_while_stopping_makes_it_quicker_not_less_thorough(tmp_path, monkeypatch):
    def interrupt(*_arguments: object) -> None:
        raise KeyboardInterrupt

    started = plane(tmp_path).__enter__()
    children = dict(started.children)
    monkeypatch.setattr(control_plane, "stop", interrupt)

    with pytest.raises(KeyboardInterrupt):
        started.__exit__(None, None, None)

    assert not any(child.running for child in children.values())
    assert left(tmp_path) == []


@pytest.mark.usefixtures("pretending")
def test_killed_component_is_noticed_and_its_log_kept(tmp_path):
    with plane(tmp_path, kwok="echo so far so good; exec sleep 1000") as started:
        started.children["kwok"].kill()

        with pytest.raises(LocalError, match="kwok was killed by signal 9"):
            started.check()
        with pytest.raises(LocalError, match="kwok was killed by signal 9"):
            started.request("GET", "/version")

    assert (started.kept_logs / "kwok.log").exists()
    assert left(tmp_path) == []


@pytest.mark.usefixtures("pretending")
def test_clean_run_keeps_no_logs_and_a_failed_body_does(tmp_path):
    started = plane(tmp_path)
    with started:
        assert sorted(started.children) == sorted(NAMES)
    assert started.kept_logs is None

    with pytest.raises(ZeroDivisionError), started:
        raise ZeroDivisionError
    assert started.kept_logs is not None
    assert left(tmp_path) == []


@pytest.mark.usefixtures("pretending")
def test_scheduler_is_restarted_with_the_configuration_that_is_given(tmp_path):
    with plane(tmp_path) as started:
        before = started.children["kube-scheduler"].pid

        started.restart_scheduler({"profiles": [{"schedulerName": "other"}]})

        written = json.loads((started.folder / "scheduler.json").read_text(encoding="utf-8"))
        assert written["profiles"] == [{"schedulerName": "other"}]
        assert started.children["kube-scheduler"].pid != before
        started.check()


@pytest.mark.usefixtures("pretending")
def test_second_scheduler_runs_beside_the_first(tmp_path):
    with plane(tmp_path) as started:
        first = started.children["kube-scheduler"].pid

        second = started.spawn_scheduler("second", tmp_path / "second.json", 1234)

        assert started.children["second"] is second
        assert second.running
        assert started.children["kube-scheduler"].pid == first
        started.stop("second")
        started.check()


@pytest.mark.usefixtures("pretending")
def test_component_that_was_stopped_on_purpose_does_not_count_as_dead(tmp_path):
    with plane(tmp_path) as started:
        started.stop("kwok")
        started.stop("kwok")

        started.check()
        assert "kwok" not in started.children
    assert started.kept_logs is None


@pytest.mark.usefixtures("pretending")
def test_secrets_are_private(tmp_path):
    with plane(tmp_path) as started:
        modes = {
            path.name: path.stat().st_mode & 0o077
            for pattern in ("*.kubeconfig", "*.key", "tokens.csv")
            for path in started.folder.glob(pattern)
        }

    assert len(modes) == 8
    assert set(modes.values()) == {0}
