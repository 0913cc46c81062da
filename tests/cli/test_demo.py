"""`demo` where no control plane starts: the simulation, and what goes wrong before one is there."""

from collections.abc import Callable
from pathlib import Path

import pytest

from gpusched.cli import demo as module
from gpusched.local.errors import BuildError, StartError, ToolchainError
from tests.cli.commands import run

ROOT = Path(__file__).parents[2]
FILES = ("-f", "manifests/samples/workloads.yaml", "--cluster", "manifests/samples/cluster.yaml")


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch) -> Callable[[Exception], None]:
    """The programs of Kubernetes cannot be had for this reason."""

    def fail(error: Exception) -> None:
        def resolve(*_arguments: object, **_options: object) -> None:
            raise error

        monkeypatch.setattr(module.finder, "ready", lambda _version: False)
        monkeypatch.setattr(module.finder, "resolve", resolve)

    return fail


def test_offline_prints_what_simulate_prints_on_the_samples() -> None:
    simulated = run("simulate", *FILES, "--explain")

    ran = run("demo", "--offline")

    assert (ran.code, ran.err) == (0, "")
    assert ran.out == (
        "Simulated: no control plane was started (--offline).\n\n"
        f"$ gpusched simulate {' '.join(FILES)} --explain\n{simulated.out}"
    )


def test_offline_works_from_any_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    ran = run("demo", "--offline")

    assert (ran.code, ran.err) == (0, "")
    assert f"-f {ROOT}/manifests/samples/workloads.yaml" in ran.out


_UNWRITABLE = (
    "its programs cannot be kept in /cache/gpusched ([Errno 13] Permission denied: '/cache/gpusched'): name another "
    "folder with XDG_CACHE_HOME"
)


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (ToolchainError("no Go\nTrying\nERROR: no route to the index"), "no Go: ERROR: no route to the index"),
        (BuildError("go build ended with 1:\na.go:1\n\nno such module"), "go build ended with 1: no such module"),
        (BuildError("go list ended with 1:\na.go:7: no proxy\nk8s.io/api"), "go list ended with 1: a.go:7: no proxy"),
        (ToolchainError("no Go"), "no Go"),
        (
            PermissionError(13, "Permission denied", "/cache/gpusched"),
            _UNWRITABLE,
        ),
    ],
)
def test_without_programs_it_simulates_and_says_so(
    without: Callable[[Exception], None], monkeypatch: pytest.MonkeyPatch, error: Exception, reason: str
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/cache")
    without(error)

    ran = run("demo")

    assert ran.code == 0
    assert ran.err.splitlines() == [
        "first run: building Kubernetes 1.37.2, about five minutes on two cores",
        f"Kubernetes 1.37.2 cannot be built here: {reason}; simulating instead",
    ]
    assert ran.out.startswith("Simulated: no control plane was started (it cannot be built here).\n")
    assert ran.out.endswith("16 pods: 11 placed, 3 refused, 1 unschedulable, 1 gated\n")


def test_a_simulation_cannot_be_kept_up(without: Callable[[Exception], None]) -> None:
    without(ToolchainError("no Go"))

    ran = run("demo", "--keep", "--version", "1.35")

    assert (ran.code, ran.out) == (3, "")
    assert ran.errors == ["Kubernetes 1.35.4 cannot be built here: no Go"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--keep", "--offline"], "--offline starts nothing that --keep could leave up"),
        (["--version", "1.9"], "Kubernetes '1.9' is not pinned here; choose one of 1.37 (1.37.2), "),
        (["surplus"], "Got unexpected extra argument (surplus)"),
    ],
)
def test_bad_usage(arguments: list[str], message: str) -> None:
    ran = run("demo", *arguments)

    assert (ran.code, ran.out) == (2, "")
    assert message in ran.err


def test_a_folder_without_programs_is_bad_usage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(tmp_path))

    ran = run("demo")

    assert (ran.code, ran.out) == (2, "")
    assert f"KUBEBUILDER_ASSETS={tmp_path} holds none of etcd, kube-apiserver" in ran.err


def test_a_control_plane_that_does_not_start_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def live(*_arguments: object, **_options: object) -> int:
        raise StartError("etcd ended with status 1; the end of etcd.log:\nno space left on device")

    monkeypatch.setattr(module, "_binaries", lambda *_arguments: None)
    monkeypatch.setattr(module, "_live", live)

    ran = run("demo")

    assert (ran.code, ran.out) == (3, "")
    assert ran.err == "error: etcd ended with status 1; the end of etcd.log:\nno space left on device\n"


@pytest.mark.parametrize("stage", ["_binaries", "_live"])
def test_ctrl_c_ends_it_at_any_stage(monkeypatch: pytest.MonkeyPatch, stage: str) -> None:
    def interrupted(*_arguments: object, **_options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "_binaries", lambda *_arguments: None)
    monkeypatch.setattr(module, stage, interrupted)

    ran = run("demo")

    assert (ran.code, ran.out, ran.err) == (130, "", "\ninterrupted\n")
