"""promtool, with which people check and try their alerts, built from its Go module.

https://prometheus.io/docs/prometheus/latest/command-line/promtool/. It links everything that Prometheus can discover
targets with unless that is left out by a build tag of its own (`plugins/` in Prometheus' sources).
"""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from gpusched.local import build as builder
from gpusched.local import toolchain
from gpusched.local.build import Recipe

#: The module of Prometheus 3.15.1, the last release that accepts the Go that is pinned.
RELEASE: Final = "0.315.1"
_GO: Final = (1, 26)
_MODULE: Final = Path(__file__).with_suffix(".mod")


def recipe() -> Recipe:
    return Recipe(
        name="promtool",
        release=RELEASE,
        module=_MODULE,
        sums=_MODULE.with_suffix(".sum"),
        commands=(),
        packages=("github.com/prometheus/prometheus/cmd/promtool",),
        binaries=("promtool",),
        go=_GO,
        link="-s -w",
        tags="remove_all_sd",
    )


def resolve(progress: Callable[[str], None], environment: Mapping[str, str] = os.environ) -> Path:
    return builder.provide(recipe(), progress, environment) / "promtool"


def ready(environment: Mapping[str, str] = os.environ) -> bool:
    return builder.cached(recipe(), environment) is not None


def missing(environment: Mapping[str, str] = os.environ) -> str | None:
    if ready(environment) or toolchain.find(_GO, environment) is not None:
        return None
    return f"no promtool {RELEASE} in the cache, and no Go {'.'.join(map(str, _GO))} to build it"
