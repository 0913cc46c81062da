"""Pods as they are stored, told apart from what their authors wrote."""

import pytest

from gpusched.core.read_pod import read_pod
from gpusched.simulate.admit import admit
from gpusched.simulate.apply_patch import apply_patch
from gpusched.simulate.expand import bare_pod
from gpusched.simulate.reasons.stored_pod import as_stored, is_whole
from gpusched.simulate.world import World
from tests.build import Tree, h100_node, namespace, pod, t4_node
from tests.simulate.scene import manifest, world_of

FAMILY = {"key": "gpusched.io/family", "operator": "In", "values": ["turing"]}
ZONE = {"key": "zone", "operator": "In", "values": ["a"]}
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def requiring(*expressions: Tree) -> Tree:
    terms = [{"matchExpressions": list(expressions)}]
    return pod(affinity={"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": terms}}})


def stored(tree: Tree, **policy: str) -> tuple[World, Tree]:
    """A cluster, and the pod as it has it after admission."""
    world = world_of(t4_node(), h100_node(), namespace(**policy))
    patched = apply_patch(tree, admit(bare_pod(manifest(tree)), world).admission.patch)
    assert isinstance(patched, dict)
    return world, patched


@pytest.mark.parametrize(
    ("tree", "whole"),
    [(pod(), True), (requiring(ZONE), True), (requiring(FAMILY), False), (requiring(FAMILY, ZONE), False)],
)
def test_what_the_author_asks_of_gpuscheds_labels_cannot_be_told(tree: Tree, whole: bool) -> None:
    world, patched = stored(tree, families="turing, hopper")
    planned, candidate = as_stored(manifest(patched), world)
    assert candidate.pod == read_pod(patched, [])
    assert is_whole(planned, candidate, world) is whole
