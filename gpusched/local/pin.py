"""`python -m gpusched.local.pin 1.37.2`: write the `.mod` and `.sum` files of a release, for maintainers.

There are two modules of a release: `k8s` makes the control plane, `node` the kubelet and what stands in for hardware.
"""

import json
import os
import re
import shutil
import sys
from pathlib import Path
from typing import Final

from gpusched.local.build import go_environment
from gpusched.local.errors import BuildError, LocalError
from gpusched.local.guard import Guard
from gpusched.local.process import last_lines
from gpusched.local.toolchain import Go, obtain
from gpusched.local.versions import SOURCES, VERSIONS

#: By the name of a module's files: the folder of its commands.
_COMMANDS: Final = {"k8s": SOURCES / "cmd", "node": SOURCES / "node"}
_PATHS: Final = {"k8s": "controlplane", "node": "node"}
_STAGING: Final = re.compile(r"^\s*(k8s\.io/\S+) => \./staging/", re.MULTILINE)
_GO: Final = re.compile(r"^go (\d+\.\d+)", re.MULTILINE)
_GODEBUG: Final = re.compile(r"default=(go\d+\.\d+)")


def module(release: str, upstream: str, path: str = "controlplane") -> str:
    """The module file before `go mod tidy`, from the release's own `go.mod`.

    Kubernetes requires its staging modules at v0.0.0, which does not exist, and replaces them by folders; the replace
    lines of a dependency do not count, so they are repeated here with the releases those folders are published as.
    `godebug` lines of a dependency do not count either.
    """
    staging = f"v0.{release.removeprefix('1.')}"
    go, godebug = _GO.search(upstream), _GODEBUG.search(upstream)
    if go is None:
        raise LocalError(f"the go.mod of Kubernetes {release} has no go line")
    return "\n".join(
        [
            f"module gpusched.io/local/{path}\n",
            f"go {go[1]}.0\n",
            f"godebug default={godebug[1] if godebug else f'go{go[1]}'}\n",
            f"require k8s.io/kubernetes v{release}\n",
            "replace (",
            *(f"\t{name} => {name} {staging}" for name in sorted(set(_STAGING.findall(upstream)))),
            ")\n",
        ]
    )


def pin(release: str, target: Path) -> None:
    """Write `k8s-MINOR.mod`, `node-MINOR.mod` and their `.sum` files into a folder.

    Raises:
        LocalError: there is no Go, or it cannot get the modules.

    """
    go = obtain(max(version.go for version in VERSIONS), _tell)
    minor = release.rpartition(".")[0]
    with Guard() as guard:
        asked = _go(guard, go, guard.folder, ["mod", "download", "-json", f"k8s.io/kubernetes@v{release}"])
        upstream = Path(json.loads(asked)["GoMod"]).read_text(encoding="utf-8")
        for name, commands in _COMMANDS.items():
            source = guard.folder / name
            shutil.copytree(commands, source / "cmd")
            (source / "go.mod").write_text(module(release, upstream, _PATHS[name]), encoding="utf-8")
            _go(guard, go, source, ["mod", "tidy"])
            for ending in ("mod", "sum"):
                shutil.copyfile(source / f"go.{ending}", target / f"{name}-{minor}.{ending}")


def _go(guard: Guard, go: Go, folder: Path, words: list[str]) -> str:
    log = guard.folder / f"{words[1]}.log"
    environment = go_environment(go, os.environ) | {"GOFLAGS": "-mod=mod"}
    code = guard.spawn("go", [str(go.program), *words], log, folder=folder, environment=environment).wait(None)
    if code != 0:
        raise BuildError(f"go {' '.join(words)} ended with status {code}:\n{last_lines(log)}")
    return log.read_text(encoding="utf-8")


def _tell(line: str) -> None:
    sys.stderr.write(line + "\n")


if __name__ == "__main__":
    try:
        pin(sys.argv[1], SOURCES)
    except LocalError as error:
        sys.exit(str(error))
