"""The Kubernetes versions that can be built, each pinned by a `.mod` and a `.sum` file beside this module."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from gpusched.local.errors import LocalError

#: The Go sources and module files.
SOURCES: Final = Path(__file__).with_name("go")
#: Chooses the version where no argument does: `1.35`, `v1.35` or `1.35.4`.
VARIABLE: Final = "GPUSCHED_KUBERNETES"
KWOK: Final = "0.8.0"


class Version(msgspec.Struct, frozen=True):
    """A pinned release; `go` is the lowest Go version, major and minor, that its modules accept."""

    name: str
    release: str
    go: tuple[int, int]

    @property
    def module_files(self) -> tuple[Path, Path]:
        """The `go.mod` and the `go.sum` of this version."""
        return SOURCES / f"k8s-{self.name}.mod", SOURCES / f"k8s-{self.name}.sum"


VERSIONS: Final = (
    Version("1.37", "1.37.2", (1, 26)),
    Version("1.35", "1.35.4", (1, 25)),
    Version("1.34", "1.34.4", (1, 24)),
)
#: kwok's own modules ask for this Go.
KWOK_GO: Final = (1, 26)


def select(text: str | None = None, environment: Mapping[str, str] = os.environ) -> Version:
    """The version named by `text`, else by the variable, else the newest.

    Raises:
        LocalError: no such version is pinned; the text names those that are.

    """
    asked = text or environment.get(VARIABLE) or VERSIONS[0].name
    wanted = asked.removeprefix("v")
    for version in VERSIONS:
        if wanted in {version.name, version.release}:
            return version
    known = ", ".join(f"{version.name} ({version.release})" for version in VERSIONS)
    raise LocalError(f"Kubernetes {asked!r} is not pinned here; choose one of {known}")
