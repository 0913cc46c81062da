"""Scenes of raw objects for the checks of `doctor`."""

from collections.abc import Iterable
from typing import Any

from gpusched.core.read_pod import read_pod
from gpusched.doctor.examine import examine
from gpusched.doctor.scene import Installation, Scene
from gpusched.policy.model import Config
from gpusched.simulate.world import load
from tests.build import Tree
from tests.simulate.scene import manifests


def scene(trees: Iterable[Tree], *, config: Config | None = None, installation: Installation | None = None) -> Scene:
    """What is examined of these objects; everything with a time stamp is an hour old."""
    standing = manifests(trees)
    pods = [(read_pod(item.tree, []), item.tree) for item in standing if item.kind == "Pod"]
    world = load(standing, config or Config())
    return Scene(world, standing, pods, age=lambda stamp: 3600.0 if stamp else None, installation=installation)


def found(trees: Iterable[Tree], **options: Any) -> dict[str, list[str]]:
    """Names of the checks that see something, with the subjects."""
    return {problem.check: [sight.subject for sight in problem.sights] for problem in examine(scene(trees, **options))}
