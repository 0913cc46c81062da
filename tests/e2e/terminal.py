"""A shell as a reader of the documentation has it, in something like a checkout."""

import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from tests.docs.page import ROOT


class Terminal:
    """bash with gpusched and further programs on its PATH, in a folder with the checkout's `docs` and `manifests`."""

    def __init__(self, folder: Path, kubeconfig: Path, programs: Iterable[Path]) -> None:
        self.folder = folder
        for name in ("docs", "manifests"):
            (folder / name).symlink_to(ROOT / name)
        places = [Path(sys.executable).parent, *(program.parent for program in programs)]
        path = os.pathsep.join([*map(str, places), os.environ["PATH"]])
        self._environment = {**os.environ, "PATH": path, "KUBECONFIG": str(kubeconfig), "NO_COLOR": "1"}

    def run(self, commands: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Type commands; the first that fails is the last."""
        return subprocess.run(
            ["/bin/bash", "-euo", "pipefail", "-c", commands],
            cwd=self.folder,
            env={**self._environment, **variables},
            capture_output=True,
            text=True,
            check=False,
        )

    def type(self, commands: str, **variables: str) -> str:
        """Type commands that must succeed and have nothing to warn of; what they print."""
        done = self.run(commands, **variables)
        assert (done.returncode, done.stderr) == (0, ""), commands
        return done.stdout
