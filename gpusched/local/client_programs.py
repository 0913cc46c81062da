"""The programs with which people install from manifests: kubectl and kustomize, built from their Go modules."""

import os
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import yaml

from gpusched.local import build as builder
from gpusched.local import toolchain
from gpusched.local.build import Recipe
from gpusched.local.errors import LocalError
from gpusched.local.versions import SOURCES, VERSIONS

#: The last release of kustomize whose module accepts the Go that Kubernetes is built with.
KUSTOMIZE: Final = "5.8.2"
NAMES: Final = ("kubectl", "kustomize")
_GO: Final = (1, 26)
_RENDER_SECONDS: Final = 60
_Tree = dict[str, object]


def recipes() -> tuple[Recipe, ...]:
    """One for each program. kubectl is of the newest Kubernetes that is pinned."""
    newest = VERSIONS[0]
    kubectl = SOURCES / "client" / "kubectl" / "main.go"
    return (
        _recipe("kubectl", newest.release, (kubectl,), "./cmd/...", builder.kubernetes(newest).link),
        _recipe("kustomize", KUSTOMIZE, (), "sigs.k8s.io/kustomize/kustomize/v5", "-s -w"),
    )


def resolve(
    *, progress: Callable[[str], None] = lambda _line: None, environment: Mapping[str, str] = os.environ
) -> dict[str, Path]:
    """The programs by name, built if need be, which takes about two minutes.

    Raises:
        LocalError: there is no Go and none can be installed, or the build failed.
        OSError: the cache cannot be written.

    """
    return {recipe.name: builder.provide(recipe, progress, environment) / recipe.name for recipe in recipes()}


def ready(environment: Mapping[str, str] = os.environ) -> bool:
    """Whether `resolve` would have nothing to build."""
    return all(builder.cached(recipe, environment) for recipe in recipes())


def missing(environment: Mapping[str, str] = os.environ) -> str | None:
    """Why `resolve` would have to download a Go toolchain first, None if it would not.

    Raises:
        LocalError: a variable names something that is no Go.

    """
    if ready(environment) or toolchain.find(_GO, environment) is not None:
        return None
    return f"no {' and '.join(NAMES)} in the cache, and no Go {'.'.join(map(str, _GO))} to build them"


def render(kustomize: Path, folder: Path) -> list[_Tree]:
    """The objects that `kustomize build FOLDER` prints, in its order.

    Raises:
        LocalError: kustomize refused; the text is its own.

    """
    done = subprocess.run(
        [str(kustomize), "build", str(folder)], capture_output=True, text=True, timeout=_RENDER_SECONDS, check=False
    )
    if done.returncode != 0:
        raise LocalError(f"kustomize build {folder}: {done.stderr.strip()}")
    return [tree for tree in yaml.safe_load_all(done.stdout) if tree]


def _recipe(name: str, release: str, commands: tuple[Path, ...], packages: str, link: str) -> Recipe:
    return Recipe(
        name=name,
        release=release,
        module=SOURCES / f"{name}.mod",
        sums=SOURCES / f"{name}.sum",
        commands=commands,
        packages=(packages,),
        binaries=(name,),
        go=_GO,
        link=link,
    )
