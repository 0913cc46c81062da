"""The programs of a node with a real kubelet: the kubelet, and what stands in for its GPUs and its containers."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from gpusched.local import build as builder
from gpusched.local import kubelet_isolation, toolchain
from gpusched.local.build import Recipe
from gpusched.local.versions import SOURCES, Version, select

NAMES: Final = ("fake-cri", "gpu-plugin", "kubelet", "pause", "pod-resources")


def recipe(version: Version) -> Recipe:
    """The kubelet of one version, with the stamp of its control plane, and the other programs."""
    return Recipe(
        name="node",
        release=version.release,
        module=SOURCES / f"node-{version.name}.mod",
        sums=SOURCES / f"node-{version.name}.sum",
        commands=tuple(SOURCES / "node" / name / "main.go" for name in NAMES),
        packages=("./cmd/...",),
        binaries=NAMES,
        go=version.go,
        link=builder.kubernetes(version).link,
    )


def resolve(
    version: Version | None = None,
    *,
    progress: Callable[[str], None] = lambda _line: None,
    environment: Mapping[str, str] = os.environ,
) -> dict[str, Path]:
    """The programs by name, built if need be, which takes minutes.

    Raises:
        LocalError: there is no Go and none can be installed, or the build failed.
        OSError: the cache cannot be written.

    """
    wanted = recipe(version or select(environment=environment))
    folder = builder.provide(wanted, progress, environment)
    return {name: folder / name for name in NAMES}


def ready(version: Version | None = None, environment: Mapping[str, str] = os.environ) -> bool:
    """Whether `resolve` would have nothing to build.

    Raises:
        LocalError: as `resolve` does.

    """
    return builder.cached(recipe(version or select(environment=environment)), environment) is not None


def missing(version: Version | None = None, environment: Mapping[str, str] = os.environ) -> str | None:
    """Why no kubelet can be had or run on this machine, None if it can.

    Raises:
        LocalError: as `resolve` does.

    """
    wanted = recipe(version or select(environment=environment))
    if builder.cached(wanted, environment) is None and toolchain.find(wanted.go, environment) is None:
        lowest = ".".join(map(str, wanted.go))
        return f"no kubelet {wanted.release} in the cache, and no Go {lowest} to build it"
    return kubelet_isolation.missing()
