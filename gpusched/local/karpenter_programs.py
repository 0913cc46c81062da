"""The programs of Karpenter: the controller with its kwok provider, whose nodes do not exist, and its definitions."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from gpusched.local import build as builder
from gpusched.local import toolchain
from gpusched.local.build import Recipe
from gpusched.local.versions import SOURCES

KARPENTER: Final = "1.13.0"
#: The controller's package, and so its program, has the name of its provider.
CONTROLLER: Final = "kwok"
DEFINITIONS: Final = "karpenter-crds"
_GO: Final = (1, 26)


def recipe() -> Recipe:
    """Both programs of the pinned release."""
    return Recipe(
        name="karpenter",
        release=KARPENTER,
        module=SOURCES / "karpenter.mod",
        sums=SOURCES / "karpenter.sum",
        commands=(SOURCES / "karpenter" / DEFINITIONS / "main.go",),
        packages=("./cmd/...", "sigs.k8s.io/karpenter/kwok"),
        binaries=(CONTROLLER, DEFINITIONS),
        go=_GO,
        link="-s -w",
    )


def resolve(
    *, progress: Callable[[str], None] = lambda _line: None, environment: Mapping[str, str] = os.environ
) -> dict[str, Path]:
    """The programs by name, built if need be, which takes about two minutes.

    Raises:
        LocalError: there is no Go and none can be installed, or the build failed.
        OSError: the cache cannot be written.

    """
    wanted = recipe()
    folder = builder.provide(wanted, progress, environment)
    return {name: folder / name for name in wanted.binaries}


def ready(environment: Mapping[str, str] = os.environ) -> bool:
    """Whether `resolve` would have nothing to build."""
    return builder.cached(recipe(), environment) is not None


def missing(environment: Mapping[str, str] = os.environ) -> str | None:
    """Why `resolve` would have to download a Go toolchain first, None if it would not.

    Raises:
        LocalError: a variable names something that is no Go.

    """
    if ready(environment) or toolchain.find(_GO, environment) is not None:
        return None
    return f"no Karpenter {KARPENTER} in the cache, and no Go {'.'.join(map(str, _GO))} to build it"
