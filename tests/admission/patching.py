"""Patch one raw pod in a namespace, and apply the patch with an independent library."""

import copy
from typing import Any

import jsonpatch

from gpusched.admission.admission import Op
from gpusched.admission.mutate import Mutation, patch_for
from gpusched.core.cluster_facts import RuntimeClass
from tests.admission.judging import brought

NVIDIA_CLASS = {"nvidia": RuntimeClass("nvidia", "nvidia")}


def mutated(tree: Any, **arguments: Any) -> Mutation:
    """The mutation of a pod; arguments as for `brought`."""
    return patch_for(*brought(tree, **arguments))


def applied(tree: Any, patch: tuple[Op, ...]) -> Any:
    """The object after the patch."""
    return jsonpatch.apply_patch(copy.deepcopy(tree), [op.as_json() for op in patch])


def mutated_pod(tree: Any, **arguments: Any) -> Any:
    """The pod after its mutation."""
    return applied(tree, mutated(tree, **arguments).patch)


def terms_of(tree: Any) -> list[dict[str, Any]]:
    """The pod's required nodeSelectorTerms."""
    affinity = tree["spec"]["affinity"]["nodeAffinity"]
    return affinity["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
