"""Builds the binaries from their Go modules into the cache, once per version, whoever else asks at the same time."""

import fcntl
import hashlib
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec

from gpusched.local.build_progress import BuildProgress
from gpusched.local.errors import BuildError
from gpusched.local.folders import cache_folder, machine
from gpusched.local.guard import Guard
from gpusched.local.process import Child, last_lines
from gpusched.local.toolchain import Go, obtain
from gpusched.local.versions import KWOK, KWOK_GO, SOURCES, Version

_STAMP: Final = "k8s.io/component-base/version"
#: A cold build leaves so much in Go's own caches (measured: 2.7 GB of build cache, 1 GB of modules).
_ROOM_BYTES: Final = 4 * 2**30
_POLL_SECONDS: Final = 0.5


class Recipe(msgspec.Struct, frozen=True):
    """What makes one set of binaries: a module, the packages to build from it, what the linker writes into them.

    `tags` are Go's build tags, with commas: what of the packages is left out.
    """

    name: str
    release: str
    module: Path
    sums: Path
    commands: tuple[Path, ...]
    packages: tuple[str, ...]
    binaries: tuple[str, ...]
    go: tuple[int, int]
    link: str
    tags: str = ""

    @property
    def key(self) -> str:
        """Name of the folder in the cache: differs whenever the binaries would."""
        digest = hashlib.sha256()
        for path in (self.module, self.sums, *self.commands):
            digest.update(path.read_bytes())
        digest.update(self.tags.encode())
        return f"{self.name}-{self.release}-{machine()}-{digest.hexdigest()[:12]}"


def kubernetes(version: Version) -> Recipe:
    """kube-apiserver, kube-scheduler, kube-controller-manager and etcd of one version."""
    module, sums = version.module_files
    binaries = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler")
    major, minor = version.name.split(".")
    # Without the stamp the server calls itself v0.0.0-master, and clients that parse its version fail.
    stamp = {"gitVersion": f"v{version.release}", "gitMajor": major, "gitMinor": minor, "gitTreeState": "clean"}
    return Recipe(
        name="kubernetes",
        release=version.release,
        module=module,
        sums=sums,
        commands=tuple(SOURCES / "cmd" / binary / "main.go" for binary in binaries),
        packages=("./cmd/...",),
        binaries=binaries,
        go=version.go,
        link=" ".join(["-s -w", *(f"-X {_STAMP}.{key}={value}" for key, value in stamp.items())]),
    )


def kwok() -> Recipe:
    """kwok, the kubelet of nodes that do not exist."""
    return Recipe(
        name="kwok",
        release=KWOK,
        module=SOURCES / "kwok.mod",
        sums=SOURCES / "kwok.sum",
        commands=(),
        packages=("sigs.k8s.io/kwok/cmd/kwok",),
        binaries=("kwok",),
        go=KWOK_GO,
        link="-s -w",
    )


def cached(recipe: Recipe, environment: Mapping[str, str] = os.environ) -> Path | None:
    """The folder with the binaries if they were built before."""
    folder = cache_folder(environment) / "bin" / recipe.key
    return folder if all((folder / name).exists() for name in recipe.binaries) else None


def provide(recipe: Recipe, progress: Callable[[str], None], environment: Mapping[str, str] = os.environ) -> Path:
    """The folder with the binaries, built if need be by the Go that is there or can be installed.

    Raises:
        LocalError: there is no Go and none can be installed, or the build failed.
        OSError: the cache cannot be written.

    """
    done = cached(recipe, environment)
    return done or build(recipe, obtain(recipe.go, progress, environment), progress, environment)


