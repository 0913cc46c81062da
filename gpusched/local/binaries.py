"""Finds the five binaries: ready ones, those built before, else built now."""

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final

import msgspec

from gpusched.local import build as builder
from gpusched.local import toolchain
from gpusched.local.build import Recipe
from gpusched.local.errors import LocalError
from gpusched.local.versions import Version, select

#: A folder with ready binaries, as `setup-envtest` fills it; what it lacks is built.
VARIABLE: Final = "KUBEBUILDER_ASSETS"
NAMES: Final = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok")


class Binaries(msgspec.Struct, frozen=True):
    """Paths of the programs, and the version they were asked for; ready ones may be of another."""

    version: str
    paths: dict[str, Path]

    def __getitem__(self, name: str) -> Path:
        return self.paths[name]


def resolve(
    version: Version | None = None,
    *,
    progress: Callable[[str], None] = lambda _line: None,
    environment: Mapping[str, str] = os.environ,
) -> Binaries:
    """All five, built where they are not there; a first build takes minutes and is told line by line.

    Raises:
        LocalError: there is no Go and none can be installed, the build failed, or the variable names no folder.
        OSError: the cache cannot be written.

    """
    chosen = version or select(environment=environment)
    paths = assets(environment)
    for recipe in _wanted(chosen, paths):
        folder = builder.provide(recipe, progress, environment)
        paths = {name: folder / name for name in recipe.binaries} | paths
    return Binaries(chosen.release, paths)


def ready(version: Version | None = None, environment: Mapping[str, str] = os.environ) -> bool:
    """Whether `resolve` would have nothing to build.

    Raises:
        LocalError: as `resolve` does.

    """
    chosen = version or select(environment=environment)
    return all(builder.cached(recipe, environment) for recipe in _wanted(chosen, assets(environment)))


def missing(version: Version | None = None, environment: Mapping[str, str] = os.environ) -> str | None:
    """Why `resolve` would have to download a Go toolchain first, None if it would not.

    Raises:
        LocalError: as `resolve` does.

    """
    chosen = version or select(environment=environment)
    for recipe in _wanted(chosen, assets(environment)):
        if builder.cached(recipe, environment) is None and toolchain.find(recipe.go, environment) is None:
            lowest = ".".join(map(str, recipe.go))
            return f"no binaries of {recipe.name} {recipe.release} in the cache, and no Go {lowest} to build them"
    return None


def assets(environment: Mapping[str, str] = os.environ) -> dict[str, Path]:
    """The ready binaries of the folder named by the variable.

    Raises:
        LocalError: it is not a folder, or holds none of them.

    """
    named = environment.get(VARIABLE, "")
    if not named:
        return {}
    found = {name: Path(named) / name for name in NAMES if os.access(Path(named) / name, os.X_OK)}
    if not found:
        raise LocalError(f"{VARIABLE}={named} holds none of {', '.join(NAMES)}")
    return found


def _wanted(version: Version, ready: Mapping[str, Path]) -> Iterable[Recipe]:
    recipes = (builder.kubernetes(version), builder.kwok())
    return [recipe for recipe in recipes if any(name not in ready for name in recipe.binaries)]
