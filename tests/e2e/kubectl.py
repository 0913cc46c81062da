"""kubectl as pages of the documentation use it."""

import os
import subprocess
from pathlib import Path

from gpusched.local.control_plane import ControlPlane
from gpusched.local.demo_pods import manifests_of, sighting


class Kubectl:
    """The program on a cluster; a run returns when all pods are decided on, as they are when a reader looks."""

    def __init__(self, program: Path, plane: ControlPlane) -> None:
        self._program = program
        self._plane = plane

    def __call__(self, words: list[str]) -> tuple[int, str]:
        done = subprocess.run(
            [str(self._program), *words],
            env={**os.environ, "KUBECONFIG": str(self._plane.kubeconfig())},
            # As on a terminal: a warning comes before what it warns of.
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        self._plane.wait_until(self._settled, what="all pods decided")
        return done.returncode, done.stdout

    def _settled(self) -> bool:
        return all(sighting(manifest).decided for manifest in manifests_of(self._plane.get("/api/v1/pods")))