def build(recipe: Recipe, go: Go, progress: Callable[[str], None], environment: Mapping[str, str] = os.environ) -> Path:
    """The folder with the binaries, built if need be; waits for another process that is building the same.

    Raises:
        BuildError: the build failed; nothing of it stays in the cache.
        OSError: the cache cannot be written.

    """
    home = cache_folder(environment) / "bin"
    home.mkdir(parents=True, exist_ok=True)
    with _locked(home / f"{recipe.key}.lock", lambda: progress(f"waiting for another build of {recipe.name}")):
        done = cached(recipe, environment)
        if done is not None:
            return done
        if shutil.disk_usage(home).free < _ROOM_BYTES:
            progress(
                f"little room in {home}: a first build needs about {_ROOM_BYTES >> 30} GiB there and in Go's caches"
            )
        with Guard(home) as guard:
            _build(recipe, go, progress, environment, guard)
            target = home / recipe.key
            shutil.rmtree(target, ignore_errors=True)
            (guard.folder / "bin").rename(target)
            return target


def go_environment(go: Go, environment: Mapping[str, str]) -> dict[str, str]:
    """The caller's environment without what could change the build; proxies and caches stay as they are set."""
    kept = {key: value for key, value in environment.items() if key not in {"GOROOT", "GOBIN", "GOOS", "GOARCH"}}
    return kept | {
        "PATH": f"{go.program.resolve().parent}{os.pathsep}{environment.get('PATH', '')}",
        # The binaries must not depend on a C compiler that may not be there.
        "CGO_ENABLED": "0",
        "GOFLAGS": "-mod=readonly -buildvcs=false",
        "GOTOOLCHAIN": "local",
        "GOWORK": "off",
    }


def _build(
    recipe: Recipe, go: Go, progress: Callable[[str], None], environment: Mapping[str, str], guard: Guard
) -> None:
    source = guard.folder / "source"
    _lay_out(recipe, source)
    told = BuildProgress(f"{recipe.name} {recipe.release}", progress)
    program = str(go.program)
    # A killed go leaves its working folder behind, so that it must be in ours.
    variables = go_environment(go, environment) | {"GOTMPDIR": str(guard.folder)}
    listing = guard.folder / "packages.txt"
    child = guard.spawn(
        "go list",
        [program, "list", "-deps", "-tags", recipe.tags, *recipe.packages],
        listing,
        folder=source,
        environment=variables,
    )
    _follow(child, told.downloads, recipe)
    told.total = sum(1 for line in listing.read_text(encoding="utf-8").splitlines() if not line.startswith("go: "))
    output = guard.folder / "bin"
    output.mkdir()
    options = ["-v", "-tags", recipe.tags, "-ldflags", recipe.link, "-o", f"{output}/"]
    child = guard.spawn(
        "go build",
        [program, "build", *options, *recipe.packages],
        guard.folder / "build.txt",
        folder=source,
        environment=variables,
    )
    _follow(child, told.compiled, recipe)
    told.finished()


def _lay_out(recipe: Recipe, source: Path) -> None:
    source.mkdir()
    shutil.copyfile(recipe.module, source / "go.mod")
    shutil.copyfile(recipe.sums, source / "go.sum")
    for command in recipe.commands:
        folder = source / "cmd" / command.parent.name
        folder.mkdir(parents=True)
        shutil.copyfile(command, folder / "main.go")


def _follow(child: Child, tell: Callable[[list[str]], None], recipe: Recipe) -> None:
    while True:
        code = child.wait(_POLL_SECONDS)
        tell(child.log.read_text(encoding="utf-8", errors="replace").splitlines())
        if code is not None:
            break
    if code != 0:
        lines = last_lines(child.log)
        hint = "\nThe disk is full." if "no space left on device" in lines else ""
        raise BuildError(f"{child.name} of {recipe.name} {recipe.release} ended with status {code}:\n{lines}{hint}")


@contextmanager
def _locked(path: Path, waiting: Callable[[], None]) -> Iterator[None]:
    """Hold a lock that ends with the process, however it ends; `waiting` is called once if someone else holds it."""
    with path.open("a") as file:
        told = False
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if not told:
                    waiting()
                told = True
                time.sleep(_POLL_SECONDS)
            else:
                break
        yield
